"""Confidence on planes through three test images (Fig. 2), the first of them in the middle: one panel per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from slova_bench import labels
from slova_bench.figures.drawing import beside, finished, panel
from slova_bench.results_folder import Plane

__all__ = ["plot"]

SIDE = 12  # of a point in pixels


def plot(planes: Sequence[Plane]) -> dict[str, Any]:
    """The mean over seeds, with a common colour scale."""
    points = [(one.method, one.preset, *point) for one in planes for point in one.points]
    found = pd.DataFrame(points, columns=["method", "variant", "alpha", "beta", "value"])
    means = found.groupby(["method", "variant", "alpha", "beta"])["value"].mean().round(3).reset_index()
    order = labels.in_order({(one.method, one.preset) for one in planes})
    own = {name: means[(means["method"] == name[0]) & (means["variant"] == name[1])] for name in order}
    return finished(
        beside(
            panel("plane", labels.look(*name).name, points=one, width=SIDE * one["alpha"].nunique(),
                  height=SIDE * one["beta"].nunique())
            for name, one in own.items()
        )
    )  # fmt: skip
