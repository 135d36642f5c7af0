"""A fixed-size histogram of confidence for the metrics that need ranks.

The cells are finest near 0 and 1, where most confidences are: at most 2^-12 wide, and from 0 and from 1 outwards every
octave [2^-e, 2^-e+1) has at least 32 of them, down to the last number below 1 and to 2^-54 above 0; exactly 0 and
exactly 1 have cells of their own (0 with the subnormal numbers, which some machines flush to it). All edges are
dyadic, the same numbers on every machine. Each cell keeps the least and the largest confidence it saw, so that a cell
of ties is recognised and its order is exact: only rows of one cell with different confidences are uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from slova._mergeable import LEAST, MOST, SUM, Mergeable
from slova._validation import Flags, Floats
from slova.metrics.binning import Counts, sums

__all__ = ["CELLS", "ConfidenceHistogram"]


def _edges() -> Floats:
    sizes = {e: max(2048 >> e, 32) for e in range(1, 54)}  # cells per octave
    octaves = [(1.0 + np.arange(cells) / cells) * 2.0 ** -(e + 1) for e, cells in sizes.items()]
    below_half = np.concatenate([*octaves, [0.5]])
    return np.unique(np.concatenate([[0.0, np.finfo(np.float64).tiny], below_half, 1.0 - below_half, [1.0]]))


EDGES = _edges()
CELLS = len(EDGES)


@dataclass(frozen=True, eq=False)
class ConfidenceHistogram(Mergeable):
    """Rows, rows of one kind (`hits`), and sum, least and largest confidence per cell (CELLS,), by confidence."""

    count: Counts = field(metadata=SUM)
    hits: Counts = field(metadata=SUM)
    total: Floats = field(metadata=SUM)
    least: Floats = field(metadata=LEAST)
    largest: Floats = field(metadata=MOST)

    @classmethod
    def histogram(cls, confidence: Floats, hits: Flags) -> Self:
        cell = np.searchsorted(EDGES, confidence, side="right") - 1
        least, largest = np.full(CELLS, np.inf), np.full(CELLS, -np.inf)
        np.minimum.at(least, cell, confidence)
        np.maximum.at(largest, cell, confidence)
        count, of_kind = np.bincount(cell, minlength=CELLS), np.bincount(cell[hits], minlength=CELLS)
        return cls(count, of_kind, sums(cell, confidence, CELLS), least, largest)

    @property
    def uncertain(self) -> Flags:
        """Whether a cell holds different confidences, whose order is lost."""
        return self.least < self.largest
