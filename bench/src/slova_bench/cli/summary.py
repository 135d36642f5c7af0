"""The rows of a run as a table of means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slova.cli.terminal import aligned

if TYPE_CHECKING:
    from slova_bench.results import Row

__all__ = ["label", "summary"]


def summary(rows: list[Row], kind: str) -> str:
    """The mean of every metric over the sets and seeds that all methods with it have, one line per method; a variant
    counts as a method."""
    found: dict[str, dict[str, dict[Any, float]]] = {}  # metric -> method -> set and seed -> value
    for row in rows:
        if not _inside(row):
            values = found.setdefault(row.metric, {}).setdefault(label(row), {})
            values[row.test, row.shift, row.level, row.seed] = row.value
    common = {metric: set.intersection(*map(set, methods.values())) for metric, methods in found.items()}
    heads = [f"mean over sets{kind.replace('-', ', ')}", *found]
    counts = ["sets and seeds that all have", *(f"{len(cells):,}" for cells in common.values())]
    names = dict.fromkeys(map(label, rows))
    lines = ([name, *(_mean(found[metric].get(name, {}), common[metric]) for metric in found)] for name in names)
    return aligned([heads, counts, *lines])


def label(row: Row) -> str:
    return f"{row.method} {row.variant}".strip()


def _inside(row: Row) -> bool:
    """The confidence on the test set itself, where less is not better as it is on OOD sets."""
    own = row.test.removesuffix("-test") == row.train.removesuffix("-train")
    return (row.experiment, row.metric) == ("ood", "mmc") and own


def _mean(values: dict[Any, float], cells: set[Any]) -> str:
    shared = [value for cell, value in values.items() if cell in cells]
    return f"{sum(shared) / len(shared):.4f}" if shared else "–"
