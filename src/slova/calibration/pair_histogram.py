"""(probability, hit) pairs of a stream of batches in a fixed size, so that no billion pairs have to be sorted.

Cells are geometric in t = -log p, 256 per octave from t = 2^-54 to 2^10, with cells of their own for p = 1 and p = 0;
each keeps the number of pairs, of hits, and the sum of the probabilities. A calibrator changes little over a cell, and
within one the moving averages are linear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from slova._backend import Array
from slova._mergeable import SAME, SUM, Mergeable
from slova._types import Labels, LogProbRows, PairSums
from slova._validation import check_rows
from slova.calibration.pairs import Pairs, Which, pair

__all__ = ["PairHistogram"]

PER_OCTAVE, LOWEST, OCTAVES = 256, -54, 64
CELLS = OCTAVES * PER_OCTAVE + 2
CHUNK = 1 << 18  # pairs at a time: a few megabytes of scratch


@dataclass(frozen=True, eq=False)
class PairHistogram(Mergeable):
    """Merges with `+`; `pairs` gives what a fit takes. Cells are in order of falling probability, p = 1 first and p = 0
    last.

    >>> batches = [(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))] * 3
    >>> merged = sum((PairHistogram.of(*batch) for batch in batches[1:]), PairHistogram.of(*batches[0]))
    >>> merged.pairs.count, merged.pairs.hits
    (array([3., 3., 3., 3.]), array([0., 3., 0., 3.]))
    """

    count: PairSums = field(metadata=SUM)
    hits: PairSums = field(metadata=SUM)
    total: PairSums = field(metadata=SUM)
    which: str = field(metadata=SAME)

    @classmethod
    def of(cls, log_probs: LogProbRows, labels: Labels, *, which: Which = "all") -> Self:
        """The histogram of a batch (N, K) with its labels (N,)."""
        log_probs, labels = check_rows(log_probs, labels)
        sums = np.zeros((3, CELLS))
        rows = max(1, CHUNK // log_probs.shape[1])
        for first in range(0, len(labels), rows):
            values, hits = pair(log_probs[first : first + rows], labels[first : first + rows], which)
            place = _cells(values)
            sums[0] += np.bincount(place, minlength=CELLS)
            sums[1] += np.bincount(place[hits], minlength=CELLS)
            sums[2] += np.bincount(place, np.exp(values, dtype=np.float64), CELLS)
        return cls(sums[0], sums[1], sums[2], which)

    @property
    def pairs(self) -> Pairs:
        seen = np.flatnonzero(self.count)[::-1]
        mean = self.total[seen] / self.count[seen]
        with np.errstate(divide="ignore"):
            log_p = np.where(mean > 1e-300, np.log(mean), -_middle(seen))  # e^-t may be too small for a number
        return Pairs(np.minimum(log_p, 0.0), self.count[seen], self.hits[seen])


def _cells(log_probs: Array) -> Array:
    t = np.clip(-log_probs, 0.0, 2.0 ** (LOWEST + OCTAVES - 1) * (2 - 2**-20))
    mantissa, octave = np.frexp(t)
    place = (octave - (LOWEST + 1)) * PER_OCTAVE + ((mantissa - 0.5) * (2 * PER_OCTAVE)).astype(np.int32)
    place = np.where(t < 2.0**LOWEST, -1, place) + 1
    return np.where(np.isneginf(log_probs), CELLS - 1, place)


def _middle(cell: Array) -> Array:
    """The t in the middle of a cell, infinite for p = 0."""
    octave, step = np.divmod(cell - 1, PER_OCTAVE)
    return np.where(cell == CELLS - 1, np.inf, np.ldexp(1 + (step + 0.5) / PER_OCTAVE, LOWEST + octave))
