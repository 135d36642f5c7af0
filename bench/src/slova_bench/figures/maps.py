"""Calibrators and the moving averages they were fitted to (Sec. 3.6): one row per method, linear on the left and
logarithmic on the right, where a power is a straight line."""

from __future__ import annotations

from typing import Any

from slova_bench import labels
from slova_bench.figures.drawing import below, beside, finished, logarithmic, looked, panel
from slova_bench.frame import Frame, Name, names, of

__all__ = ["plot"]

WORDS = {"x": "probability before calibration", "y": "share of hits"}


def plot(rows: Frame) -> dict[str, Any]:
    """Averages and calibrator of the first seed, and the calibrators of the others in grey. Windows without a hit are
    not visible on the logarithmic axis."""
    return finished(below(_row(of(rows, [name]), name) for name in names(rows)))


def _row(rows: Frame, name: Name) -> dict[str, Any]:
    points = looked(rows).assign(name=rows["seed"].astype(str))
    other = rows["seed"] != rows["seed"].min()
    points = points.assign(colour=points["colour"].where(~other, "#bbbbbb"), dash=[[1, 0]] * len(points))
    lines = points[rows["metric"] == "calibrated"].sort_values(["seed", "level"], ascending=[False, True])
    dots = points[(rows["metric"] == "observed") & ~other].assign(colour="#333333")
    title = labels.look(*name).name
    left = panel("maps", title, width=330, height=260, words=WORDS, points=lines, observed=dots)
    hit = dots[(dots["value"] > 0) & (dots["level"] > 0)]
    ends = {"x": hit["level"].min() / 2, "y": hit["value"].min() / 2}
    far = {name: one[(one["level"] >= ends["x"]) & (one["value"] >= ends["y"])]
           for name, one in (("points", lines), ("observed", dots))}  # fmt: skip
    right = panel("maps", title, width=330, height=260, words=WORDS, **far)
    for channel, least in ends.items():
        right = logarithmic(right, channel, least, 1.1)
    return beside([left, right])
