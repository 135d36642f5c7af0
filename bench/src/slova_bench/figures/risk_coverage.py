"""Risk-coverage curves: the error among predictions above a threshold of confidence, by their share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from slova_bench.figures.groups import Counts, by_method, summed
from slova_bench.figures.style import canvas, keys, line, styled
from slova_bench.histograms import Histogram

__all__ = ["curve", "plot"]

Floats = NDArray[np.float64]


@styled
def plot(histograms: Sequence[Histogram]) -> Figure:
    """The clean test set on the left, all shifts and severities together on the right."""
    figure, axes = canvas(1, 2, (9.0, 4.4))
    for axis, shifted in zip(axes[0], (False, True), strict=True):
        _panel(axis, [found for found in histograms if bool(found.cell.shift) is shifted])
        axis.set_title("all shifts and severities" if shifted else "clean test set")
    axes[0, 0].set_ylabel("error among the accepted")
    keys(figure, [Line2D([], [], **line(look)) for look, _ in by_method(histograms)], 5)
    return figure


def curve(counts: Counts) -> tuple[Floats, Floats]:
    """Coverage and risk at each threshold that accepts something, the highest first."""
    count, hits = np.cumsum(counts.answers[::-1]), np.cumsum(counts.hits[::-1])
    some = np.flatnonzero(np.diff(count, prepend=0))
    return count[some] / count[-1], 1 - hits[some] / count[some]


def _panel(axis: Axes, histograms: Sequence[Histogram]) -> None:
    for look, own in by_method(histograms):
        axis.plot(*curve(summed(own)), **line(look))
    axis.set(xlabel="coverage: share of predictions accepted", xlim=(0, 1.01), ylim=(0, None))
