"""Sections of `docs/results.md`: a table or a figure as markdown."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slova_bench import labels
from slova_bench.exhibit import Exhibit, Kind
from slova_bench.exhibits import exhibits, file_name
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import Table
from slova_bench.tables.table import plain

__all__ = ["Section", "bullets", "sections"]

ORDER = ("recipes", "shift", "noise", "ood", "ablation", "stability", "maps", "directions", "plane", "appendix", "")


@dataclass(frozen=True)
class Section:
    """A table or a figure for one training set as markdown; `mark` is the kind of its rows ("quick")."""

    exhibit: Exhibit
    on: str
    mark: str
    body: str

    @property
    def heading(self) -> str:
        title = self.exhibit.title + self.mark
        return f"{labels.set_name(self.on)}: {_lower(title)}" if self.on else title

    @property
    def anchor(self) -> str:
        """The anchor that GitHub derives from the heading."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")


def sections(results: ResultsFolder, figures: Path | None) -> list[Section]:
    """All tables with rows, and of the figures those in the folder, by experiment."""
    found = _sections(results, figures)
    return sorted(found, key=lambda one: ORDER.index(one.exhibit.experiment))


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _sections(results: ResultsFolder, figures: Path | None) -> Iterator[Section]:
    for exhibit in exhibits(Kind.TABLE, Kind.FIGURE):
        for on in exhibit.sets(results):
            body = _picture(exhibit, on, figures) if exhibit.kind is Kind.FIGURE else _tables(exhibit, results, on)
            if body:
                yield Section(exhibit, on, exhibit.mark(results, on), body)


def _tables(exhibit: Exhibit, results: ResultsFolder, on: str) -> str:
    with contextlib.suppress(MissingRowsError):
        return "\n\n".join(_shown(table) for table in exhibit.make(results, on))
    return ""


def _picture(exhibit: Exhibit, on: str, folder: Path | None) -> str:
    name = f"{file_name(exhibit, on)}.svg"
    if folder is None or not (folder / name).exists():
        return ""
    return f"![{plain(exhibit.title)}]({folder.name}/{name})\n\n*{plain(exhibit.about)}*"


def _shown(table: Table) -> str:
    content = "\n\n".join(part for part in (table.markdown().strip(), bullets(map(plain, table.notes))) if part)
    if table.aside:
        return f"<details><summary>{plain(table.title)}</summary>\n\n{content}\n\n</details>"
    return f"**{plain(table.title)}**\n\n{content}"


def _lower(title: str) -> str:
    """A title within a sentence; abbreviations keep their case."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
