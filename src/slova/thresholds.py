"""Thresholds of the confidence with a guarantee: a bound on the share of errors among the answered inputs (risk), or on
the share of inputs that are answered (coverage).

>>> rng = np.random.default_rng(0)
>>> confidence = rng.uniform(0.5, 1, 2000)
>>> hits = rng.random(2000) < confidence                         # whether each answer is right
>>> validation = selection_of(confidence, hits)
>>> round(threshold_for(validation, risk=0.1), 3)                # `reject`: at most 10 % errors among the answers
0.836
>>> round(threshold_for(validation, coverage=0.8), 3)            # at least 80 % are answered
0.591

`classifier.threshold(images, labels, risk=0.1)` does the same.

Both guarantees hold with probability 1 - delta over the draw of the labelled rows. They assume that these rows and the
inputs to come are independent draws from one distribution, and that the rows were not used to fit what gives the
confidence. A strictly increasing calibrator of single probabilities (exponential, beta) may be fitted on them, because
it changes no order. With cross-fitted confidences the guarantee is approximate.

Risk. At a threshold t with n rows answered and e errors, P(Binomial(n, risk) <= e) is a p-value of "the risk at t is
above `risk`". Thresholds are tested from the most confident row down, and the lowest one before the first that is not
rejected is taken: fixed-sequence testing (Angelopoulos et al., Learn then Test, 2021), in which delta is not divided by
the number of thresholds. The most confident rows are too few to reject anything, so a sequence starts at each of six
numbers of answered rows with a sixth of delta, and takes over the share of each start that it arrives at (the fallback
procedure, Wiens 2003). Theorem: if the risk, as a function of the threshold, is above `risk` exactly below some t0,
P(risk of the threshold taken > risk) <= delta. Proof: given the number m of rows above t0, their errors are
Binomial(m, risk). A wrong threshold is taken only if the test at t0, whose level is at most the sum of the starts up to
m, or one of the starts beyond rejects wrongly: delta in all, by the union bound. (A risk that crosses `risk` more than
once is not covered by this proof; the tests simulate one.)

Coverage. The share of inputs above the k-th largest of N confidences is distributed as Beta(k, N - k + 1), or larger
where confidences tie. The threshold is the k-th largest confidence with the least k for which P(Beta >= coverage) is at
least 1 - delta, or 0, which answers every input, where there is none.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from slova._backend import to_numpy
from slova._types import Confidence, Hits, Weight
from slova._validation import Flags, Ints, check_confidence
from slova.metrics import Selection

__all__ = ["selection_of", "threshold_for"]

STARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)  # shares of the rows, where sequences of tests start


def selection_of(confidence: Confidence, hits: Hits, *, weight: Weight | None = None) -> Selection:
    """What `threshold_for` takes, from confidences (N,) and whether each answer is right (N,)."""
    column, right = check_confidence(confidence, "confidence"), to_numpy(hits)
    if not len(column) or right.shape != column.shape or right.dtype.kind != "b":
        raise ValueError(f"hits must be as many booleans as confidence {column.shape}, got {right.dtype} {right.shape}")
    return Selection.histogram(column, right) if weight is None else Selection.weighted(column, right, to_numpy(weight))


def threshold_for(
    validation: Selection, *, risk: float | None = None, coverage: float | None = None, delta: float | None = 0.05
) -> float:
    """The least confidence to answer with.

    validation: confidences of labelled rows and whether the answers are right, see `selection_of`.
    risk: the lowest threshold that keeps the share of errors among the answered inputs at most this.
    coverage: the highest threshold that keeps the share of answered inputs at least this.
    delta: how often the guarantee may fail. None: no guarantee, the shares of the validation rows are taken instead.

    The threshold lies above every validation confidence that is rejected. Weights must be whole numbers, which count a
    row that often, or `delta` must be None.
    """
    if (risk is None) == (coverage is None):
        raise ValueError(f"either risk or coverage must be given, got risk={risk} and coverage={coverage}")
    target = coverage if risk is None else risk
    if target is None or not 0 <= target <= 1:
        raise ValueError(f"risk and coverage must lie in [0, 1], got {target}")
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), or be None for no guarantee, got {delta}")
    if delta is not None and validation.count.dtype.kind == "f":
        raise ValueError(
            "the validation rows have weights that are not whole numbers, which have no guarantee: pass delta=None"
        )
    if coverage is not None:
        return _covering(validation, coverage, delta)
    return _above_the_rejected(validation, _bounding(validation, target, delta))


def _covering(validation: Selection, coverage: float, delta: float | None) -> float:
    shares = validation.risk_coverage.coverage
    if delta is not None:
        from scipy.special import betaincinv

        rows = float(validation.count.sum())
        shares = betaincinv(shares * rows, (1 - shares) * rows + 1, delta)
    enough = shares >= coverage - 1e-12
    return _above_the_rejected(validation, int(enough.argmax())) if enough.any() else 0.0


def _bounding(validation: Selection, risk: float, delta: float | None) -> int:
    """The last point of the curve that keeps this risk, or an error that names the least possible one."""
    curve, rows = validation.risk_coverage, int(validation.count.sum())
    answered = np.round(curve.coverage * rows).astype(np.int64)
    errors = np.round(curve.risk * answered).astype(np.int64)

    def last(risk: float) -> int:
        accepted = curve.risk <= risk if delta is None else _accepted(answered, errors, risk, delta)
        return int(np.flatnonzero(accepted)[-1]) if accepted.any() else -1

    point = last(risk)
    if point >= 0:
        return point
    low, high = int(risk * 1e4), 10_000  # in steps of 1e-4; a risk of 1 is always possible
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if last(middle / 1e4) >= 0 else (middle, high)
    seen = "" if delta is None else f", where {curve.risk[last(high / 1e4)]:.4f} was observed"
    least = f"the least possible with {rows} validation rows is {high / 1e4:g}{seen}"
    raise ValueError(f"no threshold guarantees a risk of {risk:g}: {least}")


def _accepted(answered: Ints, errors: Ints, risk: float, delta: float) -> Flags:
    """At which points of the curve a risk above this is rejected, in sequences from each start."""
    from scipy.special import bdtr

    if risk >= 1:
        return np.ones(len(answered), bool)
    p_values = bdtr(errors, answered, risk)
    least = np.log(delta / len(STARTS)) / np.log1p(-risk) if risk > 0 else np.inf  # rows that can reject without error
    needed = np.minimum(np.maximum(np.array(STARTS) * answered[-1], least), answered[-1])
    starts = np.unique(np.searchsorted(answered, needed))
    accepted, level = np.zeros(len(answered), bool), 0.0
    for first, end in pairwise([*starts, len(answered)]):
        level += delta / len(starts)
        small = p_values[first:end] <= level
        accepted[first:end] = np.logical_and.accumulate(small)
        level = level if small.all() else 0.0
    return accepted


def _above_the_rejected(validation: Selection, point: int) -> float:
    """Slightly less than the least confidence that is answered, so that rounding in another dtype does not reject its
    row; at most halfway to the next one, and not less where float32 would round it to that."""
    full = validation.count > 0
    answered = validation.least[full][::-1][point]
    rejected = np.append(validation.largest[full][::-1], -np.inf)[point + 1]
    less = max(answered * (1 - 1e-6), (answered + rejected) / 2)
    return float(less if np.float32(less) > np.float32(rejected) else answered)
