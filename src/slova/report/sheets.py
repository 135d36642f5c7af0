"""Tables as the page shows them: text, number and mark of each entry, and the CSV to save."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from slova.metrics import Estimate

__all__ = ["Entry", "count", "entry_content", "number", "sheet"]


class Entry(NamedTuple):
    """One entry of a table: its text and, where it is a number, its value; `image` is a data address of a picture."""

    text: str
    value: float | None = None
    image: str | None = None


def sheet(
    name: str, title: str, heads: Sequence[str], rows: Sequence[Sequence[Entry]], notes: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "notes": list(notes),
        "columns": [{"name": head} for head in heads],
        "rows": [[_content(entry) for entry in row] for row in rows],
        "csv": _csv(heads, rows),
    }


def count(rows: float) -> Entry:
    return Entry(f"{int(rows):,}", float(rows))


def number(value: float | Estimate | None) -> Entry:
    """Four digits, and the bound of a value that is only known within one, where four digits show it."""
    if value is None:
        return Entry("–")
    if isinstance(value, Estimate):
        bound = f" ± {max(value.bound, 1e-4):.1g}" if value.bound > 5e-5 else ""
        return Entry(f"{value.value:.4f}{bound}", float(value.value))
    return Entry(f"{value:.4f}" if abs(value) != float("inf") else "∞", float(value))


def _content(entry: Entry) -> dict[str, Any]:
    content = entry_content(entry.text, entry.value)
    return content if entry.image is None else {**content, "image": entry.image}


def entry_content(text: str, value: float | None, mark: str = "") -> dict[str, Any]:
    """An entry in JSON; what is empty is left out, because there are many of them."""
    content: dict[str, Any] = {"text": text, "mark": mark} if mark else {"text": text}
    if value is not None and math.isfinite(value):
        content["value"] = float(f"{value:.6g}")
    return content


def _csv(heads: Sequence[str], rows: Sequence[Sequence[Entry]]) -> str:
    """Numbers in full, not rounded as in the text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([entry.text if entry.value is None else f"{entry.value:.8g}" for entry in row] for row in rows)
    return out.getvalue()
