"""Tables as markdown and CSV. Names may come from files and plug-ins, so special characters are escaped."""

from __future__ import annotations

import csv
import io
import re
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
    columns = list[list[str]]()
    for place, column in enumerate(table.columns):
        head, entries = column.title, [row[place] for row in table.rows]
        columns.append([head, *map(_full, entries)])
        if any(entry.error is not None for entry in entries):
            columns.append([f"{head}, standard error", *(_digits(entry.error) for entry in entries)])
        if any(entry.mark for entry in entries):
            columns.append([f"{head}, mark", *(entry.mark for entry in entries)])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
    return out.getvalue()


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
