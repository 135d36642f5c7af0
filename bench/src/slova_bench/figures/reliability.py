"""Reliability diagrams: how often answers of a given confidence are right, with intervals, over how many there are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from slova_bench.figures.groups import Counts, by_method, summed
from slova_bench.figures.style import canvas, styled, wrapped
from slova_bench.histograms import BINS, Histogram
from slova_bench.labels import Look

__all__ = ["plot", "wilson"]

Floats = NDArray[np.float64]
COLUMNS = 5
EDGES = np.linspace(0, BINS, 15 + 1).round().astype(int)  # of fifteen bins, in whole ones of the histogram
SHADE = 0.35  # of a panel's height for the densest bin


@styled
def plot(histograms: Sequence[Histogram]) -> Figure:
    """A panel a method, all of its histograms in one. An interval has as many observations as there are images in the
    bin, however often each was asked about."""
    methods = by_method(histograms)
    columns = min(COLUMNS, len(methods))
    rows = math.ceil(len(methods) / columns)
    figure, axes = canvas(rows, columns, (1.9 * columns + 0.4, 2.05 * rows + 0.4), sharex=True, sharey=True)
    for axis, (look, own) in zip(axes.flat, methods, strict=False):
        _panel(axis, look, summed(own))
    for axis in axes.flat[len(methods) :]:
        axis.set_axis_off()
    for axis in axes.flat[max(0, len(methods) - columns) : len(methods)]:
        axis.tick_params(labelbottom=True)  # the lowest of each column
    figure.supxlabel("confidence", fontsize=9)
    figure.supylabel("share of right answers", fontsize=9)
    return figure


def wilson(share: ArrayLike, n: ArrayLike, *, z: float = 1.959964) -> tuple[Floats, Floats]:
    """Both ends of the 95 % interval of a share among n, which never leaves [0, 1]."""
    share, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return middle - half, middle + half


def _panel(axis: Axes, look: Look, counts: Counts) -> None:
    density = counts.answers / max(counts.answers.max(), 1)
    axis.stairs(SHADE * density, np.linspace(0, 1, BINS + 1), fill=True, color="#c8c8c8")
    axis.plot([0, 1], [0, 1], color="#777777", linewidth=0.8)
    answers, hits, total = (np.add.reduceat(part, EDGES[:-1]) for part in counts[:3])
    some = answers > 0
    share = hits[some] / answers[some]
    low, high = wilson(share, answers[some] / counts.times)
    spread = np.abs([share - low, high - share])
    axis.errorbar(total[some] / answers[some], share, spread, fmt="o", color=look.colour, markersize=3, linewidth=1.1)
    axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axis.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    wrapped(axis, look.name, 22)
