"""Tables as the page wants them: text, number and mark of each entry, and the CSV to take away."""

from __future__ import annotations

import math
from typing import Any

from slova_bench.tables import Entry, Table

__all__ = ["sheet"]


def sheet(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "aside": table.aside,
        "notes": list(table.notes),
        "columns": [_filled({"name": column.name, "group": column.group}) for column in table.columns],
        "rows": [[_entry(entry) for entry in row] for row in table.rows],
        "csv": table.csv(),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    content: dict[str, Any] = _filled({"text": entry.text, "mark": entry.mark})
    if entry.value is not None and math.isfinite(entry.value):
        content["value"] = float(f"{entry.value:.6g}")
    return content


def _filled(parts: dict[str, str]) -> dict[str, Any]:
    """Without what is empty, but for the first: most entries have no mark, and there are many of them."""
    first = next(iter(parts))
    return {name: text for name, text in parts.items() if text or name == first}
