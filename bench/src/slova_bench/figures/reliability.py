"""Reliability diagrams: accuracy by confidence with exact intervals, over the distribution of the confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova.metrics.reliability import interval
from slova_bench.figures.groups import Counts, by_method, summed
from slova_bench.figures.style import canvas, styled, wrapped
from slova_bench.histograms import BINS, Histogram
from slova_bench.labels import Look

__all__ = ["plot"]

COLUMNS = 5
WIDTH = BINS // 20  # bins of a histogram per bin of the diagram, as on the page
SHADE = 0.35  # height of the densest bin, as a share of the panel


@styled
def plot(histograms: Sequence[Histogram]) -> Figure:
    """One panel per method, with all of its histograms added up. The intervals count each image once, although it was
    evaluated under several shifts and seeds."""
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
    figure.supylabel("accuracy", fontsize=9)
    return figure


def _panel(axis: Axes, look: Look, counts: Counts) -> None:
    density = counts.answers / max(counts.answers.max(), 1)
    axis.stairs(SHADE * density, np.linspace(0, 1, BINS + 1), fill=True, color="#c8c8c8")
    axis.plot([0, 1], [0, 1], color="#777777", linewidth=0.8)
    answers, hits, total = (part.reshape(-1, WIDTH).sum(axis=1) for part in counts[:3])
    some = answers > 0
    share = hits[some] / answers[some]
    low, high = interval(hits[some] / counts.times, answers[some] / counts.times)
    spread = np.abs([share - low, high - share])
    axis.errorbar(total[some] / answers[some], share, spread, fmt="o", color=look.colour, markersize=3, linewidth=1.1)
    axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axis.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    wrapped(axis, look.name, 22)
