"""Calibrators and the data they were fitted to (Sec. 3.6): the share of hits in moving windows over the pairs of the
validation set, and the calibrator at these windows and on a grid.

`level` is a probability before calibration, the mean of a window, and `n` counts pairs. Only elementwise calibrators
have such a curve; other methods have no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from slova.calibration import Calibrator
from slova.calibration.pairs import Pairs
from slova_bench.calibrate import calibration_rows
from slova_bench.experiment import PerNetwork
from slova_bench.method import Method
from slova_bench.paper_fit import fit_paper
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.results import Cell, Results, Row

LEAST = 1e-8  # the start of the logarithmic axis
POINTS = 100  # windows per axis
GRID = sorted({float(f"{p:.8g}") for p in (*np.linspace(0.01, 1, 100), *np.geomspace(LEAST, 1, 81))})


def required(method: Method, bench: Bench, seed: int) -> list[Row]:
    """The grid, which is written last; the levels of the windows depend on the fit."""
    cell = _cell(method, bench, seed)
    return [Row.of(cell._replace(level=level), "calibrated", 0.0) for level in GRID] if _has_curve(method) else []


def rows(method: Method, bench: Bench, results: Results, seed: int) -> list[Row]:
    fitted, pairs = _fitted(method, bench, seed)
    cell = _cell(method, bench, seed)._replace(n=int(pairs.total))
    return [*_observed(cell, pairs, fitted), *_curve(cell, GRID, fitted)]


def _cell(method: Method, bench: Bench, seed: int) -> Cell:
    return Cell("maps", method.name, method.preset, bench.dataset.train, bench.dataset.val, "", 0, seed, 0)


def _has_curve(method: Method) -> bool:
    """Whether its calibrator is elementwise, by the class whose `fit` it uses."""
    fit = getattr(method.calibrate, "func", method.calibrate)  # of a partial
    return fit is fit_paper or bool(getattr(getattr(fit, "__self__", None), "elementwise", False))


def _fitted(method: Method, bench: Bench, seed: int) -> tuple[Calibrator, Pairs]:
    """The calibrator of a method and the pairs it was fitted to."""
    assert method.calibrate is not None
    rows = calibration_rows(method, bench, bench.trained(method, seed))
    log_probs = mean_readout(method.head, rows.outputs).log_probs
    return method.calibrate(log_probs, rows.labels), Pairs.of(log_probs, rows.labels)


def _observed(cell: Cell, pairs: Pairs, fitted: Calibrator) -> Iterator[Row]:
    """Windows of the moving averages of the fit, and the calibrator there."""
    probability, share = pairs.averages()
    found = {float(f"{p:.8g}"): hits for p, hits in zip(probability, share, strict=True)}  # levels as stored
    levels = _spread(np.array(sorted(found)))
    yield from (Row.of(cell._replace(level=level), "observed", found[level]) for level in levels)
    yield from _curve(cell, [level for level in levels if level > 0], fitted)


def _spread(levels: NDArray[np.float64]) -> list[float]:
    """About POINTS of these levels on a linear axis, and as many on a logarithmic one."""
    grid = np.concatenate([np.linspace(0, 1, POINTS), np.geomspace(LEAST, 1, POINTS)])
    nearest = {int(np.abs(levels - level).argmin()) for level in grid}
    return [float(levels[place]) for place in sorted(nearest)]


def _curve(cell: Cell, levels: Sequence[float], fitted: Calibrator) -> list[Row]:
    values = np.exp(fitted(np.log(levels)))
    return [Row.of(cell._replace(level=p), "calibrated", c) for p, c in zip(levels, values, strict=True)]


EXPERIMENT = PerNetwork(name="maps", methods=("slova", "slova_clean"), required=required, rows=rows)
