"""What could explain that quartiles over shifts differ from the paper's (Appendix C): the share of noise in the
calibration set of SLOVA, the severities, the bins of the ECE, the training, and its augmentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slova_bench import labels
from slova_bench.frame import NAME, SET, Frame, names, per_seed, quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import counted, label, measured, methods_table, of_quartiles, once
from slova_bench.tables.quartiles import published_quartiles
from slova_bench.tables.table import Column, Table, table, text

__all__ = ["make"]

SEVERITIES = (5, 4)
BINS = (10, 100)
TRAININGS = {  # by preset
    "authors": "defaults of SLOVA's code",
    "interpolated": "augmentation of SLOVA's code",
    "searched": "best of a random search",
    "small_batch": "batches of 128",
}
AUGMENTATION = "interpolated"
FITS = ("ensemble_temperature", "slova_paper_fit", "slova_clean")  # shown beside the methods of the paper


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """By the share of noise; and by severities, bins and trainings, where there are rows of `shift`."""
    paper = results.paper
    by_noise = {"recipe of the comparison": results.rows("noise", on)}
    other = results.rows("noise", on, preset=AUGMENTATION)
    by_noise |= {_counted(AUGMENTATION, other): other} if len(other) else {}
    tables = [_table("by the share of noise in the calibration set of SLOVA", "ece", by_noise, paper, on)]
    if on not in results.sets("shift"):
        return tuple(tables)
    both = results.rows("shift", on), results.histograms("shift", on)
    rows, histograms = (_compared(found, paper) for found in both)
    by_severity = {f"severities up to {level}": rows[rows["level"] <= level] for level in SEVERITIES}
    by_bins = {f"{bins} bins": _binned(histograms, bins) for bins in BINS}
    tables += [_table("without the greatest severity", metric, by_severity, paper, on) for metric in ("ece", "brier")]
    tables.append(_table("by the number of its bins", "ece", by_bins, paper, on))
    trained = {name: _compared(results.rows("shift", on, preset=name), paper) for name in TRAININGS}
    if common := {method for part in trained.values() for method in part["method"]}:
        by_training = {"recipe of the comparison": rows[rows["method"].isin(common)]}
        by_training |= {_counted(name, part): part for name, part in trained.items() if len(part)}
        metrics = ("ece", "brier", "accuracy")
        tables += [_table("by the training", metric, by_training, paper, on) for metric in metrics]
    tables.append(_by_augmentation(results, on))
    return tuple(one for one in tables if one.rows)


def _counted(preset: str, rows: Frame) -> str:
    """The training of a preset, and the number of its seeds."""
    count = rows["seed"].nunique()
    return f"{TRAININGS[preset]}, {count} seed{'s' * (count > 1)}"


def _compared(found: Frame, paper: Frame) -> Frame:
    """The methods of the paper and further fits of them, under the shifts of the paper."""
    methods = [*published.counterparts(paper, "shift", ()), *FITS]
    return where(found, method=methods, variant="", shift=["", *shift_groups(found)[0]])


def _table(words: str, metric: str, parts: Mapping[str, Frame], paper: Frame, on: str) -> Table:
    """The quartiles of each part, and those of the paper."""
    first = next(iter(parts.values()))
    columns = [counted(quartiles(first, metric, shift_groups(first)[0])[50])]
    for group, rows in parts.items():
        columns += of_quartiles(rows, [metric], shift_groups(rows)[0], group=group, judged=False)
    for share, theirs in published_quartiles(paper, (), on, metric).items():
        own = {name: theirs[name[0], ""] for name in names(first) if (name[0], "") in theirs}
        columns.append(measured(metric, once(own), "paper", f"{share} %", judged=False))
    name = f"differences-{metric}-{words.rpartition(' ')[2].lower()}-{on}"
    return methods_table(name, f"Quartiles of the {labels.metric(metric).name} {words}, {labels.set_name(on)}", columns)


def _by_augmentation(results: ResultsFolder, on: str) -> Table:
    """The accuracy on clean images and under each shift, the mean over severities, at the seeds of both trainings."""
    other = results.rows("shift", on, preset=AUGMENTATION)
    rows = where(results.rows("shift", on), seed=other["seed"].unique(), variant="")
    shifts, columns = sorted(other["shift"].unique()), list[Column]()
    columns.append(Column("Shift", entries={shift: text(labels.shift_name(shift)) for shift in shifts}))
    for name in names(where(other, method=["softmax", "slova"])):
        for words, part in (("recipe of the comparison", rows), (TRAININGS[AUGMENTATION], other)):
            groups = where(part, method=name[0], metric="accuracy").groupby("shift")
            values = {shift: per_seed(own)[name] for shift, own in groups}
            columns.append(measured("accuracy", values, label(name), words, judged=False))
    count = other["seed"].nunique()
    title = f"Accuracy by the shift and the augmentation of the training, {labels.set_name(on)}"
    notes = [f"Means over the severities; {count} seed{'s' * (count != 1)}, the same for both trainings."]
    return table(f"differences-augmentation-{on}", title, columns, shifts, notes=notes)


def _binned(histograms: Frame, bins: int) -> Frame:
    """The ECE of each histogram with fewer bins of equal width, as rows."""

    def ece(counts: Any) -> float:
        predictions, hits, confidence = counts.reshape(3, bins, -1).sum(axis=-1)
        return float(np.abs(hits - confidence).sum() / predictions.sum())

    return histograms.assign(metric="ece", value=histograms["bins"].map(ece))[[*NAME, *SET, "seed", "metric", "value"]]
