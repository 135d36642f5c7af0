"""What could explain that quartiles over shifts differ from the paper's (Appendix C): the share of noise in the
calibration set of SLOVA, the severities, the bins of the ECE, and the training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slova_bench import labels
from slova_bench.frame import NAME, QUARTILES, SET, Frame, names, quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import published
from slova_bench.tables.assembly import Part, counted, measured, methods_table, shown
from slova_bench.tables.table import Column, Table

__all__ = ["make"]

SEVERITIES = (5, 4)
BINS = (10, 100)
TRAININGS = {  # by preset
    "authors": "recipe of SLOVA's authors",
    "searched": "best of a random search",
    "small_batch": "batches of 128",
}
FITS = ("ensemble_temperature", "slova_paper_fit", "slova_clean")  # shown beside the methods of the paper


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """By the share of noise; and by severities, bins and trainings, where there are rows of `shift`."""
    noise, paper = results.rows("noise", on), results.paper
    tables = [_table("by the share of noise in the calibration set of SLOVA", "ece", {"here": noise}, paper, on)]
    if on in results.sets("shift"):
        rows, histograms = (
            _compared(found, paper) for found in (results.rows("shift", on), results.histograms("shift", on))
        )
        parts = {f"severities up to {level}": rows[rows["level"] <= level] for level in SEVERITIES}
        tables += [_table("without the greatest severity", metric, parts, paper, on) for metric in ("ece", "brier")]
        parts = {f"{bins} bins": _binned(histograms, bins) for bins in BINS}
        tables.append(_table("by the number of its bins", "ece", parts, paper, on))
        tables += _by_training(results, rows, on)
    return tuple(tables)


def _by_training(results: ResultsFolder, rows: Frame, on: str) -> list[Table]:
    """Other recipes beside that of the comparison, for the methods that have them."""
    found = {
        words: _compared(results.rows("shift", on, preset=name), results.paper) for name, words in TRAININGS.items()
    }
    counts = {words: part["seed"].nunique() for words, part in found.items()}
    others = {f"{words}, {n} seed{'s' * (n > 1)}": found[words] for words, n in counts.items() if n}
    if not others:
        return []
    common = {method for part in others.values() for method in part["method"]}
    parts = {"recipe of the comparison": rows[rows["method"].isin(common)], **others}
    return [_table("by the training", metric, parts, results.paper, on) for metric in ("ece", "brier", "accuracy")]


def _compared(found: Frame, paper: Frame) -> Frame:
    """The methods of the paper and further fits of them, under the shifts of the paper."""
    methods = [*published.counterparts(paper, "shift", ()), *FITS]
    return where(found, method=methods, variant="", shift=["", *shift_groups(found)[0]])


def _table(words: str, metric: str, parts: Mapping[str, Frame], paper: Frame, on: str) -> Table:
    """The quartiles of each part, and those of the paper."""
    columns = list[Part]()
    for group, rows in parts.items():
        found = quartiles(rows, metric, shift_groups(rows)[0])
        columns += [] if columns else [counted(found[50])]
        columns += [measured(Column(f"{q} %", group), metric, values, judged=False) for q, values in found.items()]
    run = names(next(iter(parts.values())))
    for q in QUARTILES:
        theirs = published.numbers(paper, (), experiment="shift", train=f"{on}-train", metric=f"{metric}_q{q}")
        entries = {name: shown(metric, theirs[name[0], ""]) for name in run if (name[0], "") in theirs}
        columns.append(Part(Column(f"{q} %", "paper", paper=True), entries))
    name = f"differences-{metric}-{words.rpartition(' ')[2].lower()}-{on}"
    return methods_table(name, f"Quartiles of the {labels.metric(metric).name} {words}, {labels.set_name(on)}", columns)


def _binned(histograms: Frame, bins: int) -> Frame:
    """The ECE of each histogram with fewer bins of equal width, as rows."""
    values = [_ece(counts, bins) for counts in histograms["bins"]]
    return histograms.assign(metric="ece", value=values)[[*NAME, *SET, "seed", "metric", "value"]]


def _ece(counts: NDArray[np.float64], bins: int) -> float:
    predictions, hits, confidence = counts.reshape(3, bins, -1).sum(axis=-1)
    return float(np.abs(hits - confidence).sum() / predictions.sum())
