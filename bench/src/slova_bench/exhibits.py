"""Exhibits: tables and figures as markdown, with the part of the paper they correspond to.

A figure is one file, `NAME-TRAININGSET.svg`, in a folder next to the page.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slova_bench import labels
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import TABLES, Table
from slova_bench.tables.writing import plain

if TYPE_CHECKING:
    from slova_bench.figures import Drawing

__all__ = ["PAPER_ITEMS", "Exhibit", "bullets", "draw", "exhibits", "experiment_for"]

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


ORDER = ("recipes", "shift", "ood", "ablation", "stability", "maps", "directions", "plane", "appendix", "")


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure as markdown, for one training set; `on` is empty if it is for all sets or for none."""

    title: str
    on: str
    answers: str
    experiment: str
    body: str

    @property
    def heading(self) -> str:
        return f"{labels.set_name(self.on)}: {_lower(self.title)}" if self.on else self.title

    @property
    def anchor(self) -> str:
        """The anchor that GitHub derives from the heading."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")

    def is_for(self, item: str) -> bool:
        """Whether it corresponds to a figure or table of the paper."""
        return item in self.answers.split(", ")


def exhibits(results: ResultsFolder, figures: Path | None) -> list[Exhibit]:
    """All exhibits with rows; of the figures, those in the folder."""
    drawn = _drawn(results, figures) if figures else ()
    return sorted((*_tables(results), *drawn), key=_place)


def draw(results: ResultsFolder, folder: Path) -> list[Path]:
    """Draw every figure that has rows."""
    from slova_bench.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for drawing, on in _drawings(results):
        with contextlib.suppress(MissingRowsError):
            written += save(drawing.draw(results, on), folder / _file(drawing, on), kinds=("svg",))
    return written


def experiment_for(item: str) -> str:
    """The experiment whose rows a figure or table of the paper needs; empty if it needs none."""
    from slova_bench.figures import FIGURES

    return next((kind.experiment for kind in (*TABLES, *FIGURES) if item in kind.answers.split(", ")), "")


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _place(exhibit: Exhibit) -> int:
    return ORDER.index(exhibit.experiment) if exhibit.experiment in ORDER else len(ORDER)


def _tables(results: ResultsFolder) -> Iterator[Exhibit]:
    for maker in TABLES:
        for on in maker.sets(results):
            with contextlib.suppress(MissingRowsError):
                body = "\n\n".join(_shown(table) for table in maker.make(results, on))
                title = maker.title + maker.mark(results, on)
                yield Exhibit(title, on, maker.answers, maker.experiment, body)


def _drawn(results: ResultsFolder, folder: Path) -> Iterator[Exhibit]:
    for drawing, on in _drawings(results):
        name = f"{_file(drawing, on)}.svg"
        if (folder / name).exists():
            body = f"![{plain(drawing.title)}]({folder.name}/{name})\n\n*{plain(drawing.caption)}*"
            title = drawing.title + results.mark(drawing.experiment, on)
            yield Exhibit(title, on, drawing.answers, drawing.experiment, body)


def _drawings(results: ResultsFolder) -> Iterator[tuple[Drawing, str]]:
    """The figures whose experiment was run, with their training sets."""
    from slova_bench.figures import FIGURES

    for drawing in FIGURES:
        for on in drawing.sets(results):
            yield drawing, on


def _file(drawing: Drawing, on: str) -> str:
    return f"{drawing.name}-{on}" if on else drawing.name


def _shown(table: Table) -> str:
    content = "\n\n".join(part for part in (table.markdown().strip(), bullets(map(plain, table.notes))) if part)
    if table.aside:
        return f"<details><summary>{plain(table.title)}</summary>\n\n{content}\n\n</details>"
    return f"**{plain(table.title)}**\n\n{content}"


def _lower(title: str) -> str:
    """A title within a sentence; abbreviations keep their case."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
