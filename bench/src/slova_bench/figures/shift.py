"""Accuracy, ECE, NLL and Brier score by the severity of a shift (Fig. 5): one box per method over kinds of shift."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from slova_bench import labels
from slova_bench.figures.groups import at_levels, by_method
from slova_bench.figures.style import canvas, fill, keys, styled
from slova_bench.labels import Look
from slova_bench.results import Row

__all__ = ["METRICS", "box", "plot"]

METRICS = ("accuracy", "ece", "nll", "brier")
GROUP = 0.84  # width of all boxes of a severity, as a share of the distance between severities


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """One panel per metric. Severity 0 is the clean test set, a single value per method."""
    methods = by_method(rows)
    figure, axes = canvas(len(METRICS), 1, (9.6, 10.4), sharex=True)
    step = GROUP / len(methods)
    for axis, metric in zip(axes[:, 0], METRICS, strict=True):
        for place, (look, own) in enumerate(methods):
            levels = at_levels(own, metric)
            offset = (place - (len(methods) - 1) / 2) * step
            box(axis, list(levels.values()), [level + offset for level in levels], 0.82 * step, look)
        _label(axis, metric, sorted({row.level for row in rows}))
    axes[-1, 0].set_xlabel("severity of the shift")
    figure.align_ylabels()
    keys(figure, [Patch(label=look.name, **fill(look)) for look, _ in methods], 5)
    return figure


def box(axis: Axes, samples: Sequence[Sequence[float]], places: Sequence[float], width: float, look: Look) -> None:
    """Boxes of one method: quartiles, with whiskers from the least to the greatest value; a line for a single value.

    Not matplotlib's own, which imports pyplot.
    """
    low, first, median, third, high = np.transpose([np.percentile(sample, (0, 25, 50, 75, 100)) for sample in samples])
    left, right = np.subtract(places, width / 2), np.add(places, width / 2)
    axis.use_sticky_edges = False  # an axis must not end at the upper edge of a bar
    several = np.array([len(sample) > 1 for sample in samples])
    axis.vlines(places, low, high, color=look.colour, linewidth=0.8, zorder=1)
    axis.bar(places, third - first, width, first, linewidth=0.8, **fill(look))
    axis.hlines(median[several], left[several], right[several], color="black", linewidth=1.3)
    axis.hlines(median[~several], left[~several], right[~several], color=look.colour, linewidth=2.2)


def _label(axis: Axes, metric: str, levels: Sequence[float]) -> None:
    axis.set_ylabel(f"{labels.metric(metric).name} {labels.better(metric)}")
    axis.set_xticks(levels, [f"{level:g}" if level else "clean" for level in levels])
    axis.set_xlim(min(levels, default=0) - 0.5, max(levels, default=0) + 0.5)
    axis.grid(axis="x", visible=False)
    axis.tick_params(axis="x", length=0)
    for level in levels[1:]:
        axis.axvline(level - 0.5, color="#cccccc", linewidth=0.7)
    if metric != "accuracy":
        axis.set_ylim(bottom=0)
