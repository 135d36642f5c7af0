"""The paper's fit by its number of terms M and of points n_b (Fig. 10), and the optimal fit, which has neither."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova_bench import labels
from slova_bench.figures.style import canvas, keys, logarithmic, styled
from slova_bench.results import Row

__all__ = ["METRICS", "plot"]

METRICS = ("nll", "ece", "brier")
VARIES = {"M": "M, terms", "n_b": "n_b, points"}


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """Means over seeds; the band spans all seeds."""
    figure, axes = canvas(len(VARIES), len(METRICS), (9.0, 5.0), sharey="col")
    for row, (name, label) in zip(axes, VARIES.items(), strict=True):
        for axis, metric in zip(row, METRICS, strict=True):
            own = [found for found in rows if (found.metric, found.preset) == (metric, "")]
            _curve(axis, _by_value(own, name))
            _optimum(axis, [found.value for found in own if not found.parameter])
            axis.set(xlabel=label, ylabel=f"{labels.metric(metric).name} {labels.better(metric)}")
    for axis in axes.flat:
        logarithmic(axis.xaxis)
        logarithmic(axis.yaxis)
    keys(figure, axes[0, 0].get_legend_handles_labels()[0], 2)
    return figure


def _by_value(rows: Sequence[Row], name: str) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for row in rows:
        if row.parameter == name:
            found.setdefault(row.parameter_value, []).append(row.value)
    return dict(sorted(found.items()))


def _curve(axis: Axes, values: dict[float, list[float]]) -> None:
    colour = labels.look("slova").colour
    places, means = list(values), [sum(seeds) / len(seeds) for seeds in values.values()]
    low, high = ([end(seeds) for seeds in values.values()] for end in (min, max))
    axis.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.plot(places, means, color=colour, marker="o", markersize=3.5, label="the paper's optimiser")
    axis.set(xscale="log", yscale="log")


def _optimum(axis: Axes, values: Sequence[float]) -> None:
    if values:
        mean = sum(values) / len(values)
        axis.axhline(mean, color="black", linestyle="--", linewidth=1.2, label="the optimal fit, without M and n_b")
