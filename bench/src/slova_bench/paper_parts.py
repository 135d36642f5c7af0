"""Everything the paper defines, states, draws, compares with or plans, where it is here, and what differs.

The parts are in `paper_parts.csv`. Links are relative to `docs/`; a figure or table has none, as they are found.
Seeds are counted in rows: `counted` lists experiments, methods as "experiment/method", both also with a preset as in
"shift@authors", or files of the measurements.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

__all__ = ["DRAWN", "Part", "paper_parts"]

PATH = Path(__file__).with_suffix(".csv")
DRAWN = "Figures and tables"


class Part(NamedTuple):
    """One part of the paper. `here` is markdown."""

    group: str
    name: str
    what: str
    here: str
    differs: str
    counted: tuple[str, ...]


def paper_parts() -> list[Part]:
    """The parts by group, those of a group in the order of the paper."""
    with PATH.open(encoding="utf-8", newline="") as file:
        return [Part(**row | {"counted": tuple(row["counted"].split())}) for row in csv.DictReader(file, restval="")]
