"""Confidence on planes through three test images (Fig. 2), the first of them in the middle: one panel per method."""

from __future__ import annotations

from typing import Any

from slova_bench import labels
from slova_bench.figures.drawing import beside, finished, panel
from slova_bench.frame import Frame, grouped, names, of

__all__ = ["plot"]

SIDE = 12  # of a point in pixels


def plot(planes: Frame) -> dict[str, Any]:
    """The mean over seeds, with a common colour scale."""
    means = grouped(planes, "alpha", "beta", value="mean").round({"value": 3})
    own = {name: of(means, [name]) for name in names(planes)}
    return finished(
        beside(
            panel("plane", labels.look(*name).name, points=one, width=SIDE * one["alpha"].nunique(),
                  height=SIDE * one["beta"].nunique())
            for name, one in own.items()
        )
    )  # fmt: skip
