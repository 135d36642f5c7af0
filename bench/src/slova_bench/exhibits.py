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

__all__ = ["EXHIBITS", "PAPER_ITEMS", "draw", "exhibits", "experiment_for", "file_name"]

EXHIBITS: tuple[Exhibit, ...] = (*TABLES, *FIGURES, *PANELS, *CLAIMS)

# The figures and tables of the paper; Fig. 3 is a diagram of the method.
PAPER_ITEMS = {
    "Fig. 1": "confidence of OVA and SLOVA over two probabilities (Sec. 1)",
    "Fig. 2": "confidence on planes through three images (Sec. 1)",
    "Fig. 3": "the method as a sketch (Sec. 3)",
    "Fig. 4": "confidence along random directions (Sec. 3.5)",
    "Fig. 5": "accuracy, ECE, NLL and Brier score by severity of shift (Sec. 4.1)",
    "Fig. 6": "mean ranks under shift (Sec. 4.1)",
    "Table 1": "error and MMC out of distribution (Sec. 4.2)",
    "Fig. 7": "mean ranks out of distribution (Sec. 4.2)",
    "Fig. 8": "ablation (Sec. 4.3)",
    "Fig. 9": "calibration curve of complete ignorance (App. A)",
    "Fig. 10": "stability of the fit (App. B)",
    "App. C": "quartiles of ECE, NLL and Brier score over shifts (App. C)",
}


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
