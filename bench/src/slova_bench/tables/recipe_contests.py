"""The image recipe against each rival, at common seeds: differences, and the quartiles over shifts that it wins."""

from __future__ import annotations

from collections.abc import Iterator

from slova_bench import labels
from slova_bench.frame import Column as Values
from slova_bench.frame import Frame, names, per_seed, quartiles, shift_groups, where
from slova_bench.labels import look
from slova_bench.tables.assembly import paired
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.recipe_groups import ENSEMBLES, GROUPS, REAL, VIEWS, ood_groups, real
from slova_bench.tables.seeds import at_common_seeds, estimate, mean
from slova_bench.tables.table import Column, Entry, Table, number, table, text

__all__ = ["make"]

RECIPES = ("slova_image_mixed", "slova_image")
RIVALS = {"": tuple(group for group in GROUPS if group != VIEWS), "_ensemble": (ENSEMBLES,), "_flip": (VIEWS,)}
NOTES = (
    "Rivals have the same augmentation, or one of their own. Differences are the image recipe minus the rival, at "
    "common seeds; those of accuracy are in points. Cells are the quartiles over the clean set and the shifts that the "
    "image recipe has lower, by means over these seeds; the excess is its largest relative loss in a cell, negative "
    "where it is lower in all.",
)
Pair = tuple[str, str]  # ours and its rival
Seeds = dict[int, float]


def make(rows: Frame, on: str, name: str, title: str) -> Table:
    """One row per pair with common seeds; columns without values in any row are left out."""
    rows = rows[~rows["method"].isin(labels.SCORES)]
    cells = {metric: quartiles(rows, metric, shift_groups(rows)[0]) for metric in METRICS}
    seeds = {pair: len(both[0]) for pair in _pairs(rows) if (both := _common(cells["ece"][50], pair))}
    columns, pairs = paired(seeds), list(seeds)
    for (group, metric), values in _differences(rows, on).items():
        entries = {pair: _difference(metric, *both) for pair in pairs if (both := _common(values, pair))}
        columns += [Column(labels.head(metric), group, entries)] if values else []
    for metric, found in cells.items():
        counts, group = {pair: _cells(found, pair) for pair in pairs}, labels.metric(metric).name
        columns.append(Column("cells", group, {pair: won for pair, (won, _) in counts.items()}))
        columns.append(Column("excess", group, {pair: excess for pair, (_, excess) in counts.items()}))
    return table(name, title, columns, pairs, notes=NOTES)


def _pairs(rows: Frame) -> Iterator[Pair]:
    """Our readouts with the rivals that were trained with the same images, or, of the first recipe there is, with
    images of their own."""
    there = [method for method, _ in names(rows)]
    rivals = [method for method in there if not method.startswith("slova_image")]
    first = next((method for method in RECIPES if method in there), "")
    for recipe in RECIPES:
        for kind, groups in RIVALS.items():
            ours = f"{recipe}{kind}"
            images = (look(ours).images, *(("its own",) if ours == first else ()))
            those = [method for method in rivals if look(method).group in groups and look(method).images in images]
            those.sort(key=lambda method: GROUPS.index(look(method).group))
            yield from ((ours, method) for method in those if ours in there)


def _differences(rows: Frame, on: str) -> dict[tuple[str, str], Values]:
    clean, shifted = where(rows, shift=""), where(rows, shift=shift_groups(rows)[0])
    found = {("clean", "accuracy"): clean, ("clean", "ece"): clean, ("shifted", "ece"): shifted}
    found |= {(group, "auroc"): own for group, own in ood_groups(rows, on).items()}
    found[REAL, "confidence"] = real(rows, on)
    return {key: per_seed(where(own, metric=key[1]), whole=True) for key, own in found.items()}


def _common(values: Values, pair: Pair) -> tuple[Seeds, ...]:
    """The values of both at their common seeds; empty without any."""
    both = tuple(at_common_seeds(values, pair).values())
    return both if len(both) == len(pair) else ()


def _difference(metric: str, ours: Seeds, theirs: Seeds) -> Entry:
    found = estimate({seed: ours[seed] - theirs[seed] for seed in ours})
    entry = number(found.mean, error=found.error, percent=metric == "accuracy")
    return Entry(f"+{entry.text}" if found.mean > 0 else entry.text.replace("-", "−"), entry.value, entry.error)


def _cells(found: dict[int, Values], pair: Pair) -> tuple[Entry, Entry]:
    """How many quartiles are lower, and the largest relative excess."""
    cells = [[mean(own) for own in _common(values, pair)] for values in found.values()]
    excess = max(ours / max(theirs, 1e-12) - 1 for ours, theirs in cells)
    won = sum(ours < theirs for ours, theirs in cells)
    return text(f"{won} of {len(cells)}"), Entry(f"{100 * excess:+.1f} %".replace("-", "−"), excess)
