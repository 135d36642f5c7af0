"""The page of a model from arrays in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slova._backend import Array, to_numpy
from slova.artifact import atomic_path
from slova.io import Block
from slova.scorer import Scorer

__all__ = ["write_report"]


class _Arrays:
    """Logits and labels as a table of one block."""

    def __init__(self, logits: Array, labels: Array, path: Path) -> None:
        self.block, self.path = Block(to_numpy(logits), to_numpy(labels), 1.0), path

    def blocks(self, **_: Any) -> Iterator[Block]:
        yield self.block


def write_report(scorer: Scorer, logits: Array, labels: Array, path: str | Path) -> Path:
    """Write the page of a scorer on labelled logits, before and after calibration, and return its path."""
    try:
        from slova.report import measure, model_page, render
    except ImportError as error:
        raise ImportError(f'a report needs {error.name}: pip install "slova[report]"') from error
    path = Path(path)
    table: Any = _Arrays(logits, labels, path)
    models = {"Before calibration": Scorer(classes=scorer.classes, head=scorer.head), "Calibrated": scorer}
    found = [measure(name, one, table, {}) for name, one in models.items()]
    html = render(model_page(path.stem, f"{len(table.block.labels):,} rows: {', '.join(scorer.summary)}.", found))
    with atomic_path(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return path
