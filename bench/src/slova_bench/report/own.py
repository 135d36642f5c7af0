"""The page of one's own model: what `slova metrics` says of a file of logits, drawn, with every out-of-distribution
file beside it. With a map, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slova.metrics import Ece, Estimate, Reliability
from slova_bench.histograms import Histogram
from slova_bench.report.cells import Place, spots
from slova_bench.report.packed import packed
from slova_bench.report.page import Page
from slova_bench.report.series import Series, on_dark
from slova_bench.report.sheets import sheet
from slova_bench.tables import Column, Entry, Table
from slova_bench.tables.table import NOTHING, text

__all__ = ["Known", "Model", "Values", "own"]

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
FOREIGN = {"auroc": "AUROC ↑", "aupr": "AUPR ↑", "fpr95": "FPR95 ↓", "ood_mmc": "MMC ↓"}
BEFORE, AFTER, ONLY = ("#777777", [6, 2]), ("#d55e00", [1, 0]), ("#0072b2", [1, 0])
FILES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255")
INSIDE = "rows of a class"


@dataclass(frozen=True)
class Known:
    """What a model says of one file: its confidences, in blocks, and how many rows there are."""

    histograms: Sequence[Histogram]
    rows: int
    values: Values


@dataclass(frozen=True)
class Model:
    """A model before or after calibration: `inside` are the rows of a class, `outside` the others by the name of their
    file. `ece` is that of the whole file, in which a row labelled NONE counts as wrong."""

    name: str
    ece: Ece
    inside: Known
    outside: Mapping[str, Known]


def own(title: str, lede: str, models: Sequence[Model]) -> Page:
    index = {Series(model.name): place for place, model in enumerate(models)}
    names = [INSIDE, *models[0].outside]
    panel = {
        "id": "own",
        "experiment": "own",
        "on": "own",
        "chart": "own",
        "title": title,
        "heading": "How good, and how honest",
        "about": _about(models[0]),
        "own": INSIDE,
        "methods": list(index.values()),
        "summary": [sheet(table) for table in _tables(models)],
        "histograms": _histograms(models, index),
        "reliability": [point for place, model in enumerate(models) for point in _reliability(place, model.ece)],
        "densities": [{"test": name, **_colours(FILES[i % len(FILES)])} for i, name in enumerate(names)],
    }
    data = {
        "series": [_series(model, look) for model, look in zip(models, _looks(models), strict=True)],
        "metrics": {},
        "names": {"tests": {}, "shifts": {}},
        "sets": [{"on": "own", "name": ""}],
        "experiments": [["own", title]],
        "panels": [panel],
        "tables": [],
    }
    return Page(title, [lede], [], data, "Made by slova report. Nothing on this page is loaded from elsewhere.")


def _about(model: Model) -> str:
    if not model.outside:
        return "Without out-of-distribution rows: name a file of such logits with --ood to see them here."
    if model.inside.rows == model.ece.count.sum():
        return "Every out-of-distribution file is told from the rows of a class by confidence alone."
    return (
        "Rows labelled -1 count as wrong in the first table and in the reliability diagram, as in slova metrics; "
        "elsewhere they are out-of-distribution."
    )


def _looks(models: Sequence[Model]) -> list[tuple[str, list[int]]]:
    return [ONLY] if len(models) == 1 else [BEFORE, AFTER]


def _series(model: Model, look: tuple[str, list[int]]) -> dict[str, Any]:
    return {"key": model.name, "name": model.name, "dash": look[1], "chosen": True, **_colours(look[0])}


def _colours(colour: str) -> dict[str, str]:
    return {"light": colour, "dark": on_dark(colour)}


def _histograms(models: Sequence[Model], index: Mapping[Series, int]) -> dict[str, Any]:
    found = {
        Place(Series(model.name), name, "", 0.0): known.histograms
        for model in models
        for name, known in {INSIDE: model.inside, **model.outside}.items()
    }
    return {**spots(list(found), index), "packed": packed(found.values())}


def _reliability(series: int, state: Ece) -> list[dict[str, float]]:
    curve = Reliability.of(state)
    names = {"confidence": curve.confidence, "accuracy": curve.accuracy, "low": curve.low, "high": curve.high}
    points = [{name: round(float(column[i]), 5) for name, column in names.items()} for i in range(len(curve.count))]
    return [{"series": series, "rows": int(curve.count[i]), **point} for i, point in enumerate(points)]


def _tables(models: Sequence[Model]) -> list[Table]:
    known = [(text(model.name), *_known(model)) for model in models]
    heads = ("Model", "Rows", *KNOWN.values())
    notes = ("Accuracy with its exact 95 % interval.",)
    tables = [Table("metrics", "All rows of the file", tuple(map(Column, heads)), tuple(known), notes)]
    foreign = [
        (text(name), text(model.name), _count(found.rows), *(_number(found.values.get(key)) for key in FOREIGN))
        for name in models[0].outside
        for model in models
        for found in [model.outside[name]]
    ]
    heads = ("Told from the rows of a class", "Model", "Rows", *FOREIGN.values())
    if foreign:
        tables.append(Table("out-of-distribution", "Out-of-distribution", tuple(map(Column, heads)), tuple(foreign)))
    return tables


def _known(model: Model) -> list[Entry]:
    whole = Ece(*(column.sum(keepdims=True) for column in _columns(model.ece)))
    interval = Reliability.of(whole)
    values = {name: _number(model.inside.values[name]) for name in KNOWN}
    accuracy = values["accuracy"]
    said = f"{accuracy.text} ({interval.low[0]:.4f} to {interval.high[0]:.4f})"
    return [_count(int(model.ece.count.sum())), *(values | {"accuracy": Entry(said, accuracy.value)}).values()]


def _columns(state: Ece) -> tuple[Any, ...]:
    return state.count, state.hits, state.total, state.squares


def _count(rows: int) -> Entry:
    return Entry(f"{rows:,}", rows)


def _number(value: float | Estimate | None) -> Entry:
    """Four digits, and the bound of a value that is only known within one, where four digits show it."""
    if value is None:
        return Entry(NOTHING)
    if isinstance(value, Estimate):
        bound = f" ± {value.bound:.1g}" if value.bound > 5e-5 else ""
        return Entry(f"{value.value:.4f}{bound}", float(value.value))
    return Entry(f"{value:.4f}" if abs(value) != float("inf") else "∞", float(value))
