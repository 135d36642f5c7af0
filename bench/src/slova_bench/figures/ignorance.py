"""The calibration curve of complete ignorance (Fig. 9): exact, the paper's approximation, a fitted sum of powers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from slova_bench.figures.drawing import finished, keyed, looked, panel
from slova_bench.frame import NAME, Frame, names, over_seeds

__all__ = ["plot"]


def plot(rows: Frame) -> dict[str, Any]:
    """Calibrated over uncalibrated probability; all three pass through the origin."""
    order = names(rows)
    origin = pd.DataFrame(order, columns=NAME).assign(level=0.0, value=0.0)
    points = looked(pd.concat([origin, over_seeds(rows)]).sort_values([*NAME, "level"]), order)
    words = {"x": "P, uncalibrated", "y": "c(P), calibrated"}
    drawn = panel("curve", width=360, height=300, words=words, points=points)
    return finished(keyed(drawn, order, columns=1, symbol="stroke"))
