"""Map-reduce over rows of logits and labels: a function maps every block to a state, and the states are merged.

`map_block(block, first)` gets a block and the number of its first row. The merged state does not depend on how rows are
divided into blocks, except for the rounding of sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from slova._detect import check_kind
from slova.batch.batches import MapBlock, pack, unpack
from slova.batch.engines import EngineError, Run, results, try_task, unwrap
from slova.io import Block
from slova.scorer import Scorer

__all__ = ["PartitionedRows", "Rows", "check_scorer", "first_rows"]

TASKS = 256  # bounds the number of states that one process has to merge
FIRST = 10_000  # rows by which a kind of logits is recognised

State = TypeVar("State")


class Rows(Protocol):
    """Data that can be fitted and evaluated; `classes` is the number of logits per row."""

    @property
    def classes(self) -> int: ...

    def fold(self, map_block: MapBlock[State], *, labelled: bool = True) -> State: ...

    def first(self, *, labelled: bool = True) -> Block: ...  # some thousand rows, by which their kind is recognised


class Readable(Protocol):
    """Rows that one worker reads, in blocks with the number of their first row."""

    def blocks(self, classes: int, *, labelled: bool) -> Iterator[tuple[int, Block]]: ...


@dataclass(frozen=True)
class PartitionedRows:
    """Rows in partitions, distributed by an engine. Adjacent partitions form a task, so that every engine merges the
    same states in the same order."""

    partitions: Sequence[Readable]
    classes: int
    run: Run

    def fold(self, map_block: MapBlock[State], *, labelled: bool = True) -> State:
        states = results(self.run, partial(_folded, map_block, self.classes, labelled), _groups(self.partitions))
        whole: State = reduce(add, map(unpack, states))
        return whole

    def first(self, *, labelled: bool = True) -> Block:
        blocks = (block for each in self.partitions for _, block in each.blocks(self.classes, labelled=labelled))
        found: Block = unwrap(try_task(first_rows, blocks))
        return found


def first_rows(blocks: Iterable[Block]) -> Block:
    """The first blocks together, until they have enough rows."""
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        if sum(len(each.logits) for each in found) >= FIRST:
            break
    labels = None if found[0].labels is None else np.concatenate([block.labels for block in found])
    return Block(np.concatenate([block.logits for block in found]), labels, found[-1].done)


def check_scorer(rows: Rows, scorer: Scorer) -> None:
    """The rows must be of the kind that the scorer was fitted to."""
    expected = scorer.head.columns or scorer.classes
    if rows.classes != expected:
        raise EngineError(f"the rows have {rows.classes} logits each, but the scorer takes {expected}")
    check_kind(scorer.head, rows.first(labelled=False).logits)


def _groups(partitions: Sequence[Any]) -> list[Sequence[Any]]:
    tasks = min(TASKS, len(partitions))
    ends = [len(partitions) * i // tasks for i in range(tasks + 1)]
    return [partitions[first:last] for first, last in pairwise(ends)]


def _folded(map_block: MapBlock[Any], classes: int, labelled: bool, partitions: Sequence[Readable]) -> bytes:
    blocks = (block for partition in partitions for block in partition.blocks(classes, labelled=labelled))
    return pack(reduce(add, (map_block(block, first) for first, block in blocks)))
