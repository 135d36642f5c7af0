"""Rows of logits and labels, wherever they lie, as a map and a reduce: a function makes a state of every block, and the
states are added up.

`of(block, first)` gets a block and the number of its first row. Which blocks there are and who reads them is the
business of the rows; the state of all of them does not depend on it, but for the last digits of sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol, TypeVar

from slova.batch.batches import Of, packed, unpacked
from slova.batch.running import EngineError, Run, results
from slova.io import Block
from slova.scorer import Scorer

__all__ = ["Pieces", "Rows", "check_classes"]

TASKS = 256  # so many states at most reach the one process that adds them up, however many rows there are

State = TypeVar("State")


class Rows(Protocol):
    """What a fit and a measurement need to know of their data."""

    @property
    def classes(self) -> int: ...

    def fold(self, of: Of[State], *, labelled: bool = True) -> State: ...


class Readable(Protocol):
    """Some of the rows, for one worker to read: blocks, each with the number of its first row."""

    def blocks(self, classes: int, *, labelled: bool) -> Iterator[tuple[int, Block]]: ...


@dataclass(frozen=True)
class Pieces:
    """Rows in pieces that an engine hands to its workers. Neighbours are folded by the same one, in their order, so
    that every engine adds up the same numbers in the same order."""

    pieces: Sequence[Readable]
    classes: int
    run: Run

    def fold(self, of: Of[State], *, labelled: bool = True) -> State:
        states = results(self.run, partial(_folded, of, self.classes, labelled), _groups(self.pieces))
        whole: State = reduce(add, map(unpacked, states))
        return whole


def check_classes(rows: Rows, scorer: Scorer) -> None:
    if rows.classes != scorer.classes:
        raise EngineError(f"the rows have {rows.classes} logits each, and the scorer has {scorer.classes} classes")


def _groups(pieces: Sequence[Any]) -> list[Sequence[Any]]:
    tasks = min(TASKS, len(pieces))
    ends = [len(pieces) * i // tasks for i in range(tasks + 1)]
    return [pieces[first:last] for first, last in pairwise(ends)]


def _folded(of: Of[Any], classes: int, labelled: bool, pieces: Sequence[Readable]) -> bytes:
    blocks = (block for piece in pieces for block in piece.blocks(classes, labelled=labelled))
    return packed(reduce(add, (of(block, first) for first, block in blocks)))
