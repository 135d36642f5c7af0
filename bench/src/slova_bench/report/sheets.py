"""Tables of the comparison as the page shows them."""

from __future__ import annotations

from typing import Any

from slova.report.sheets import entry_content
from slova_bench.tables import Column, Table

__all__ = ["sheet"]


def sheet(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "aside": table.aside,
        "notes": list(table.notes),
        "columns": [_head(column) for column in table.columns],
        "rows": [[entry_content(entry.text, entry.value, entry.mark) for entry in row] for row in table.rows],
        "csv": table.csv(),
    }


def _head(column: Column) -> dict[str, str]:
    return {"name": column.name, "group": column.group} if column.group else {"name": column.name}
