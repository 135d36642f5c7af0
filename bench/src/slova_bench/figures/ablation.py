"""The effect of each step (Fig. 8): one box per method over the clean test set and all shifts and severities."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from slova_bench import labels
from slova_bench.figures.groups import by_method, over_seeds
from slova_bench.figures.shift import METRICS, box
from slova_bench.figures.style import canvas, fill, keys, styled
from slova_bench.results import Row

__all__ = ["plot"]


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """One panel per metric, side by side."""
    methods = by_method(rows)
    figure, axes = canvas(1, len(METRICS), (9.6, 3.4))
    for axis, metric in zip(axes[0], METRICS, strict=True):
        for place, (look, own) in enumerate(methods):
            box(axis, [list(over_seeds(own, metric).values())], [place], 0.7, look)
        axis.set(title=f"{labels.metric(metric).name} {labels.better(metric)}", xticks=[], ylim=(0, None))
    keys(figure, [Patch(label=look.name, **fill(look)) for look, _ in methods], 5)
    return figure
