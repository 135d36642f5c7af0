"""Confidence on what belongs to no class (Table 1), and how well it tells such images from those of the test set.

MMC alone rewards whoever is never sure, so that on the test set stands beside it. A score that only ranks images has
softmax's error and confidence and is listed where it ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slova_bench import labels
from slova_bench.labels import SCORES
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, by_method, counted, from_paper, in_order, label, measured, methods_table
from slova_bench.tables.table import Column, Table

__all__ = ["DETECTION", "NO_DATA", "foreign", "is_data", "make"]

DETECTION = ("auroc", "fpr95", "aupr")
NO_DATA = "no data"
UNCALIBRATED = "The paper reads SLOVA here without calibration: its numbers answer to both rows of ours."


def make(evidence: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Table 1 with the test set's own confidence, then one table a detection metric."""
    rows = evidence.rows("ood", on)
    return (_confidence(rows, evidence.paper, on), *(_detection(rows, on, metric) for metric in DETECTION))


def foreign(rows: Iterable[Row], paper: Iterable[Row], on: str) -> list[str]:
    """The sets that are not the test set: the paper's and ours, data sets first, then what is made from nothing."""
    theirs = [row for row in paper if row.experiment == "ood" and row.train == f"{on}-train"]
    tests = {row.test for row in (*rows, *theirs)} - {f"{on}-test"}
    order = list(labels.SETS)
    return sorted(tests, key=lambda test: (not is_data(test), _place(order, test.partition("-")[0]), test))


def is_data(test: str) -> bool:
    """Whether a set is a data set's split, not noise and the like."""
    return test.endswith("-test")


def _confidence(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Table:
    own, inside = [row for row in rows if row.method not in SCORES], f"{on}-test"
    theirs = [row for row in paper if row.experiment == "ood" and row.train == f"{on}-train"]
    within = measured(Column(f"MMC, {labels.set_name(on)}"), "mmc", _values(own, inside, "mmc"), judged=False)
    parts = [counted(_values(own, inside, "error")), *_beside(own, theirs, inside, "error"), within]
    parts += [part for test in foreign(rows, paper, on) for part in _beside(own, theirs, test, "mmc")]
    title = f"Error and mean confidence (MMC) of networks trained on {labels.set_name(on)}"
    return methods_table(f"ood-mmc-{on}", title, parts, notes=_notes(rows, theirs))


def _beside(rows: Sequence[Row], theirs: Sequence[Row], test: str, metric: str) -> list[Part]:
    """Ours on a set, and the paper's where it has any."""
    name = labels.metric(metric).name
    head, group = ("ours", name) if metric == "error" else (name, labels.set_name(test))
    column, values = Column(f"{head} {labels.better(metric)}", group), _values(rows, test, metric)
    own = measured(column, metric, values) if values else Part(column, {}, NO_DATA)
    said = published.numbers(theirs, {row.method for row in rows}, test=test, metric=metric)
    return [own, from_paper(Column("paper", group), metric, said)] if said else [own]


def _detection(rows: Sequence[Row], on: str, metric: str) -> Table:
    tests = foreign(rows, (), on)
    values = [_values(rows, test, metric) for test in tests]
    parts = [measured(Column(labels.set_name(t)), metric, v) for t, v in zip(tests, values, strict=True)]
    name = f"{labels.metric(metric).name} {labels.better(metric)}"
    title = f"{name}: test images of {labels.set_name(on)} told from those of other sets"
    counts = counted(_values(rows, f"{on}-test", "error"))
    return methods_table(f"ood-{metric}-{on}", title, [counts, *parts], aside=metric == "aupr")


def _notes(rows: Sequence[Row], theirs: Sequence[Row]) -> list[str]:
    names = in_order({(row.method, row.variant) for row in rows})
    scores = "; ".join(label(name) for name in names if name[0] in SCORES)
    repeat = f"Left out, because they repeat softmax's error and confidence: {scores}." if scores else ""
    return [repeat, *((UNCALIBRATED, published.said(names)) if theirs else ())]


def _values(rows: Iterable[Row], test: str, metric: str) -> dict[tuple[str, str], dict[int, float]]:
    return by_method(row for row in rows if row.test == test and row.metric == metric)


def _place(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)
