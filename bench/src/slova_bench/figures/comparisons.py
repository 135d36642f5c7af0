"""The figures that set methods side by side: boxes over kinds of shift, mean ranks, reliability, risk and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from slova.metrics.reliability import interval
from slova_bench import labels
from slova_bench.figures.drawing import below, beside, finished, groups, inlined, keyed, looked, panel, scaled
from slova_bench.figures.sources import METRICS
from slova_bench.frame import NAME, Frame, Name, names, of, over_seeds, total
from slova_bench.histograms import BINS
from slova_bench.ranks import Ranking
from slova_bench.tables.ranks import p_value

__all__ = ["critical", "reliability", "reliability_curve", "risk_coverage", "risk_curve", "shift", "steps"]

BIN = BINS // 20  # bins of a histogram per bin of the reliability diagram, as on the page
SHADE = 0.35  # height of the densest bin, as a share of the panel
DIAGONAL = pd.DataFrame({"confidence": [0, 1], "accuracy": [0, 1]})


def shift(rows: Frame) -> dict[str, Any]:
    """Accuracy, ECE, NLL and Brier score by the severity of a shift (Fig. 5), one box per method over kinds of shift.
    Severity 0 is the clean test set, a single value per method. More than eight methods are in columns with the same
    axes."""
    means, columns = over_seeds(rows), []
    for group in groups(names(rows)):
        width = 470 if len(group) > 3 else 235
        columns.append(keyed(below(_boxes(means, group, metric, width, 150) for metric in METRICS), group))
    return finished(beside(columns, own_keys=True))


def steps(rows: Frame) -> dict[str, Any]:
    """The same over all severities together (Fig. 8), one panel per metric."""
    means, order = over_seeds(rows).assign(level="all"), names(rows)
    hidden = {"labels": False, "title": "", "ticks": False}
    panels = (scaled(_boxes(means, order, metric, 150, 190), "x", hidden) for metric in METRICS)
    return finished(keyed(beside(panels), order, columns=5))


def _boxes(means: Frame, group: Sequence[Name], metric: str, width: int, height: int) -> dict[str, Any]:
    """The axis holds the values of all methods, so that columns can be compared."""
    own = means[means["metric"] == metric]
    words, points = {"y": labels.head(metric)}, looked(of(own, group), group)
    drawn = panel("boxes", width=width, height=height, words=words, points=points)
    least = own["value"].min() if metric == "accuracy" else 0
    return scaled(drawn, "y", {"tickCount": 5}, domain=[least, own["value"].max()], nice=True)


def critical(ranking: Ranking) -> dict[str, Any]:
    """Mean ranks (Fig. 6 and 7; Demšar, JMLR 2006), the best on top, and a band around the control within which a
    difference is not significant."""
    ranks = pd.DataFrame([(*name.partition(" ")[::2], rank) for name, rank in ranking.mean_ranks.items()])
    points = looked(ranks.set_axis([*NAME, "value"], axis=1))
    points = points.assign(says=points["value"].map("{:.2f}".format))
    middle, width = ranking.mean_ranks[ranking.control], ranking.distance
    band = points[points["value"] == middle].iloc[:1]
    band = band.assign(value=max(1, middle - width), high=min(len(ranks), middle + width))
    drawn = panel("ranks", width=620, height=22 * len(ranks), points=points, band=band)
    control, p = labels.look(ranking.control).name, p_value(ranking)
    test = f"Friedman's test: {p}" if ranking.rejects else f"Friedman's test finds no difference at all ({p})"
    words = [
        f"Over {ranking.cells} cells. Shaded: within the critical distance {width:.2f} of {control}.",
        f"Bonferroni–Dunn, α = {ranking.alpha:g}. {test}.",
    ]
    return finished(drawn, title=words)


def reliability(histograms: Frame) -> dict[str, Any]:
    """Accuracy by confidence with exact intervals, over the distribution of the confidence: one panel per method, with
    all of its histograms added up. The intervals count each image once, although it was evaluated under several shifts
    and seeds."""
    panels = []
    for name in names(histograms):
        own = of(histograms, [name])
        points = looked(reliability_curve(own).assign(method=name[0], variant=name[1]))
        title = labels.look(*name).name
        drawn = panel("reliability", title, width=165, height=165, points=points, diagonal=DIAGONAL)
        drawn = scaled(drawn, "size", range=[4, 30])
        panels.append({**drawn, "layer": [_density(total(own)[0]), *drawn["layer"]]})
    return finished({"concat": panels, "columns": 5})


def reliability_curve(histograms: Frame) -> Frame:
    """Mean confidence, accuracy and its interval in each bin that holds something."""
    bins = total(histograms).reshape(3, -1, BIN).sum(axis=2)
    answers, hits, confidence = bins[:, bins[0] > 0]
    low, high = interval(hits / len(histograms), answers / len(histograms))
    parts = {"confidence": confidence / answers, "accuracy": hits / answers, "low": low, "high": high}
    return pd.DataFrame({**parts, "rows": answers})


def _density(answers: Any) -> dict[str, Any]:
    """The distribution of the confidence, in grey."""
    heights = SHADE * np.append(answers, answers[-1]) / max(answers.max(), 1)
    density = pd.DataFrame({"confidence": np.arange(BINS + 1) / BINS, "height": heights.round(4)})
    places = {"x": "confidence", "y": "height"}
    encoding = {channel: {"field": name, "type": "quantitative"} for channel, name in places.items()}
    mark = {"type": "area", "interpolate": "step-after", "color": "#cccccc"}
    return inlined({"data": {"name": "density"}, "mark": mark, "encoding": encoding}, density=density)


def risk_coverage(histograms: Frame) -> dict[str, Any]:
    """The error among predictions above a threshold of confidence, by their share: the clean test set on the left, all
    shifts and severities together on the right; at most eight methods in a row."""
    sides = {"clean test set": histograms["shift"] == "", "all shifts and severities": histograms["shift"] != ""}
    curves = {title: _risk_curves(histograms[side]) for title, side in sides.items()}
    rows = []
    for group in groups(names(histograms)):
        panels = []
        for title, every in curves.items():
            points = looked(of(every, group), group)
            drawn = panel("risk", title, width=400, height=260, points=points, marks=points.iloc[:0])
            panels.append(scaled(drawn, "y", domain=[0, every["risk"].max()], nice=True))
        rows.append(keyed(beside(panels), group, columns=4, symbol="stroke"))
    return finished(below(rows, own_keys=True))


def _risk_curves(histograms: Frame) -> Frame:
    found = [risk_curve(own).assign(method=method, variant=v) for (method, v), own in histograms.groupby(NAME)]
    return pd.concat(found) if found else pd.DataFrame(columns=[*NAME, "coverage", "risk"])


def risk_curve(histograms: Frame) -> Frame:
    """Coverage and risk at each threshold that accepts something, the highest first."""
    answers, hits, _ = np.cumsum(total(histograms)[:, ::-1], axis=1)
    some = np.flatnonzero(np.diff(answers, prepend=0))
    return pd.DataFrame({"coverage": answers[some] / answers[-1], "risk": 1 - hits[some] / answers[some]})
