"""Confidence on OOD data (Table 1), and how well it separates OOD images from test images.

The MMC alone rewards methods that are never confident, so the MMC on the test set is shown next to it. Methods that
only rank images have the error and confidence of softmax and appear only in the tables of detection metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slova_bench import labels
from slova_bench.frame import Column as Values
from slova_bench.frame import Frame, names, per_seed, where
from slova_bench.labels import SCORES
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, counted, from_paper, label, measured, methods_table
from slova_bench.tables.table import Column, Table

__all__ = ["DETECTION", "NO_DATA", "is_data", "make", "ood_names"]

DETECTION = ("auroc", "fpr95", "aupr")
NO_DATA = "no data"
UNCALIBRATED = "The paper uses SLOVA without calibration here: its numbers are shown next to both of our rows."


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Table 1 with the confidence on the test set, of networks trained as published too; then one table per detection
    metric."""
    rows, original = results.rows("ood", on), results.rows("ood", on, preset="paper")
    tables = [_confidence(rows, results.paper, on)]
    if not original.empty:
        tables.append(_confidence(original, results.paper, on, " as published", "-paper"))
    return (*tables, *(_detection(rows, on, metric) for metric in DETECTION))


def ood_names(tests: Iterable[str], on: str) -> list[str]:
    """The OOD sets among these: data sets first, then synthetic sets."""
    order = list(labels.SETS)
    return sorted(
        {*tests} - {f"{on}-test"}, key=lambda test: (not is_data(test), _place(order, test.partition("-")[0]), test)
    )


def is_data(test: str) -> bool:
    """Whether a set is a split of a data set rather than synthetic."""
    return test.endswith("-test")


def _confidence(rows: Frame, paper: Frame, on: str, how: str = "", suffix: str = "") -> Table:
    own, inside = rows[~rows["method"].isin(SCORES)], f"{on}-test"
    theirs = where(paper, experiment="ood", train=f"{on}-train")
    within = measured(Column(f"MMC, {labels.set_name(on)}"), "mmc", _values(own, inside, "mmc"), judged=False)
    parts = [counted(_values(own, inside, "error")), *_beside(own, theirs, inside, "error"), within]
    parts += [
        part for test in ood_names((*rows["test"], *theirs["test"]), on) for part in _beside(own, theirs, test, "mmc")
    ]
    title = f"Error and mean confidence (MMC) of networks trained{how} on {labels.set_name(on)}"
    return methods_table(f"ood-mmc{suffix}-{on}", title, parts, notes=_notes(rows, theirs))


def _beside(rows: Frame, theirs: Frame, test: str, metric: str) -> list[Part]:
    """Our values on a set, and those of the paper if it has any."""
    name = labels.metric(metric).name
    head, group = ("ours", name) if metric == "error" else (name, labels.set_name(test))
    column, values = Column(f"{head} {labels.better(metric)}", group), _values(rows, test, metric)
    own = measured(column, metric, values) if values else Part(column, {}, NO_DATA)
    of_paper = published.numbers(theirs, rows["method"].unique(), test=test, metric=metric)
    if ("slova", "") in of_paper:
        of_paper["slova_raw", ""] = of_paper["slova", ""]
    return [own, from_paper(Column("paper", group), metric, of_paper)] if of_paper else [own]


def _detection(rows: Frame, on: str, metric: str) -> Table:
    tests = ood_names(rows["test"], on)
    values = [_values(rows, test, metric) for test in tests]
    parts = [measured(Column(labels.set_name(t)), metric, v) for t, v in zip(tests, values, strict=True)]
    title = f"{labels.head(metric)}: test images of {labels.set_name(on)} distinguished from images of other sets"
    counts = counted(_values(rows, f"{on}-test", "error"))
    return methods_table(f"ood-{metric}-{on}", title, [counts, *parts], aside=metric == "aupr")


def _notes(rows: Frame, theirs: Frame) -> list[str]:
    run = names(rows)
    scores = "; ".join(label(name) for name in run if name[0] in SCORES)
    repeat = f"Left out, because they repeat softmax's error and confidence: {scores}." if scores else ""
    return [repeat, *((UNCALIBRATED, published.stand_in_note(run)) if len(theirs) else ())]


def _values(rows: Frame, test: str, metric: str) -> Values:
    return per_seed(where(rows, test=test, metric=metric))


def _place(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)
