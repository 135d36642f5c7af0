"""The metrics of a file of logits, as in `slova metrics`, and its histograms of confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from slova._validation import Flags
from slova.batch.metric_states import Answers, FieldwiseSum, LabelledMetrics, OodMetrics
from slova.heads import NONE
from slova.io import Block, Table
from slova.metrics import Ece
from slova.report.bins import BINS
from slova.report.model_page import FileResults, Model
from slova.scorer import Scorer

__all__ = ["Progress", "measure"]

Progress = Callable[[Iterable[Block], str], Iterable[Block]]
"""Passes blocks on and shows how far they are, under a label."""

LABELLED = "rows labelled -1"


def measure(
    name: str, scorer: Scorer, table: Table, ood: Mapping[str, Table], *, progress: Progress = lambda blocks, _: blocks
) -> Model:
    """One pass over a labelled table and over each out-of-distribution table; their names are the keys of `ood`."""
    blocks = partial(_blocks, scorer=scorer, progress=progress)
    whole = reduce(add, (_Labelled.of(scorer, block) for block in blocks(table, labelled=True)))
    others = {LABELLED: whole.outside} if whole.outside.count else {}
    for file, outside in ood.items():
        answers = (Answers.of(scorer, block.logits) for block in blocks(outside, labelled=False))
        others[file] = reduce(add, (_Rows.of(each, NONE) for each in answers))
    selection = whole.measures.selection
    inside = FileResults(whole.inside.histogram, whole.inside.count, whole.measures.values())
    apart = {file: rows.beside(whole.inside) for file, rows in others.items()}
    return Model(name, whole.measures.ece, inside, apart, selection)


def _blocks(table: Table, *, scorer: Scorer, progress: Progress, labelled: bool) -> Iterator[Block]:
    yield from progress(
        table.blocks(labelled=labelled, classes=scorer.head.columns or scorer.classes), f"measuring {table.path.name}"
    )


@dataclass(frozen=True)
class _Rows(FieldwiseSum):
    """Rows of one kind: a histogram of their confidence, and the state that distinguishes them from the other kind."""

    histogram: Ece
    ood: OodMetrics

    @classmethod
    def of(cls, answers: Answers, label: int) -> _Rows:
        """All of these rows are out-of-distribution (NONE), or none of them is (any other label)."""
        labels = np.full(len(answers.confidence), label)
        return cls(Ece.binned(*answers, BINS, "width"), OodMetrics.of(answers.confidence, labels))

    @property
    def count(self) -> int:
        return int(self.histogram.count.sum())

    def beside(self, inside: _Rows) -> FileResults:
        """How well these rows are distinguished from those of a class."""
        return FileResults(self.histogram, self.count, (self.ood + inside.ood).values())


@dataclass(frozen=True)
class _Labelled(FieldwiseSum):
    """The states of labelled blocks: the measures of all rows, and the rows of a class and the others apart."""

    measures: LabelledMetrics
    inside: _Rows
    outside: _Rows

    @classmethod
    def of(cls, scorer: Scorer, block: Block) -> _Labelled:
        answers = Answers.of(scorer, block.logits, block.labels)
        known: Flags = block.labels != NONE
        inside, outside = (Answers(answers.confidence[rows], answers.hits[rows]) for rows in (known, ~known))
        return cls(LabelledMetrics.of(scorer, block, answers), _Rows.of(inside, 0), _Rows.of(outside, NONE))
