"""The overview, one row per method: the clean test set, medians over shifts and held-out shifts, OOD data and noise."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import NAME, Frame, Name, per_seed, quartiles, seed_counts, shift_groups, where
from slova_bench.labels import SCORES
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import Part, methods_table, of_metric
from slova_bench.tables.table import Column, Table, text

__all__ = ["make"]

CLEAN, SHIFTED, OOD = ("accuracy", "ece"), ("ece", "nll", "brier"), ("mmc", "auroc")
NOTES = (
    "The sixteen shifts of the medians were in view while the distance-aware methods were developed; held-out shifts "
    "(motion blur, snow, JPEG compression) were not.",
    "OOD: means over real sets. Noise is apart: two of its three kinds are in the outliers of NONE in training.",
    "Flip test-time augmentation is two passes, ensembles are five.",
)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Methods without OOD rows have no numbers in the OOD columns."""
    rows = results.rows("shift", on)
    ood = results.rows("ood", on) if on in results.sets("ood") else rows.iloc[:0]
    mark, real = results.mark("ood", on), ood["test"].str.endswith("-test")
    parts = [_seeds(rows, ood), *_clean(rows), *_shifted(rows), *_held_out(rows)]
    parts += [*_ood(ood[real], f"{on}-test", f"OOD{mark}"), *_ood(ood[~real], f"{on}-test", f"noise{mark}")[-1:]]
    return (methods_table(f"overview-{on}", f"{labels.set_name(on)} at a glance", parts, notes=NOTES),)


def _seeds(rows: Frame, ood: Frame) -> Part:
    """The number of seeds, and the number on OOD sets where it differs."""
    counts = [seed_counts(part, *NAME).to_dict() for part in (rows, ood)]
    words: dict[Name, list[str]] = {
        name: [str(count[name]) for count in counts if name in count] for name in {**counts[0], **counts[1]}
    }
    return Part(Column("Seeds"), {name: text(", ".join(dict.fromkeys(found))) for name, found in words.items()})


def _clean(rows: Frame) -> list[Part]:
    return [of_metric(metric, per_seed(where(rows, shift="", metric=metric)), "clean") for metric in CLEAN]


def _shifted(rows: Frame) -> list[Part]:
    shifts = shift_groups(rows)[0]
    return [of_metric(metric, quartiles(rows, metric, shifts)[50], "median") for metric in SHIFTED]


def _held_out(rows: Frame) -> list[Part]:
    """Medians over the shifts that are not in the paper and were not in view, without the clean set."""
    own, *more = shift_groups(rows)
    shifts = set(more[0]) - set(own) if more else set()
    held = where(rows, shift=shifts)
    return [of_metric(m, quartiles(held, m, shifts)[50], "held-out") for m in ("ece", "nll") if len(held)]


def _ood(rows: Frame, inside: str, group: str) -> list[Part]:
    """Means over the OOD sets. Methods that only score have no confidence of their own."""
    outside = rows[rows["test"] != inside]
    outside = outside[(outside["metric"] != "mmc") | ~outside["method"].isin(SCORES)]
    found = {metric: per_seed(where(outside, metric=metric)) for metric in OOD}
    return [of_metric(metric, values, group) for metric, values in found.items() if values]
