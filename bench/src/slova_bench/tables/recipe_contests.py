"""The image recipe against each rival, at common seeds: differences, and the quartiles over shifts that it wins."""

from __future__ import annotations

from collections.abc import Iterator

from slova_bench import labels
from slova_bench.frame import QUARTILES, Frame, Name, names, per_seed, quartiles, where
from slova_bench.frame import Column as Values
from slova_bench.labels import look
from slova_bench.tables.assembly import label
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.recipe_groups import ENSEMBLES, GROUPS, REAL, VIEWS, ood_groups, paper_shifts, real
from slova_bench.tables.seeds import estimate, mean
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
Pair = tuple[Name, Name]  # ours and its rival


def make(rows: Frame, on: str, name: str, title: str) -> Table:
    """One row per pair with common seeds; columns without values in any row are left out."""
    rows = rows[~rows["method"].isin(labels.SCORES)]
    cells = {metric: quartiles(rows, metric, paper_shifts(rows)) for metric in METRICS}
    seeds = {pair: len(_common(cells["ece"][50], pair)) for pair in _pairs(rows)}
    pairs = [pair for pair, count in seeds.items() if count]
    columns = [
        Column("Method", entries={pair: text(label(pair[0])) for pair in pairs}),
        Column("Against", entries={pair: text(label(pair[1])) for pair in pairs}),
        Column("Seeds", entries={pair: text(seeds[pair]) for pair in pairs}),
    ]
    for (group, metric), values in _differences(rows, on).items():
        entries = {pair: _difference(metric, values, pair) for pair in pairs if _common(values, pair)}
        columns += [Column(labels.head(metric), group, entries)] if values else []
    for metric, found in cells.items():
        both, group = {pair: _cells(found, pair) for pair in pairs}, labels.metric(metric).name
        columns.append(Column("cells", group, {pair: won for pair, (won, _) in both.items()}))
        columns.append(Column("excess", group, {pair: excess for pair, (_, excess) in both.items()}))
    return table(name, title, columns, pairs, notes=NOTES)


def _pairs(rows: Frame) -> Iterator[Pair]:
    """Our readouts with the rivals that were trained with the same images, or, of the first recipe there is, with
    images of their own."""
    there = names(rows)
    rivals = [name for name in there if not name[0].startswith("slova_image")]
    first = next((name for name in RECIPES if (name, "") in there), "")
    for recipe in RECIPES:
        for kind, groups in RIVALS.items():
            ours = f"{recipe}{kind}"
            images = (look(ours).images, *(("its own",) if ours == first else ()))
            those = [name for name in rivals if look(name[0]).group in groups and look(name[0]).images in images]
            those.sort(key=lambda name: GROUPS.index(look(name[0]).group))
            yield from (((ours, ""), name) for name in those if (ours, "") in there)


def _differences(rows: Frame, on: str) -> dict[tuple[str, str], Values]:
    clean, shifted = where(rows, shift=""), where(rows, shift=paper_shifts(rows))
    found = {("clean", "accuracy"): clean, ("clean", "ece"): clean, ("shifted", "ece"): shifted}
    found |= {(group, "auroc"): own for group, own in ood_groups(rows, on).items()}
    found[REAL, "confidence"] = real(rows, on)
    return {key: per_seed(where(own, metric=key[1]), whole=True) for key, own in found.items()}


def _common(values: Values, pair: Pair) -> list[int]:
    """The seeds that both have."""
    ours, theirs = (values.get(name, {}).keys() for name in pair)
    return sorted(ours & theirs)


def _difference(metric: str, values: Values, pair: Pair) -> Entry:
    ours, theirs = (values[name] for name in pair)
    found = estimate({seed: ours[seed] - theirs[seed] for seed in _common(values, pair)})
    entry = number(found.mean, error=found.error, percent=metric == "accuracy")
    return Entry(f"+{entry.text}" if found.mean > 0 else entry.text.replace("-", "−"), entry.value, entry.error)


def _cells(found: dict[int, Values], pair: Pair) -> tuple[Entry, Entry]:
    """How many quartiles are lower, and the largest relative excess."""
    seeds = _common(found[QUARTILES[0]], pair)
    cells = [[mean({seed: values[name][seed] for seed in seeds}) for name in pair] for values in found.values()]
    excess = max(ours / max(theirs, 1e-12) - 1 for ours, theirs in cells)
    won = sum(ours < theirs for ours, theirs in cells)
    return text(f"{won} of {len(cells)}"), Entry(f"{100 * excess:+.1f} %".replace("-", "−"), excess)
