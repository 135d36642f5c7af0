"""Write the table of results in README.md from the rows: `make docs`. A test fails when it is stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slova.bench.display import look
from slova.bench.evidence import Evidence
from slova.bench.tables import overview

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- made by `make docs` from results/ -->\n", "<!-- until here -->\n"
METHODS = ("softmax", "temperature", "ensemble", "ova", "slova", "slova_distance", "slova_mirror", "slova_none")


def page() -> str:
    """The README, its table anew."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} has no place for the table: {BEGIN.strip()} … {END.strip()}")
    return f"{before}{BEGIN}{table()}\n{END}{after}"


def table() -> str:
    """The best known methods of the overview, and ours; what is best of all methods stays marked."""
    (whole,) = overview.make(Evidence.read(ROOT / "results"), "cifar10")
    wanted = [look(method).name for method in METHODS]
    return replace(whole, rows=tuple(row for row in whole.rows if row[0].text in wanted)).markdown().strip("\n")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
