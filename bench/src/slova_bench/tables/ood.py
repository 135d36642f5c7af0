"""Confidence on OOD data (Table 1), and how well it separates OOD images from test images.

The MMC alone rewards methods that are never confident, so the MMC on the test set is shown next to it. Methods that
only rank images have the error and confidence of softmax and appear only in the tables of detection metrics.
"""

from __future__ import annotations

from collections.abc import Iterable

from slova_bench import labels
from slova_bench.frame import Column as Values
from slova_bench.frame import Frame, names, per_seed, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import counted, label, measured, methods_table, once
from slova_bench.tables.table import Column, Table

__all__ = ["is_data", "make", "ood_names"]

DETECTION = ("auroc", "fpr95", "aupr")
UNCALIBRATED = "The paper uses SLOVA without calibration here: its numbers are shown next to both of our rows."


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Table 1 with the confidence on the test set, of networks with the published recipe too; then one table per
    detection metric."""
    rows, original = results.rows("ood", on), results.rows("ood", on, preset="paper")
    tables = [_confidence(rows, results.paper, on)]
    if not original.empty:
        tables.append(_confidence(original, results.paper, on, " with the published recipe", "-paper"))
    return (*tables, *(_detection(rows, on, metric) for metric in DETECTION))


def ood_names(tests: Iterable[str], on: str) -> list[str]:
    """The OOD sets among these: data sets first, then synthetic sets."""
    places = {name: place for place, name in enumerate(labels.SETS)}
    outside = {*tests} - {f"{on}-test"}
    return sorted(outside, key=lambda test: (not is_data(test), places.get(test.partition("-")[0], len(places)), test))


def is_data(test: str) -> bool:
    """Whether a set is a split of a data set rather than synthetic."""
    return test.endswith("-test")


def _confidence(rows: Frame, paper: Frame, on: str, how: str = "", suffix: str = "") -> Table:
    own, inside = rows[~rows["method"].isin(labels.SCORES)], f"{on}-test"
    theirs = where(paper, experiment="ood", train=f"{on}-train")
    columns = [counted(_values(own, inside, "error")), *_beside(own, theirs, inside, "error")]
    columns.append(measured("mmc", _values(own, inside, "mmc"), head=f"MMC, {labels.set_name(on)}", judged=False))
    for test in ood_names((*rows["test"], *theirs["test"]), on):
        columns += _beside(own, theirs, test, "mmc")
    run = names(rows)
    scores = "; ".join(label(name) for name in run if name[0] in labels.SCORES)
    notes = [f"Left out, because they repeat softmax's error and confidence: {scores}." if scores else ""]
    notes += [UNCALIBRATED, published.stand_in_note(run)] if len(theirs) else []
    title = f"Error and mean confidence (MMC) of networks trained{how} on {labels.set_name(on)}"
    return methods_table(f"ood-mmc{suffix}-{on}", title, columns, notes=notes)


def _beside(rows: Frame, theirs: Frame, test: str, metric: str) -> list[Column]:
    """Our values on a set, and those of the paper if it has any."""
    name, values = labels.metric(metric).name, _values(rows, test, metric)
    head, group = ("ours", name) if metric == "error" else (name, labels.set_name(test))
    head = f"{head} {labels.better(metric)}"
    own = measured(metric, values, group, head) if values else Column(head, group, missing="no data")
    of_paper = published.numbers(theirs, rows["method"].unique(), test=test, metric=metric)
    if ("slova", "") in of_paper:
        of_paper["slova_raw", ""] = of_paper["slova", ""]
    return [own, measured(metric, once(of_paper), group, "paper")] if of_paper else [own]


def _detection(rows: Frame, on: str, metric: str) -> Table:
    columns = [counted(_values(rows, f"{on}-test", "error"))]
    for test in ood_names(rows["test"], on):
        columns.append(measured(metric, _values(rows, test, metric), head=labels.set_name(test)))
    title = f"{labels.head(metric)}: test images of {labels.set_name(on)} distinguished from images of other sets"
    return methods_table(f"ood-{metric}-{on}", title, columns, aside=metric == "aupr")


def _values(rows: Frame, test: str, metric: str) -> Values:
    return per_seed(where(rows, test=test, metric=metric))
