"""Tables as markdown and CSV. Names may come from files and plug-ins, so special characters are escaped."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slova_bench.tables.table import Entry, Table

__all__ = ["csv_text", "markdown", "plain"]


def markdown(table: Table) -> str:
    """A GitHub table; best entries are bold, those tied with them italic."""
    heads = [plain(column.title) for column in table.columns]
    sides = ["---" if _is_words(table, place) else "---:" for place in range(len(heads))]
    rows = [[_marked(entry) for entry in row] for row in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]
    return "\n".join(lines) + "\n"


def plain(words: str) -> str:
    """Text with the special characters of markdown escaped."""
    escaped = re.sub(r"([\\`*\[\]|~]|\b_|_\b)", r"\\\1", _line(words))
    return re.sub(r"<(?=[\w/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", escaped))


def csv_text(table: Table) -> str:
    """Numbers with all digits; standard errors and marks have columns of their own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [part for place in range(len(table.columns)) for part in _parts(table, place)]
    writer.writerow([head for head, _ in columns])
    writer.writerows([show(row) for _, show in columns] for row in table.rows)
    return out.getvalue()


def _parts(table: Table, place: int) -> list[tuple[str, Callable[[tuple[Entry, ...]], str]]]:
    """The CSV columns of one column of the table."""
    head, entries = table.columns[place].title, [row[place] for row in table.rows]
    parts: list[tuple[str, Callable[[tuple[Entry, ...]], str]]] = [(head, lambda row: _full(row[place]))]
    if any(entry.error is not None for entry in entries):
        parts.append((f"{head}, standard error", lambda row: _digits(row[place].error)))
    if any(entry.mark for entry in entries):
        parts.append((f"{head}, mark", lambda row: row[place].mark))
    return parts


def _full(entry: Entry) -> str:
    return entry.text if entry.value is None else _digits(entry.value)


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def _is_words(table: Table, place: int) -> bool:
    return all(row[place].value is None for row in table.rows)


def _marked(entry: Entry) -> str:
    return {"best": "**{}**", "tied": "*{}*"}.get(entry.mark, "{}").format(plain(entry.text))


def _line(words: str) -> str:
    return " ".join(words.split())
