"""`slova fit`: validation logits and labels to a scorer file."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from functools import partial, reduce
from inspect import signature
from operator import add
from pathlib import Path
from typing import Any

import click
import numpy as np

from slova._backend import Array
from slova.batch.fitting import FOLDS, FitResult, Plan, fit_and_evaluate
from slova.batch.metric_states import calibration as ece_of
from slova.calibration import CALIBRATORS, SmallValidationWarning
from slova.cli.files import check_output
from slova.cli.options import FILE, HEAD, as_json, batch_size, engine, labels_file, workers
from slova.cli.stream import check_engine_options, open_rows
from slova.cli.terminal import print_json, progress
from slova.heads import HEADS, NONE
from slova.io import Table, TableError
from slova.scorer import Scorer

__all__ = ["fit"]

CALIBRATIONS = [name for name, kind in CALIBRATORS.items() if kind.takes == "log_probs"]
PARAMETERS = {"pairs": "which"}  # options whose parameter of `fit` has another name


@click.command()
@click.argument("logits", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The scorer file to write, for example model.slova.")
@labels_file
@click.option("--head", type=HEAD, default="slova", show_default=True, help="How logits become probabilities.")
@click.option(
    "--calibration",
    type=click.Choice([*CALIBRATIONS, "none"]),
    default="exponential",
    show_default=True,
    help="What calibrates the probabilities.",
)
@click.option(
    "--pairs", type=click.Choice(["all", "top"]), help="Fit to all classes of a row, or to its top class.  [all]"
)
@click.option("--at-most-one", is_flag=True, help="Exponential calibration may map a probability of 1 to less than 1.")
@click.option("--rescale", is_flag=True, help="Fit a scale and an offset of the logits first.")
@click.option("--stream", is_flag=True, help="Never hold the file in memory (exponential or none); two passes.")
@engine
@workers
@batch_size
@as_json
def fit(
    logits: Path,
    output: Path,
    labels: Path | None,
    head: str,
    calibration: str,
    pairs: str | None,
    at_most_one: bool,
    rescale: bool,
    stream: bool,
    engine: str | None,
    workers: int | None,
    size: int | None,
    as_json: bool,
) -> None:
    """Fit a scorer to validation LOGITS and their labels.

    Example: slova fit val.npz -o model.slova
    """
    options = {"pairs": pairs, "at_most_one": at_most_one or None}
    given = {name: value for name, value in options.items() if value is not None}
    _check_calibration(calibration, given)
    _check_streaming(calibration, rescale=rescale, stream=stream, engine=engine, workers=workers)
    check_output(output, logits, labels)
    table = Table(logits, labels, size)
    if stream or engine is not None:
        fitted = _fit_streaming(table, _plan(head, calibration, given), engine, workers)
    else:
        fitted = _fit(table, head, _calibrate(calibration, given), rescale=rescale)
    _save(fitted.scorer, output)
    how = {"output": str(output), "head": head, "calibration": calibration}
    print_json(how | _summary(fitted)) if as_json else click.echo(_sentences(fitted, **how))


def _check_calibration(calibration: str, given: Mapping[str, Any]) -> None:
    """Options without effect are errors."""
    known = () if calibration == "none" else signature(CALIBRATORS[calibration].fit).parameters
    for name in given:
        if PARAMETERS.get(name, name) not in known:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect with --calibration {calibration}")


def _check_streaming(calibration: str, *, rescale: bool, stream: bool, engine: str | None, workers: int | None) -> None:
    check_engine_options(engine, workers=workers)
    if stream and engine is not None:
        raise click.UsageError("--stream has no effect with --engine, which never holds the files in memory")
    option = "--stream" if engine is None else "--engine"
    streaming = stream or engine is not None
    if streaming and calibration not in ("exponential", "none"):
        raise click.UsageError(
            f"{option} supports exponential calibration only: {calibration} needs all rows in memory"
        )
    if streaming and rescale:
        raise click.UsageError(f"--rescale needs all rows in memory and cannot be combined with {option}")


def _calibrate(calibration: str, given: Mapping[str, Any]) -> Callable[[Array, Array], Any] | None:
    """The function that fits the calibrator to log-probabilities and labels."""
    options = {PARAMETERS.get(name, name): value for name, value in given.items()}
    return None if calibration == "none" else partial(CALIBRATORS[calibration].fit, **options)


def _plan(head: str, calibration: str, given: Mapping[str, Any]) -> Plan:
    return Plan(head=head, calibration="none" if calibration == "none" else "exponential", **given)


def _save(scorer: Scorer, output: Path) -> None:
    try:
        scorer.save(output)
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from error


def _fit_streaming(table: Table, plan: Plan, engine: str | None, workers: int | None) -> FitResult:
    """Fit in two passes, without holding all rows in memory."""
    with open_rows([table], engine, workers) as (rows,):
        return fit_and_evaluate(rows, plan)


def _fit(table: Table, head: str, calibrate: Callable[[Array, Array], Any] | None, *, rescale: bool) -> FitResult:
    with progress("fitting") as advance:
        logits, labels = table.arrays()
        advance(0.1)
        fit = partial(Scorer.fit, head=HEADS[head], calibration=calibrate, rescale=rescale)
        scorer = fit(logits, labels)
        advance(0.3)
        before = ece_of(Scorer(classes=scorer.classes, head=scorer.head), logits, labels).value
        after = _cross_fitted(fit, logits, labels, lambda share: advance(0.3 + 0.7 * share))
    return FitResult(scorer, len(labels), int((labels == NONE).sum()), before, after)


def _cross_fitted(
    fit: Callable[[Array, Array], Scorer], logits: Array, labels: Array, advance: Callable[[float], None]
) -> float | None:
    """The cross-fitted ECE; None if there are too few rows."""
    if len(labels) < 2 * FOLDS:
        return None
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    states = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallValidationWarning)  # raised once, for the whole set
        for held_out in range(FOLDS):
            rows = fold == held_out
            states.append(ece_of(fit(logits[~rows], labels[~rows]), logits[rows], labels[rows]))
            advance((held_out + 1) / FOLDS)
    return reduce(add, states).value


def _summary(fitted: FitResult) -> dict[str, Any]:
    calibrator = fitted.scorer.calibrator
    report = getattr(calibrator, "report", None)
    return {
        "classes": fitted.scorer.classes,
        "rows": fitted.rows,
        "none_rows": fitted.none_rows,
        "numbers": _numbers(calibrator),
        "error": None if report is None else report.error,
        "gap": None if report is None else report.gap,
        "ece_before": fitted.before,
        "ece_after": fitted.after,
    }


def _numbers(calibrator: Any) -> dict[str, Any]:
    """The parameters of a calibrator."""
    fields = [] if calibrator is None else dataclasses.fields(calibrator)
    names = [field.name for field in fields if field.name != "report"]
    return {name: np.asarray(getattr(calibrator, name)).tolist() for name in names}


def _sentences(fitted: FitResult, *, output: str, head: str, calibration: str) -> str:
    calibrator = fitted.scorer.calibrator
    how = f"{head} head, {_described(calibrator, calibration)}"
    lines = [
        f"{output}: {how}, {fitted.scorer.classes} classes",
        f"fitted on {fitted.rows:,} rows, {fitted.none_rows:,} of them labelled NONE",
    ]
    report = getattr(calibrator, "report", None)
    if report is not None:
        lines.append(f"mean squared error {report.error:.4g}, at most {report.gap:.2g} above the best possible")
    after = "too few rows" if fitted.after is None else f"{fitted.after:.4f}, cross-fitted in {FOLDS} folds"
    return "\n".join([*lines, f"ECE before {fitted.before:.4f}, after {after}"])


def _described(calibrator: Any, name: str) -> str:
    if name == "exponential":
        terms = len(calibrator.exponents)
        return f"exponential calibration of {terms} term{'s' * (terms != 1)}"
    if name == "temperature":
        return f"temperature {calibrator.temperature:.4g}"
    return "no calibration" if calibrator is None else f"{name} calibration"
