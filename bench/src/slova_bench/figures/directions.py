"""Confidence along random directions from test images (Fig. 4): mean and standard deviation by distance."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova_bench.figures.groups import at_levels, by_method
from slova_bench.figures.style import canvas, line, power, styled, wrapped
from slova_bench.results import Row

__all__ = ["METRICS", "plot"]

METRICS = ("mmc", "confidence_std")


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """One panel per method. The distance alpha is logarithmic and starts at 0; the band is clipped to [0, 1]."""
    methods = by_method(rows)
    figure, axes = canvas(1, len(methods), (2.4 * len(methods), 2.8), sharey=True)
    for axis, (look, own) in zip(axes[0], methods, strict=True):
        mean, spread = ({a: v[0] for a, v in at_levels(own, name).items()} for name in METRICS)
        low, high = ([min(1.0, max(0.0, mean[a] + sign * spread[a])) for a in mean] for sign in (-1, 1))
        axis.fill_between(list(mean), low, high, color=look.colour, alpha=0.2, linewidth=0)
        axis.plot(list(mean), list(mean.values()), marker=look.marker, markersize=3.5, **line(look))
        wrapped(axis, look.name, 26)
        _distances(axis, sorted(mean))
    axes[0, 0].set_ylabel("confidence: mean ± deviation")
    figure.supxlabel("α, in images x + α · direction", fontsize=9)
    return figure


def _distances(axis: Axes, levels: Sequence[float]) -> None:
    """A logarithmic axis from the least distance on, with room for 0 before it."""
    least, most = next((level for level in levels if level > 0), 1.0), max(levels, default=1.0)
    axis.set_xscale("symlog", linthresh=least, linscale=0.5)
    ticks = [0.0, *(10.0**exponent for exponent in range(-3, 7) if least <= 10.0**exponent <= most)]
    axis.set_xticks(ticks, [power(tick) if tick else "0" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.set_ylim(-0.03, 1.03)
