"""The calibration curve of complete ignorance (Fig. 9): exact, the paper's approximation, a fitted sum of powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from slova_bench.figures.groups import at_levels
from slova_bench.figures.style import canvas, styled
from slova_bench.results import Row

__all__ = ["plot"]

CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("exact", {"color": "black", "zorder": 3}),
    "fitted": ("sum of powers, fitted to it", {"color": "#e69f00", "linewidth": 4, "alpha": 0.6}),
    "approximate": ("approximation 1 − (1 − P)ᴷ", {"color": "#0072b2", "linestyle": "--", "linewidth": 1.1}),
}


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """Calibrated over uncalibrated probability; all three pass through the origin."""
    figure, axes = canvas(1, 1, (4.6, 3.8))
    axis = axes[0, 0]
    for curve, (name, look) in CURVES.items():
        points = at_levels([row for row in rows if row.method == curve], "calibrated")
        axis.plot([0, *points], [0, *(value for (value,) in points.values())], label=name, **look)
    variants = sorted({row.variant for row in rows})
    axis.set(xlabel="P, uncalibrated", ylabel="c(P), calibrated", xlim=(0, 1), ylim=(0, 1.02))
    axis.legend(title=", ".join(variants), loc="lower right")
    return figure
