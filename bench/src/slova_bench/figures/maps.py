"""Calibrators and the moving averages they were fitted to (Sec. 3.6): one row per method, linear on the left and
logarithmic on the right, where a power is a straight line."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova_bench.figures.groups import by_method
from slova_bench.figures.style import canvas, logarithmic, styled
from slova_bench.labels import Look
from slova_bench.results import Row

__all__ = ["METRICS", "plot"]

METRICS = OBSERVED, CALIBRATED = ("observed", "calibrated")


@styled
def plot(rows: Sequence[Row]) -> Figure:
    """Averages and calibrator of the first seed, and the calibrators of the others in a light colour. Windows without a
    hit are not visible on the logarithmic axis."""
    methods = by_method(rows)
    figure, axes = canvas(len(methods), 2, (8.6, 3.4 * len(methods) + 0.3))
    for (left, right), (look, own) in zip(axes, methods, strict=True):
        for axis in (left, right):
            _map(axis, look, own)
            axis.set(title=look.name, xlabel="probability before calibration", ylabel="share of hits")
        left.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        _zoom(right, own)
        left.legend(loc="upper left")
    return figure


def _map(axis: Axes, look: Look, rows: Sequence[Row]) -> None:
    first, *others = sorted({row.seed for row in rows})
    diagonal = sorted({row.level for row in rows})
    axis.plot(diagonal, diagonal, color="#777777", linewidth=0.9, linestyle=":", label="no calibration")
    for seed in others:
        name = "calibrators of other seeds" if seed == others[0] else None
        axis.plot(*_points(rows, seed, CALIBRATED), color=look.colour, linewidth=0.9, alpha=0.45, label=name)
    axis.plot(*_points(rows, first, OBSERVED), ".", color="black", markersize=4, alpha=0.6, label="moving averages")
    axis.plot(*_points(rows, first, CALIBRATED), color=look.colour, label="fitted calibrator")


def _zoom(axis: Axes, rows: Sequence[Row]) -> None:
    """Logarithmic axes down to half of the least window with a hit."""
    averages = zip(*_points(rows, min(row.seed for row in rows), OBSERVED), strict=True)
    hit = [(p, share) for p, share in averages if p * share > 0] or [(0.02, 0.02)]
    left, low = (min(values) / 2 for values in zip(*hit, strict=True))
    axis.set(xscale="log", yscale="log", xlim=(left, 1.1), ylim=(low, 1.1))
    logarithmic(axis.xaxis)
    logarithmic(axis.yaxis)


def _points(rows: Sequence[Row], seed: int, metric: str) -> tuple[list[float], list[float]]:
    found = sorted((row.level, row.value) for row in rows if (row.seed, row.metric) == (seed, metric))
    return [level for level, _ in found], [value for _, value in found]
