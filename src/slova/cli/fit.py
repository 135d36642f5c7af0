"""`slova fit`: validation logits and labels to a scorer file."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np

from slova._backend import Array
from slova.batch.fitting import FOLDS, Fitted, Plan, judged
from slova.batch.measures import calibration
from slova.calibration import (
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    SmallValidationWarning,
    TemperatureScaling,
)
from slova.cli.files import check_output
from slova.cli.stream import check_engine_options, opened_rows
from slova.cli.terminal import print_json, progress
from slova.heads import NONE
from slova.io import Table, TableError
from slova.scorer import HEADS, Scorer

__all__ = ["FitOptions", "calibrate", "run"]

FITS: dict[str, Callable[..., Any]] = {
    "exponential": ExponentialCalibration.fit,
    "temperature": TemperatureScaling.fit,
    "isotonic": IsotonicCalibration.fit,
    "beta": BetaCalibration.fit,
    "histogram": HistogramBinning.fit,
}


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    logits: Path
    output: Path
    labels: Path | None
    head: str
    map_name: str
    pairs: Literal["all", "top"] | None
    at_most_one: bool
    rescale: bool
    stream: bool
    engine: str | None
    workers: int | None
    size: int | None
    as_json: bool

    @property
    def table(self) -> Table:
        return Table(self.logits, self.labels, self.size)

    @property
    def in_pieces(self) -> bool:
        return self.stream or self.engine is not None


def run(options: FitOptions) -> None:
    _check(options)
    check_output(options.output, options.logits, options.labels)
    fitted = _fit_in_pieces(options) if options.in_pieces else _fit(options)
    try:
        fitted.scorer.save(options.output)
    except OSError as error:
        raise TableError(f"{options.output} cannot be written: {error.strerror}") from error
    print_json(_summary(fitted, options)) if options.as_json else click.echo(_sentences(fitted, options))


def _check(options: FitOptions) -> None:
    """An option that would have no effect is an error, not a silence."""
    if options.map_name != "exponential" and options.at_most_one:
        raise click.UsageError(f"--at-most-one belongs to the exponential map, got --map {options.map_name}")
    if options.map_name in ("temperature", "none") and options.pairs is not None:
        raise click.UsageError(f"--pairs has no meaning for --map {options.map_name}")
    check_engine_options(options.engine, workers=options.workers)
    if options.stream and options.engine is not None:
        raise click.UsageError("an --engine never holds the files in memory: leave out --stream")
    asked = "--stream" if options.engine is None else "--engine"
    if options.in_pieces and options.map_name not in ("exponential", "none"):
        raise click.UsageError(f"{asked} is for the exponential map: {options.map_name} needs all rows in memory")
    if options.in_pieces and options.rescale:
        raise click.UsageError(f"--rescale needs all rows in memory and cannot be fitted with {asked}")


def calibrate(options: FitOptions) -> Callable[[Array, Array], Any] | None:
    """The fit that the options ask for, from log-probabilities and labels to a map."""
    if options.map_name == "none":
        return None
    asked: dict[str, Any] = {} if options.map_name == "temperature" else {"which": options.pairs or "all"}
    if options.map_name == "exponential":
        asked |= {"at_most_one": options.at_most_one}
    return partial(FITS[options.map_name], **asked)


def _fit_in_pieces(options: FitOptions) -> Fitted:
    """Two passes, and never all rows at once."""
    plan = Plan(
        head=options.head,
        map="none" if options.map_name == "none" else "exponential",
        pairs=options.pairs or "all",
        at_most_one=options.at_most_one,
    )
    with opened_rows([options.table], options.engine, options.workers) as (rows,):
        return judged(rows, plan)


def _fit(options: FitOptions) -> Fitted:
    with progress("fitting") as tell:
        logits, labels = options.table.arrays()
        tell(0.1)
        fit = partial(Scorer.fit, head=HEADS[options.head], calibrate=calibrate(options), rescale=options.rescale)
        scorer = fit(logits, labels)
        tell(0.3)
        before = calibration(Scorer(classes=scorer.classes, head=scorer.head), logits, labels).value
        after = _cross_fitted(fit, logits, labels, lambda share: tell(0.3 + 0.7 * share))
    return Fitted(scorer, len(labels), int((labels == NONE).sum()), before, after)


def _cross_fitted(
    fit: Callable[[Array, Array], Scorer], logits: Array, labels: Array, tell: Callable[[float], None]
) -> float | None:
    """The ECE of rows, each scored by a fit that did not see it; None where there are too few to leave some out."""
    if len(labels) < 2 * FOLDS:
        return None
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    states = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # said once, of the whole set
        for held_out in range(FOLDS):
            rows = fold == held_out
            states.append(calibration(fit(logits[~rows], labels[~rows]), logits[rows], labels[rows]))
            tell((held_out + 1) / FOLDS)
    return reduce(add, states).value


def _summary(fitted: Fitted, options: FitOptions) -> dict[str, Any]:
    report = getattr(fitted.scorer.map, "report", None)
    return {
        "output": str(options.output),
        "head": options.head,
        "map": options.map_name,
        "classes": fitted.scorer.classes,
        "rows": fitted.rows,
        "none_rows": fitted.none_rows,
        "numbers": _numbers(fitted.scorer.map),
        "error": None if report is None else report.error,
        "gap": None if report is None else report.gap,
        "ece_before": fitted.before,
        "ece_after": fitted.after,
    }


def _numbers(fitted: Any) -> dict[str, Any]:
    """The numbers that a map consists of."""
    names = [] if fitted is None else [field.name for field in dataclasses.fields(fitted) if field.name != "report"]
    return {name: np.asarray(getattr(fitted, name)).tolist() for name in names}


def _sentences(fitted: Fitted, options: FitOptions) -> str:
    found = fitted.scorer
    lines = [
        f"{options.output}: {options.head} head, {_described(found.map, options.map_name)}, {found.classes} classes",
        f"fitted on {fitted.rows:,} rows, {fitted.none_rows:,} of them labelled none",
    ]
    report = getattr(found.map, "report", None)
    if report is not None:
        lines.append(f"mean squared error {report.error:.4g}, at most {report.gap:.2g} above the best possible")
    after = "too few rows" if fitted.after is None else f"{fitted.after:.4f}, cross-fitted in {FOLDS} folds"
    return "\n".join([*lines, f"ECE before {fitted.before:.4f}, after {after}"])


def _described(fitted: Any, name: str) -> str:
    if name == "exponential":
        return f"exponential map of {len(fitted.exponents)} term{'s' * (len(fitted.exponents) != 1)}"
    if name == "temperature":
        return f"temperature {fitted.temperature:.4g}"
    return "no map" if fitted is None else f"{name} map"
