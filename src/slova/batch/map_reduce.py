"""Map-reduce over rows of logits and labels: a function maps every block to a state, and the states are merged.

`map_block(block, first)` gets a block and the number of its first row. The merged state does not depend on how rows are
divided into blocks, except for the rounding of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from slova._detect import check_kind
from slova.batch.batches import MapBlock, fold_batches, pack, read_batch, unpack
from slova.batch.engines import EngineError, Run, results, try_task, unwrap
from slova.io import Block
from slova.scorer import Scorer

__all__ = ["EngineRows", "PartitionedRows", "Rows", "check_scorer", "first_rows"]

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


@dataclass(frozen=True)
class EngineRows:
    """Rows of a Ray dataset or a Spark data frame. `mapped` maps a function of record batches over them and collects
    its outcomes, and `take` returns a table of the first rows."""

    classes: int
    mapped: Callable[[Callable[..., Any]], Iterable[bytes]]
    take: Callable[[int], Any]

    @classmethod
    def of(cls, mapped: Callable[[Callable[..., Any]], Iterable[bytes]], take: Callable[[int], Any]) -> EngineRows:
        first = EngineRows(0, mapped, take)._first(1, classes=None)
        return cls(int(first.logits.shape[1]), mapped, take)

    def fold(self, map_block: MapBlock[State], *, labelled: bool = True) -> State:
        task = partial(fold_batches, map_block=map_block, classes=self.classes, labelled=labelled)
        whole: State = reduce(add, (unwrap(unpack(outcome)) for outcome in self.mapped(task)))
        return whole

    def first(self, *, labelled: bool = True) -> Block:
        return self._first(FIRST, classes=self.classes, labelled=labelled)

    def _first(self, rows: int, **options: Any) -> Block:
        batches = self.take(rows).combine_chunks().to_batches()
        if not batches:
            raise EngineError("the data has no rows")
        found: Block = unwrap(try_task(partial(read_batch, **options), batches[0]))
        return found


def first_rows(blocks: Iterable[Block]) -> Block:
    """The first blocks together, until they have enough rows."""
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        if sum(len(each.logits) for each in found) >= FIRST:
            break
    labels = None if found[0].labels is None else np.concatenate([block.labels for block in found])
    return found[-1]._replace(logits=np.concatenate([block.logits for block in found]), labels=labels)


def check_scorer(rows: Rows, scorer: Scorer) -> None:
    """The rows must be of the kind that the scorer was fitted to."""
    expected = scorer.head.columns or scorer.classes
    if rows.classes != expected:
        raise EngineError(f"the rows have {rows.classes} logits each, but the scorer takes {expected}")
    block = rows.first(labelled=False)
    check_kind(scorer.head, block.logits, named=block.probs)


def _groups(partitions: Sequence[Any]) -> list[Sequence[Any]]:
    tasks = min(TASKS, len(partitions))
    ends = [len(partitions) * i // tasks for i in range(tasks + 1)]
    return [partitions[first:last] for first, last in pairwise(ends)]


def _folded(map_block: MapBlock[Any], classes: int, labelled: bool, partitions: Sequence[Readable]) -> bytes:
    blocks = (block for partition in partitions for block in partition.blocks(classes, labelled=labelled))
    return pack(reduce(add, (map_block(block, first) for first, block in blocks)))
