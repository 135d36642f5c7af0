"""The registry of exhibits: every table, figure, panel of the page and claim. `docs/results.md`, the page and the files
of figures are made by walking it.

for exhibit in exhibits(Kind.TABLE):
    for on in exhibit.sets(results): exhibit.make(results, on)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slova_bench.claims import CLAIMS
from slova_bench.exhibit import Exhibit, Kind
from slova_bench.figures import FIGURES
from slova_bench.panels import PANELS
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import TABLES

__all__ = ["EXHIBITS", "draw", "exhibits", "experiment_for", "file_name"]

EXHIBITS: tuple[Exhibit, ...] = (*TABLES, *FIGURES, *PANELS, *CLAIMS)


def exhibits(*kinds: Kind) -> list[Exhibit]:
    """The exhibits of these kinds."""
    return [exhibit for exhibit in EXHIBITS if exhibit.kind in kinds]


def experiment_for(item: str) -> str:
    """The experiment whose rows a figure or table of the paper needs; empty if it needs none."""
    return next((one.experiment for one in exhibits(Kind.TABLE, Kind.FIGURE) if one.is_for(item)), "")


def draw(results: ResultsFolder, folder: Path, kinds: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Draw every figure that has rows into a folder, as files of these kinds ("svg"). Returns the files, and a message
    per missing figure."""
    from slova_bench.figures.drawing import save

    folder.mkdir(parents=True, exist_ok=True)
    written, missing = list[Path](), list[str]()
    for exhibit in exhibits(Kind.FIGURE):
        sets = exhibit.sets(results)
        if not sets:
            command = f"slova bench run {exhibit.experiment}"
            missing.append(f"{exhibit.name}: there are no rows of {exhibit.experiment}: run {command}")
        for on in sets:
            try:
                written += save(exhibit.make(results, on), folder / file_name(exhibit, on), kinds=kinds)
            except MissingRowsError as error:
                missing.append(f"{exhibit.name}: {error}")
    return written, missing


def file_name(figure: Exhibit, on: str) -> str:
    """The name of its file, without suffix."""
    return f"{figure.name}-{on}" if on else figure.name
