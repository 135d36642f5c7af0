"""Figures of what one method does: maps and planes of the confidence, directions, calibrators, and the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from slova._backend import Array
from slova.heads import log_ova, log_slova
from slova_bench import labels
from slova_bench.figures.drawing import below, beside, finished, inlined, keyed, logarithmic, looked, panel, scaled
from slova_bench.frame import NAME, Frame, grouped, names, of, over_seeds

__all__ = ["confidence_map", "directions", "ignorance", "maps", "planes", "stability"]

HEADS = {"one-vs-all: max p": log_ova, "SLOVA: this and no other": log_slova}
PLACES = pd.DataFrame(
    {"left": [0.17, 0.83, 0.86], "low": [0.12, 0.93, 0.12], "name": ["none fits", "both fit", "one fits"]}
)
POINTS = 40  # of the map, along an axis
FIT = {"M": "M, terms", "n_b": "n_b, points"}  # the hyper-parameters of the paper's fit


def confidence_map() -> dict[str, Any]:
    """The confidence of one-vs-all and of SLOVA over the probabilities of two classes (Fig. 1), drawn from the two
    formulas, without rows."""
    return finished(beside(_map_of(title, head) for title, head in HEADS.items()))


def _map_of(title: str, head: Callable[[Array], Array]) -> dict[str, Any]:
    """Squares of the plane with the confidence in their middle."""

    def confidence(left: Any, low: Any) -> Any:
        p = np.stack([left, low], axis=-1)
        return np.exp(head(np.log(p) - np.log1p(-p))).max(axis=-1)

    axis: dict[str, Any] = {"values": [0, 0.5, 1], "grid": False, "format": "~g"}
    unit = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("left:Q").title("p(class 1)").scale(unit).axis(**axis)
    y = alt.Y("low:Q").title("p(class 2)").scale(unit).axis(**axis)
    colour = alt.Color("confidence:Q").scale(domain=[0, 1], scheme="cividis").title("confidence")
    colour = colour if head is log_slova else colour.legend(None)
    cells = alt.Chart(alt.NamedData("cells")).mark_rect().encode(x=x, x2="right", y=y, y2="high", color=colour)
    words = alt.Chart(alt.NamedData("places")).mark_text(fontSize=13)
    words = words.encode(x="left:Q", y="low:Q", text="name:N", color=alt.Color("ink:N").scale(None).legend(None))
    spec = (cells + words).resolve_scale(color="independent").properties(title=title, width=300, height=300)
    edges = np.linspace(0, 1, POINTS + 1).round(4)
    across, up = (part.ravel() for part in np.meshgrid(range(POINTS), range(POINTS)))
    squares = {"left": edges[across], "right": edges[across + 1], "low": edges[up], "high": edges[up + 1]}
    middle = confidence((across + 0.5) / POINTS, (up + 0.5) / POINTS).round(3)
    ink = np.where(confidence(PLACES["left"], PLACES["low"]) > 0.6, "black", "white")
    return inlined(spec.to_dict(), cells=pd.DataFrame({**squares, "confidence": middle}), places=PLACES.assign(ink=ink))


def planes(rows: Frame) -> dict[str, Any]:
    """Confidence on planes through three test images (Fig. 2), the first of them in the middle: one panel per method,
    the mean over seeds, with a common colour scale."""
    means, panels = grouped(rows, "alpha", "beta", value="mean").round({"value": 3}), []
    for name in names(rows):
        own = of(means, [name])
        size = {"width": 12 * own["alpha"].nunique(), "height": 12 * own["beta"].nunique()}
        panels.append(panel("plane", labels.look(*name).name, points=own, **size))
    return finished(beside(panels))


def directions(rows: Frame) -> dict[str, Any]:
    """Confidence along random directions from test images (Fig. 4): mean and standard deviation by distance, one panel
    per method. The bars are cut off at 0 and 1."""
    means = over_seeds(rows).pivot(index=[*NAME, "level"], columns="metric", values="value").reset_index()
    ends = {"low": means["mmc"] - means["confidence_std"], "high": means["mmc"] + means["confidence_std"]}
    points = means.rename(columns={"mmc": "value"}).assign(**{end: value.clip(0, 1) for end, value in ends.items()})
    panels = []
    for place, name in enumerate(names(rows)):
        own, words = looked(of(points, [name])), {"y": "" if place else "confidence: mean ± deviation"}
        drawn = panel("distance", labels.look(*name).name, width=200, height=180, words=words, points=own)
        panels.append(scaled(drawn, "y", domain=[0, 1]))
    return finished(beside(panels))


def maps(rows: Frame) -> dict[str, Any]:
    """Calibrators and the moving averages they were fitted to (Sec. 3.6): one row per method, linear on the left and
    logarithmic on the right, where a power is a straight line and windows without a hit are not visible. Averages are
    those of the first seed, and the calibrators of the others are grey."""
    words, drawn = {"x": "probability before calibration", "y": "share of hits"}, []
    for name in names(rows):
        own = of(rows, [name])
        points, other = looked(own).assign(name=own["seed"].astype(str)), own["seed"] != own["seed"].min()
        points = points.assign(
            colour=points["colour"].where(~other, "#bbbbbb"), dash=[list(labels.SOLID)] * len(points)
        )
        lines = points[own["metric"] == "calibrated"].sort_values(["seed", "level"], ascending=[False, True])
        dots = points[(own["metric"] == "observed") & ~other].assign(colour="#333333")
        hit = dots[(dots["value"] > 0) & (dots["level"] > 0)]
        x, y = hit["level"].min() / 2, hit["value"].min() / 2
        far = {key: part[(part["level"] >= x) & (part["value"] >= y)]
               for key, part in (("points", lines), ("observed", dots))}  # fmt: skip
        sides = ({"points": lines, "observed": dots}, far)
        title = labels.look(*name).name
        left, right = (panel("maps", title, width=330, height=260, words=words, **data) for data in sides)
        drawn.append(beside([left, logarithmic(logarithmic(right, "x", x, 1.1), "y", y, 1.1)]))
    return finished(below(drawn))


def ignorance(rows: Frame) -> dict[str, Any]:
    """The calibration curve of complete ignorance (Fig. 9): exact, the paper's approximation, a fitted sum of powers.
    All three pass through the origin."""
    order = names(rows)
    origin = pd.DataFrame(order, columns=NAME).assign(level=0.0, value=0.0)
    points = looked(pd.concat([origin, over_seeds(rows)]).sort_values([*NAME, "level"]), order)
    words = {"x": "P, uncalibrated", "y": "c(P), calibrated"}
    drawn = panel("curve", width=360, height=300, words=words, points=points)
    return finished(keyed(drawn, order, columns=1, symbol="stroke"))


def stability(rows: Frame) -> dict[str, Any]:
    """The paper's fit by its number of terms M and of points n_b (Fig. 10): means over seeds, with lines from the least
    to the greatest value; dotted: the optimal fit, which has no M, at n_b = 4000."""
    found = over_seeds(rows[rows["preset"] == ""].assign(variant=""), "parameter", "parameter_value")
    points = looked(found.rename(columns={"least": "low", "most": "high"})).assign(level=found["parameter_value"])
    drawn = []
    for name, title in FIT.items():
        panels = []
        for metric in ("nll", "ece", "brier"):
            own = points[points["metric"] == metric]
            data = {"points": own[own["parameter"] == name], "optimum": own[own["parameter"] == ""]}
            words, levels = {"x": title, "y": labels.head(metric)}, data["points"]["level"]
            one = panel("variants", width=210, height=170, words=words, **data)
            one = logarithmic(one, "x", 0.9 * levels.min(), 1.1 * levels.max())
            panels.append(logarithmic(one, "y", 0.9 * own["low"].min(), 1.1 * own["high"].max()))
        drawn.append(beside(panels))
    return finished(below(drawn))
