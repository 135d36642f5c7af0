"""All figures that have rows, as SVG and PNG in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slova_bench.figures import FIGURES, Drawing, save
from slova_bench.results_folder import MissingRowsError, ResultsFolder

__all__ = ["write_figures"]


def write_figures(results: ResultsFolder, folder: Path) -> list[str]:
    """Write `NAME-TRAININGSET.svg` and `.png`. Returns a message per missing figure."""
    return [sentence for drawing in FIGURES for sentence in _written(drawing, results, folder)]


def _written(drawing: Drawing, results: ResultsFolder, folder: Path) -> Iterator[str]:
    sets = drawing.sets(results)
    if not sets:
        yield f"{drawing.name}: there are no rows of {drawing.experiment}: run slova bench run {drawing.experiment}"
    for on in sets:
        try:
            save(drawing.draw(results, on), folder / f"{drawing.name}-{on}".removesuffix("-"))
        except MissingRowsError as error:
            yield f"{drawing.name}: {error}"
