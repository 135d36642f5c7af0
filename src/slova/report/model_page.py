"""The page of one model: the metrics of a file of logits, drawn, with every out-of-distribution file beside it; with a
calibrator, before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slova.metrics import Ece, Estimate, Reliability, Selection
from slova.report.advice import drift, verdict
from slova.report.bins import bin_columns
from slova.report.colours import light_and_dark
from slova.report.detail_tables import detail_tables, drift_table
from slova.report.details import Details, Usage
from slova.report.page import Page
from slova.report.sheets import Entry, count, number, sheet

__all__ = ["FileResults", "Model", "Values", "advised_page", "model_page"]

Values = Mapping[str, float | Estimate]

KNOWN = {
    "accuracy": "Accuracy ↑",
    "ece": "ECE ↓",
    "ece_mass": "ECE, equal mass ↓",
    "nll": "NLL ↓",
    "brier": "Brier score ↓",
    "mmc": "MMC",
    "aurc": "AURC ↓",
}
OOD = {"auroc": "AUROC ↑", "aupr": "AUPR ↑", "fpr95": "FPR95 ↓", "ood_mmc": "MMC ↓"}
LOOKS = {1: [("#0072b2", [1, 0])], 2: [("#777777", [6, 2]), ("#d55e00", [1, 0])]}  # colour and dash of each model
FILES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255")
INSIDE = "rows of a class"


@dataclass(frozen=True)
class FileResults:
    """The histogram of confidence of one file, its number of rows, and its metrics."""

    histogram: Ece
    rows: int
    values: Values


@dataclass(frozen=True)
class Model:
    """A model before or after calibration: `inside` are the rows of a class, `outside` the others by the name of their
    file. `ece` is that of the whole file, in which a row labelled NONE counts as wrong."""

    name: str
    ece: Ece
    inside: FileResults
    outside: Mapping[str, FileResults]
    selection: Selection


def model_page(
    title: str, lede: str, models: Sequence[Model], *, notices: Sequence[str] = (), tables: Sequence[Any] = ()
) -> Page:
    """The page of one model, or of a model before and after calibration; `notices` are what it says first, `tables`
    what it shows last."""
    panel = {
        "chart": "own",
        "heading": "Accuracy and calibration",
        "about": _about(models[0]),
        "notices": list(notices),
        "details": list(tables),
        "own": INSIDE,
        "methods": list(range(len(models))),
        "summary": _tables(models),
        "histograms": _histograms(models),
        "reliability": [point for place, model in enumerate(models) for point in _reliability(place, model.ece)],
        "densities": [
            {"test": name, **light_and_dark(FILES[place % len(FILES)])} for place, name in enumerate(_files(models[0]))
        ],
    }
    series = [
        {"name": model.name, "dash": dash, "chosen": True, **light_and_dark(colour)}
        for model, (colour, dash) in zip(models, LOOKS[len(models)], strict=True)
    ]
    footer = "Made by slova report. Nothing on this page is loaded from elsewhere."
    return Page(title, [lede], {"series": series, "panels": [panel]}, footer)


def advised_page(
    title: str,
    lede: str,
    models: Sequence[Model],
    details: Details,
    *,
    calibrated: bool,
    before: Usage | None = None,
    names: Sequence[str] | None = None,
    picture: Callable[[int], str | None] = lambda row: None,
) -> Page:
    """The page of one model, or of one before and after calibration; the advice is about the last.

    - details, before: of the last model, on the rows of the page and on earlier ones
    - calibrated: whether it has a calibrator
    - names, picture: names of the classes, and the image of a row
    """
    selection = models[-1].selection
    notices = verdict(models[-1].ece, selection, calibrated=calibrated)
    tables = detail_tables(details, selection, names, picture)
    if before is not None:
        notices.append(drift(before, details.usage))
        tables.append(drift_table(before, details.usage, names))
    return model_page(title, lede, models, notices=notices, tables=tables)


def _files(model: Model) -> dict[str, FileResults]:
    return {INSIDE: model.inside, **model.outside}


def _about(model: Model) -> str:
    if not model.outside:
        return "There are no out-of-distribution rows: add a file of such logits with --ood to see them here."
    if model.inside.rows == model.ece.count.sum():
        return "Every out-of-distribution file is distinguished from the rows of a class by confidence alone."
    return (
        "Rows labelled -1 count as wrong in the first table and in the reliability diagram, as in slova metrics; "
        "elsewhere they are out-of-distribution."
    )


def _histograms(models: Sequence[Model]) -> dict[str, Any]:
    """The histogram of each model on each file: by their numbers, in the same order."""
    tests = list(_files(models[0]))
    found = [(place, name, file) for place, model in enumerate(models) for name, file in _files(model).items()]
    return {
        "tests": tests,
        "series": [place for place, _, _ in found],
        "test": [tests.index(name) for _, name, _ in found],
        **bin_columns((own.count, own.hits, own.total) for own in (file.histogram for _, _, file in found)),
    }


def _reliability(series: int, state: Ece) -> list[dict[str, float]]:
    curve = Reliability.of(state)
    names = {"confidence": curve.confidence, "accuracy": curve.accuracy, "low": curve.low, "high": curve.high}
    points = [{name: round(float(column[i]), 5) for name, column in names.items()} for i in range(len(curve.count))]
    return [{"series": series, "rows": int(curve.count[i]), **point} for i, point in enumerate(points)]


def _tables(models: Sequence[Model]) -> list[dict[str, Any]]:
    known = [(Entry(model.name), *_known(model)) for model in models]
    heads = ("Model", "Rows", *KNOWN.values())
    notes = ["Accuracy with its exact 95 % interval.", *_within(known)]
    tables = [sheet("metrics", "All rows of the file", heads, known, notes)]
    others = [
        (Entry(name), Entry(model.name), count(found.rows), *(number(found.values.get(key)) for key in OOD))
        for name in models[0].outside
        for model in models
        for found in [model.outside[name]]
    ]
    if others:
        heads = ("Against the rows of a class", "Model", "Rows", *OOD.values())
        tables.append(sheet("out-of-distribution", "Out-of-distribution", heads, others, _within(others)))
    return tables


def _within(rows: Sequence[Sequence[Entry]]) -> list[str]:
    """What ± says, where a row has one: readers take it for a standard error otherwise."""
    bounded = any(" ± " in entry.text for row in rows for entry in row)
    return ["± is the largest error of a number that is computed from bins, not a standard error."] if bounded else []


def _known(model: Model) -> list[Entry]:
    state = model.ece
    columns = (state.count, state.hits, state.total, state.squares)
    interval = Reliability.of(Ece(*(column.sum(keepdims=True) for column in columns)))
    values = {name: number(model.inside.values[name]) for name in KNOWN}
    accuracy = values["accuracy"]
    said = f"{accuracy.text} ({interval.low[0]:.4f} to {interval.high[0]:.4f})"
    return [count(int(model.ece.count.sum())), *(values | {"accuracy": Entry(said, accuracy.value)}).values()]
