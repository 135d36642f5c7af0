"""The page of a model from arrays in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slova._backend import Array, to_numpy
from slova.artifact import atomic_path
from slova.heads import Readout
from slova.io import Block
from slova.prediction import Prediction
from slova.scorer import Scorer

__all__ = ["write_report"]


class _Arrays:
    """Logits and labels as a table of one block."""

    def __init__(self, logits: Array, labels: Array, path: Path) -> None:
        self.block, self.path = Block(to_numpy(logits), to_numpy(labels), 1.0), path

    def blocks(self, **_: Any) -> Iterator[Block]:
        yield self.block


class _AtDistances:
    """A scorer of the one block, whose rows have these distances."""

    def __init__(self, scorer: Scorer, distances: Array) -> None:
        self.scorer, self.distances = scorer, distances
        self.head, self.classes = scorer.head, scorer.classes

    def predict(self, logits: Array) -> Prediction:
        return self.scorer.predict(logits, distances=self.distances)

    def __call__(self, logits: Array) -> Readout:
        return self.scorer(logits, self.distances)


def write_report(
    scorer: Scorer, logits: Array, labels: Array, path: str | Path, distances: Array | None = None
) -> Path:
    """Write the page of a scorer on labelled logits, before and after calibration, and return its path."""
    try:
        from slova.report import measure, model_page, render
    except ImportError as error:
        raise ImportError(f'a report needs {error.name}: pip install "slova[report]"') from error
    path = Path(path)
    table: Any = _Arrays(logits, labels, path)
    calibrated: Any = scorer if distances is None else _AtDistances(scorer, to_numpy(distances))
    models = {"Before calibration": Scorer(classes=scorer.classes, head=scorer.head), "Calibrated": calibrated}
    found = [measure(name, one, table, {}) for name, one in models.items()]
    html = render(model_page(path.stem, f"{len(table.block.labels):,} rows: {', '.join(scorer.summary)}.", found))
    with atomic_path(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return path
