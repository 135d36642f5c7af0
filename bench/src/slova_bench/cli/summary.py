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
    from slova_bench.frame import SET, frame

    names = dict.fromkeys(map(label, rows))
    outside = [row for row in rows if not _inside(row)]
    found = frame(outside).assign(name=[label(row) for row in outside])
    metrics = {
        metric: own.pivot_table(index=[*SET, "seed"], columns="name", values="value", aggfunc="last").dropna()
        for metric, own in found.groupby("metric", sort=False)
    }
    heads = [f"mean over sets{kind.replace('-', ', ')}", *metrics]
    counts = ["sets and seeds that all have", *(f"{len(cells):,}" for cells in metrics.values())]
    return aligned([heads, counts, *([name, *(_mean(cells, name) for cells in metrics.values())] for name in names)])


def label(row: Row) -> str:
    return f"{row.method} {row.variant}".strip()


def _inside(row: Row) -> bool:
    """The confidence on the test set itself, where less is not better as it is on OOD sets."""
    own = row.test.removesuffix("-test") == row.train.removesuffix("-train")
    return (row.experiment, row.metric) == ("ood", "mmc") and own


def _mean(cells: Any, name: str) -> str:
    return f"{cells[name].mean():.4f}" if name in cells and len(cells) else "–"
