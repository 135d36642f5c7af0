"""Every figure that there are rows for, as SVG and PNG in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slova_bench.figures import FIGURES, Drawing, save
from slova_bench.results_folder import MissingRowsError, ResultsFolder

__all__ = ["write_figures"]


def write_figures(evidence: ResultsFolder, folder: Path) -> list[str]:
    """`NAME-TRAININGSET.svg` and `.png`; returns a sentence for each figure that is missing."""
    return [sentence for drawing in FIGURES for sentence in _written(drawing, evidence, folder)]


def _written(drawing: Drawing, evidence: ResultsFolder, folder: Path) -> Iterator[str]:
    sets = drawing.sets(evidence)
    if not sets:
        yield f"{drawing.name}: there are no rows of {drawing.experiment}: run slova bench run {drawing.experiment}"
    for on in sets:
        try:
            save(drawing.draw(evidence, on), folder / f"{drawing.name}-{on}".removesuffix("-"))
        except MissingRowsError as error:
            yield f"{drawing.name}: {error}"
