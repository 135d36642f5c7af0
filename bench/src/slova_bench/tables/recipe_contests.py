"""The image recipe against each rival, at common seeds: differences, and the quartiles over shifts that it wins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slova_bench import labels
from slova_bench.frame import QUARTILES, Frame, Name, names, per_seed, quartiles, where
from slova_bench.frame import Column as Values
from slova_bench.tables.assembly import label
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.recipe_groups import (
    ENSEMBLES,
    GROUPS,
    REAL,
    VIEWS,
    augmentation_of,
    group_of,
    ood_groups,
    paper_shifts,
    real,
)
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import NOTHING, Column, Entry, Table, number, text

__all__ = ["make"]

RECIPES = ("slova_image_mixed", "slova_image")
CONTESTS = {  # ours, and the groups of its rivals
    f"{recipe}{kind}": groups
    for recipe in RECIPES
    for kind, groups in {
        "": tuple(group for group in GROUPS if group != VIEWS),
        "_ensemble": (ENSEMBLES,),
        "_flip": (VIEWS,),
    }.items()
}
NOTES = (
    "Rivals have the same augmentation, or one of their own. Differences are the image recipe minus the rival, at "
    "common seeds; those of accuracy are in points. Cells are the quartiles over the clean set and the shifts that the "
    "image recipe has lower, by means over these seeds; the excess is its largest relative loss in a cell, negative "
    "where it is lower in all.",
)


def make(rows: Frame, on: str, name: str, title: str) -> Table:
    """One row per pair with common seeds; columns without values in any row are left out."""
    rows = rows[~rows["method"].isin(labels.SCORES)]
    differences = {key: values for key, values in _differences(rows, on).items() if values}
    cells = {metric: quartiles(rows, metric, paper_shifts(rows)) for metric in METRICS}
    columns = [Column("Method"), Column("Against"), Column("Seeds")]
    columns += [Column(labels.head(metric), group) for group, metric in differences]
    for metric in METRICS:
        columns += [Column("cells", labels.metric(metric).name), Column("excess", labels.metric(metric).name)]
    pairs = [(pair, len(_common(cells["ece"][50], *pair))) for pair in _pairs(rows)]
    lines = [
        (
            *(text(label(one)) for one in pair),
            text(seeds),
            *(_difference(metric, values, *pair) for (_, metric), values in differences.items()),
            *(entry for found in cells.values() for entry in _cells(found, *pair)),
        )
        for pair, seeds in pairs
        if seeds
    ]
    return Table(name, title, tuple(columns), tuple(lines), NOTES)


def _pairs(rows: Frame) -> Iterator[tuple[Name, Name]]:
    there = names(rows)
    rivals = [name for name in there if not name[0].startswith("slova_image")]
    recipe = next((name for name in RECIPES if (name, "") in there), "")
    for ours, groups in CONTESTS.items():
        equal = (augmentation_of(ours), *(("its own",) if ours == recipe else ()))
        those = [name for name in rivals if group_of(name[0]) in groups and augmentation_of(name[0]) in equal]
        those = those if (ours, "") in there else []
        yield from (((ours, ""), name) for name in sorted(those, key=lambda name: groups.index(group_of(name[0]))))


def _differences(rows: Frame, on: str) -> dict[tuple[str, str], Values]:
    clean, shifted = where(rows, shift=""), where(rows, shift=paper_shifts(rows))
    found = {("clean", "accuracy"): clean, ("clean", "ece"): clean, ("shifted", "ece"): shifted}
    found |= {(group, "auroc"): own for group, own in ood_groups(rows, on).items()}
    found[REAL, "confidence"] = real(rows, on)
    return {key: per_seed(where(own, metric=key[1]), whole=True) for key, own in found.items()}


def _common(values: Values, ours: Name, theirs: Name) -> list[int]:
    return sorted(values.get(ours, {}).keys() & values.get(theirs, {}).keys())


def _difference(metric: str, values: Values, ours: Name, theirs: Name) -> Entry:
    gaps = {seed: values[ours][seed] - values[theirs][seed] for seed in _common(values, ours, theirs)}
    if not gaps:
        return Entry(NOTHING)
    found = estimate(gaps)
    entry = number(found.mean, error=found.error, percent=metric == "accuracy")
    return Entry(f"+{entry.text}" if found.mean > 0 else entry.text.replace("-", "−"), entry.value, entry.error)


def _cells(found: dict[int, Values], ours: Name, theirs: Name) -> tuple[Entry, Entry]:
    """How many quartiles are lower, and the largest relative excess."""
    seeds = _common(found[QUARTILES[0]], ours, theirs)
    pairs = [
        [float(np.mean([found[share][name][seed] for seed in seeds])) for name in (ours, theirs)] for share in QUARTILES
    ]
    excess = max(one / max(other, 1e-12) - 1 for one, other in pairs)
    won = sum(one < other for one, other in pairs)
    return text(f"{won} of {len(pairs)}"), Entry(f"{100 * excess:+.1f} %".replace("-", "−"), excess)
