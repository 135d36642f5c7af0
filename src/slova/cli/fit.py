"""`slova fit`: validation logits and labels to a scorer file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np

from slova._progress import progress
from slova.batch.fitting import Plan, fit_and_evaluate, recognise
from slova.calibration import CALIBRATORS, resolve
from slova.calibration.registry import keeps_order
from slova.cli.files import check_output
from slova.cli.options import FILE, HEAD, as_json, batch_size, engine, labels_file, max_memory, workers
from slova.cli.stream import Streamed, check_engine_options, open_rows
from slova.cli.terminal import in_options, print_json
from slova.io import Table, TableError
from slova.scorer import Scorer

__all__ = ["fit"]

CALIBRATIONS = [name for name, kind in CALIBRATORS.items() if kind.takes != "logits"]
PARAMETERS = {"pairs": "which"}  # options whose parameter of `fit` has another name
STREAMED = ("exponential", "none")  # what fits without all rows in memory


@click.command()
@click.argument("logits", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The scorer file to write, for example model.slova.")
@labels_file
@click.option("--head", type=HEAD, default="auto", show_default=True, help="How LOGITS are read; auto recognises it.")
@click.option(
    "--calibration",
    type=click.Choice([*CALIBRATIONS, "none"]),
    help="What calibrates the probabilities.  [posterior; exponential with --stream or --engine]",
)
@click.option(
    "--pairs", type=click.Choice(["all", "top"]), help="Fit to all classes of a row, or to its top class.  [all]"
)
@click.option("--at-most-one", is_flag=True, help="Exponential calibration may map a probability of 1 to less than 1.")
@click.option("--keep-order", is_flag=True, help="The top class is always that of LOGITS.")
@click.option("--rescale", is_flag=True, help="Fit a scale and an offset of the logits first.")
@click.option("--stream", is_flag=True, help="Never hold the file in memory (exponential or none); two passes.")
@engine
@workers
@batch_size
@max_memory
@as_json
def fit(
    logits: Path,
    output: Path,
    labels: Path | None,
    head: str,
    calibration: str | None,
    pairs: str | None,
    at_most_one: bool,
    keep_order: bool,
    rescale: bool,
    stream: bool,
    engine: str | None,
    workers: int | None,
    size: int | None,
    memory: int,
    as_json: bool,
) -> None:
    """Fit a scorer to validation LOGITS and their labels. LOGITS may be one-vs-all logits, softmax logits,
    log-probabilities or probabilities (array probs, columns prob_0, ...), with one column for two classes.

    Example: slova fit val.npz -o model.slova
    """
    given: dict[str, Any] = ({"pairs": pairs} if pairs else {}) | ({"at_most_one": True} if at_most_one else {})
    streaming = stream or engine is not None
    calibration = calibration or ("exponential" if streaming else "posterior")
    _check_calibration(calibration, given, keep_order=keep_order)
    check_engine_options(engine, logits, workers=workers)
    _check_streaming(calibration, rescale=rescale, stream=stream, engine=engine)
    check_output(output, logits, labels)
    table = Table(logits, labels, size, memory)
    if streaming:
        plan = Plan(head=head, calibration="none" if calibration == "none" else "exponential", **given)
        scorer = _fit_streaming(table, plan, engine, workers)
    else:
        scorer = _fit(table, head, calibration, given, rescale=rescale, keep_order=keep_order)
    _save(scorer, output)
    if as_json:
        print_json({"output": str(output), "calibration": calibration, **_summary(scorer)})
    else:
        click.echo(_sentences(scorer, str(output), calibration))


def _check_calibration(calibration: str, given: Mapping[str, Any], *, keep_order: bool) -> None:
    """Options without effect, or against each other, are errors."""
    known = () if calibration == "none" else signature(CALIBRATORS[calibration].fit).parameters
    for name in given:
        if PARAMETERS.get(name, name) not in known:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect with --calibration {calibration}")
    if keep_order and calibration != "none" and not keeps_order(resolve(calibration)):
        raise click.UsageError(
            f"--keep-order cannot be combined with --calibration {calibration}, which may change the top class"
        )


def _check_streaming(calibration: str, *, rescale: bool, stream: bool, engine: str | None) -> None:
    if stream and engine is not None:
        raise click.UsageError("--stream has no effect with --engine, which never holds the files in memory")
    option = "--stream" if engine is None else "--engine"
    streaming = stream or engine is not None
    if streaming and calibration not in STREAMED:
        raise click.UsageError(
            f"{option} supports exponential calibration only: {calibration} needs all rows in memory"
        )
    if streaming and rescale:
        raise click.UsageError(f"--rescale needs all rows in memory and cannot be combined with {option}")


def _save(scorer: Scorer, output: Path) -> None:
    try:
        scorer.save(output)
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from error


def _fit_streaming(table: Table, plan: Plan, engine: str | None, workers: int | None) -> Scorer:
    """Fit in two passes, without holding all rows in memory."""
    with open_rows([table], engine, workers) as (rows,):
        return fit_and_evaluate(rows, plan)


def _fit(table: Table, head: str, calibration: str, given: Mapping[str, Any], **how: bool) -> Scorer:
    options = {PARAMETERS.get(name, name): value for name, value in given.items()}
    fit: Any = partial(CALIBRATORS[calibration].fit, **options) if options else calibration
    if head != "auto":
        recognise(Streamed(table), head)  # an error where the names of the columns contradict it
    with progress("fitting") as advance:
        logits, labels = table.arrays()
        advance(0.1)
        return Scorer.fit(logits, labels, head=head, calibration=None if fit == "none" else fit, **how)


def _summary(scorer: Scorer) -> dict[str, Any]:
    assert scorer.report is not None
    about = {"head": scorer.head.name, "classes": scorer.classes, "none": scorer.none}
    report = scorer.report.to_dict() | {"found": in_options(scorer.report.found)}
    return {**about, **report, "numbers": _numbers(scorer.calibrator)}


def _numbers(calibrator: Any) -> dict[str, Any]:
    """The parameters of a calibrator."""
    fields = [] if calibrator is None else dataclasses.fields(calibrator)
    names = [field.name for field in fields if field.name != "report"]
    return {name: np.asarray(getattr(calibrator, name)).tolist() for name in names}


def _sentences(scorer: Scorer, output: str, calibration: str) -> str:
    report = scorer.report
    assert report is not None
    how = f"{scorer.head.name} head, {_described(scorer.calibrator, calibration)}"
    cross_fitted = "cross-fitted" if report.rows >= 10 else "on the rows of the fit, too few to cross-fit"
    return "\n".join(
        [
            f"{output}: {how}, {scorer.classes} classes",
            f"head: {in_options(report.found)}",
            f"fitted on {report.rows:,} rows, {report.none_rows:,} of them labelled NONE",
            f"ECE before {report.ece_before:.4f}, after {report.ece_after:.4f} ± {report.error:.4f}, {cross_fitted}",
            f"NLL before {report.nll_before:.4f}, after {report.nll_after:.4f}, {cross_fitted}",
        ]
    )


def _described(calibrator: Any, name: str) -> str:
    if name == "exponential":
        terms = len(calibrator.exponents)
        return f"exponential calibration of {terms} term{'s' * (terms != 1)}"
    if name == "temperature":
        return f"temperature {calibrator.temperature:.4g}"
    return "no calibration" if calibrator is None else f"{name} calibration"
