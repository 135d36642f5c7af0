"""The paper's numbers, and which of our methods stands where one of the paper's does."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from slova_bench.labels import look
from slova_bench.results import Row
from slova_bench.tables.seeds import Name

__all__ = ["counterpart", "counterparts", "numbers", "said"]

STAND_INS = {"acet": "acet_short"}  # an attack of fewer steps, where nobody has run the whole one


def numbers(paper: Iterable[Row], ours: Collection[str], **wanted: object) -> dict[Name, float]:
    """What the paper says of each method, by our name for it; `wanted` fixes columns (`metric="ece_q25"`)."""
    found = [row for row in paper if all(getattr(row, column) == value for column, value in wanted.items())]
    return {(counterpart(row.method, ours), row.variant): row.value for row in found}


def counterpart(method: str, ours: Collection[str]) -> str:
    """Our method that answers to this one of the paper: its namesake, or else its stand-in if that was run."""
    other = STAND_INS.get(method, method)
    return other if method not in ours and other in ours else method


def counterparts(paper: Iterable[Row], experiment: str, ours: Collection[str]) -> list[str]:
    """Our names of the methods that the paper compares in an experiment, whether or not we have run them."""
    return sorted({counterpart(row.method, ours) for row in paper if row.experiment == experiment})


def said(names: Iterable[Name]) -> str:
    """A note where a stand-in is beside the paper's number."""
    run = {method for method, _ in names}
    found = [(of, other) for of, other in STAND_INS.items() if other in run and of not in run]
    return " ".join(f"{look(other).name} has the paper's number of {look(of).name} beside it." for of, other in found)
