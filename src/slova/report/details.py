"""What the page says beyond metrics: rows by class and by subgroup, why answers are unsure, and examples of rows.

One pass over blocks; states of fixed size add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from slova._backend import Array
from slova.batch.metric_states import FieldwiseSum
from slova.heads import NONE
from slova.io import Block
from slova.metrics import Ece
from slova.prediction import Prediction
from slova.report.bins import BINS
from slova.scorer import Scorer

__all__ = ["Details", "Example", "Groups", "Usage", "details_of", "usage_of"]

Groups = Mapping[str, Sequence[Any]]
"""Values of each row by the name of the cut."""

EXAMPLES = 5
KINDS = ("Confident and wrong", "Nothing fits", "Several fit")


class Example(NamedTuple):
    """One row: its number, label, most probable class, and the three shares of its distribution."""

    row: int
    label: int
    top: int
    confidence: float
    none: float
    ambiguous: float


class Examples(dict[str, list[tuple[float, Example]]]):
    """The rows with the largest score of each kind."""

    def __add__(self, other: Examples) -> Examples:
        found = {kind: sorted([*self[kind], *other[kind]], key=lambda pair: -pair[0]) for kind in KINDS}
        return Examples({kind: pairs[:EXAMPLES] for kind, pairs in found.items()})

    @classmethod
    def of(cls, found: Prediction, labels: Array, first: int) -> Examples:
        columns = [np.asarray(part) for part in (labels, found.top, found.confidence, found.none, found.ambiguous)]
        label, top, confidence, none, ambiguous = columns
        scores = (np.where(label != top, confidence, -1), none, ambiguous)
        kinds = cls()
        for kind, score in zip(KINDS, scores, strict=True):
            rows = [row for row in np.argsort(-score, kind="stable")[:EXAMPLES].tolist() if score[row] > 0]
            kinds[kind] = [
                (float(score[row]), Example(first + row, *(column[row].item() for column in columns))) for row in rows
            ]
        return kinds


class Cuts(dict[tuple[str, str], np.ndarray]):
    """Rows, right answers and the sum of confidences of each value of each cut."""

    def __add__(self, other: Cuts) -> Cuts:
        return Cuts(
            {key: self.get(key, 0) + other.get(key, 0) for key in [*self, *(k for k in other if k not in self)]}
        )


@dataclass(frozen=True)
class Usage(FieldwiseSum):
    """Answers without labels: the histogram of confidence, sums of none and ambiguous, and rows by most probable class
    (K,)."""

    histogram: Ece
    none: float
    ambiguous: float
    answers: Array

    @classmethod
    def of(cls, found: Prediction, hits: Array, classes: int) -> Usage:
        histogram = Ece.binned(np.asarray(found.confidence, np.float64), hits, BINS, "width")
        answers = np.bincount(np.asarray(found.top), minlength=classes)
        return cls(histogram, float(found.none.sum()), float(found.ambiguous.sum()), answers)

    @property
    def rows(self) -> int:
        return int(self.histogram.count.sum())


@dataclass(frozen=True)
class Details(FieldwiseSum):
    """`labels`, `right` (K,) are the rows of each label and those of them that are right, `confidence` (K,) the sum of
    the confidences of the answers of each class, which `usage.answers` counts."""

    usage: Usage
    labels: Array
    right: Array
    confidence: Array
    examples: Examples
    cuts: Cuts

    @classmethod
    def of(cls, scorer: Scorer, block: Block, first: int, groups: Groups) -> Details:
        found = scorer.predict(block.logits)
        top, confidence, classes = np.asarray(found.top), np.asarray(found.confidence, np.float64), scorer.classes
        hits = top == block.labels
        known = block.labels[block.labels != NONE]
        cuts = Cuts()
        for cut, values in groups.items():
            part = np.array([str(value) for value in values[first : first + len(top)]])
            for value in np.unique(part):
                rows = part == value
                cuts[cut, str(value)] = np.array([rows.sum(), hits[rows].sum(), confidence[rows].sum()])
        return cls(
            Usage.of(found, hits, classes),
            np.bincount(known, minlength=classes),
            np.bincount(top[hits], minlength=classes),
            np.bincount(top, confidence, minlength=classes),
            Examples.of(found, block.labels, first),
            cuts,
        )


def details_of(scorer: Scorer, blocks: Iterable[Block], groups: Groups | None = None) -> Details:
    """The details of labelled blocks; `groups` has one value per row for each cut."""
    given: Groups = groups or {}
    parts, first = [], 0
    for block in blocks:
        _check_lengths(given, first + len(block.logits), exact=False)
        parts.append(Details.of(scorer, block, first, given))
        first += len(block.logits)
    _check_lengths(given, first, exact=True)
    return reduce(add, parts)


def _check_lengths(groups: Groups, rows: int, *, exact: bool) -> None:
    for cut, values in groups.items():
        if len(values) < rows or (exact and len(values) > rows):
            more = "" if exact else " or more"
            raise ValueError(f"the column {cut!r} of groups has {len(values)} values for {rows}{more} rows")


def usage_of(scorer: Scorer, blocks: Iterable[Block]) -> Usage:
    """The usage of blocks without labels."""
    found = (scorer.predict(block.logits) for block in blocks)
    return reduce(add, (Usage.of(one, np.zeros(len(one), bool), scorer.classes) for one in found))
