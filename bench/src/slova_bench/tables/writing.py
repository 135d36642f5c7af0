"""Tables as markdown, LaTeX and CSV. Names may come from files and plug-ins, so special characters are escaped."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slova_bench.tables.table import Column, Entry, Table

__all__ = ["csv_text", "latex", "markdown", "plain"]

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "∞": r"$\infty$", "−": r"$-$", "–": "--", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "×": r"$\times$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\rightarrow$", "α": r"$\alpha$", "|": r"\textbar{}",
}  # fmt: skip


def markdown(table: Table) -> str:
    """A GitHub table; best entries are bold, those tied with them italic."""
    heads = [plain(column.title) for column in table.columns]
    sides = ["---" if _is_words(table, place) else "---:" for place in range(len(heads))]
    rows = [[_marked(entry, plain, "**{}**", "*{}*") for entry in row] for row in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows)]
    return "\n".join(lines) + "\n"


def plain(words: str) -> str:
    """Text with the special characters of markdown escaped."""
    escaped = re.sub(r"([\\`*\[\]|~]|\b_|_\b)", r"\\\1", _line(words))
    return re.sub(r"<(?=[\w/!?])", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", escaped))


def latex(table: Table) -> str:
    """A floating table for booktabs; best entries are bold, those tied with them underlined."""
    shape = "".join("l" if _is_words(table, place) else "r" for place in range(len(table.columns)))
    rows = [[_marked(entry, _tex, r"\textbf{{{}}}", r"\underline{{{}}}") for entry in row] for row in table.rows]
    body = [" & ".join(row) + r" \\" for row in rows]
    notes = [rf"\par\footnotesize {_tex(note)}" for note in table.notes]
    lines = [
        r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}", rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{shape}}}", r"\toprule", *_heads(table.columns), r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}", *notes, r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


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


def _marked(entry: Entry, escape: Callable[[str], str], best: str, tied: str) -> str:
    return {"best": best, "tied": tied}.get(entry.mark, "{}").format(escape(entry.text))


def _heads(columns: Iterable[Column]) -> list[str]:
    """The names of the columns, below those of their groups if there are any."""
    columns = list(columns)
    names = " & ".join(_tex(column.name) for column in columns) + r" \\"
    if not any(column.group for column in columns):
        return [names]
    groups = [(group, len(list(those))) for group, those in itertools.groupby(columns, lambda column: column.group)]
    above = " & ".join(rf"\multicolumn{{{width}}}{{c}}{{{_tex(group)}}}" for group, width in groups)
    return [above + r" \\", names]


def _tex(words: str) -> str:
    return _replaced(_line(words), _LATEX)


def _line(words: str) -> str:
    return " ".join(words.split())


def _replaced(words: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(letter, letter) for letter in words)
