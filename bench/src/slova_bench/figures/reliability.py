"""Reliability diagrams: accuracy by confidence with exact intervals, over the distribution of the confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from slova.metrics.reliability import interval
from slova_bench import labels
from slova_bench.figures.drawing import finished, grid, inlined, looked, panel, scaled
from slova_bench.frame import Frame, Name, names, of, total
from slova_bench.histograms import BINS

__all__ = ["plot"]

COLUMNS, SIDE = 5, 165
WIDTH = BINS // 20  # bins of a histogram per bin of the diagram, as on the page
SHADE = 0.35  # height of the densest bin, as a share of the panel
DIAGONAL = pd.DataFrame({"confidence": [0, 1], "accuracy": [0, 1]})


def plot(histograms: Frame) -> dict[str, Any]:
    """One panel per method, with all of its histograms added up. The intervals count each image once, although it was
    evaluated under several shifts and seeds."""
    return finished(grid((_panel(name, of(histograms, [name])) for name in names(histograms)), COLUMNS))


def _panel(name: Name, histograms: Frame) -> dict[str, Any]:
    title = labels.look(*name).name
    points = looked(curve(histograms).assign(method=name[0], variant=name[1]))
    drawn = panel("reliability", title, width=SIDE, height=SIDE, points=points, diagonal=DIAGONAL)
    answers = total(histograms)[0]
    heights = SHADE * np.append(answers, answers[-1]) / max(answers.max(), 1)
    density = pd.DataFrame({"confidence": np.arange(BINS + 1) / BINS, "height": heights})
    drawn = scaled(drawn, "size", range=[4, 30])
    return {**drawn, "layer": [_shade(density), *drawn["layer"]]}


def curve(histograms: Frame) -> Frame:
    """Mean confidence, accuracy and its interval in each bin that holds something."""
    bins = total(histograms).reshape(3, -1, WIDTH).sum(axis=2)
    answers, hits, confidence = bins[:, bins[0] > 0]
    low, high = interval(hits / len(histograms), answers / len(histograms))
    parts = {"confidence": confidence / answers, "accuracy": hits / answers, "low": low, "high": high}
    return pd.DataFrame({**parts, "rows": answers})


def _shade(density: Frame) -> dict[str, Any]:
    encoding = {
        "x": {"field": "confidence", "type": "quantitative"},
        "y": {"field": "height", "type": "quantitative"},
    }
    mark = {"type": "area", "interpolate": "step-after", "color": "#cccccc"}
    return inlined({"data": {"name": "density"}, "mark": mark, "encoding": encoding}, density=density.round(4))
