"""The overview, one row per method: the clean test set, medians over shifts and held-out shifts, OOD data and noise."""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import NAME, quartiles, seed_counts, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.assembly import measured, methods_table, of_places
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.table import Column, Table, text

__all__ = ["make"]

NOTES = (
    "The sixteen shifts of the medians were in view while the distance-aware methods were developed; held-out shifts "
    "(motion blur, snow, JPEG compression) were not.",
    "OOD: means over real sets. Noise is apart: two of its three kinds are in the outliers of NONE in training.",
    "Flip test-time augmentation is two passes, ensembles are five.",
)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """Methods without OOD rows have no numbers in the OOD columns; those that only score have no confidence of their
    own."""
    rows = results.rows("shift", on)
    ood = results.rows("ood", on) if on in results.sets("ood") else rows.iloc[:0]
    counts = [seed_counts(part, *NAME).astype(str) for part in (rows, ood)]
    seeds = {
        name: text(", ".join(dict.fromkeys(count[name] for count in counts if name in count.index)))
        for found in counts
        for name in found.index
    }
    shifts, *more = shift_groups(rows)
    others = {*(more[0] if more else ())} - {*shifts}
    held_out = where(rows, shift=others)  # without the clean set
    outside = ood[(ood["test"] != f"{on}-test") & ~(ood["method"].isin(labels.SCORES) & (ood["metric"] == "mmc"))]
    mark, real = results.mark("ood", on), outside["test"].str.endswith("-test")
    columns = [
        Column("Seeds", entries=seeds),
        *of_places({"clean": where(rows, shift="")}, "accuracy", "ece"),
        *(measured(metric, quartiles(rows, metric, shifts)[50], "median") for metric in METRICS),
        *(measured(m, quartiles(held_out, m, others)[50], "held-out") for m in ("ece", "nll") if len(held_out)),
        *of_places({f"OOD{mark}": outside[real]}, "mmc", "auroc"),
        *of_places({f"noise{mark}": outside[~real]}, "auroc"),
    ]
    return (methods_table(f"overview-{on}", f"{labels.set_name(on)} at a glance", columns, notes=NOTES),)
