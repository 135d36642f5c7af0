"""Compare the outputs of an exported classifier with those of the original.

Probabilities agree if they differ by at most `tolerance`, 1e-5 (1e-2 for a network in half precision),
log-probabilities if they differ by at most `tolerance` times max(1, |log p|), or their probabilities by no more than
rounding in float32. Two programs may round a logit
differently, and at three places the last digit matters: at a tie of two classes, at the threshold, and at a step of a
histogram or isotonic calibrator. So a row also agrees if it lies between the outputs of the original for logits, and
log-probabilities before calibration, that are perturbed up and down by a relative 1e-6 (2e-3 in half precision). Such
rows are counted as `edge`; `at_edge` is the largest difference among them, which is not bounded by the tolerance, as a
calibrator may be steep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array, floating, to_numpy
from slova.calibration import Calibrator
from slova.export.file_metadata import OUTPUTS, ExportError
from slova.scorer import Scorer

__all__ = ["Bounds", "Parity", "compare"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
SCORES = 32  # how much larger the scores of the posterior calibrator are than the log-probabilities they differ by
SINGLE = 2.0**-22  # the rounding error of a probability in float32, and of a difference of two
EPSILON = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """The tolerance of outputs, the relative rounding error of logits, and the absolute rounding error of probabilities
    that logits were computed from."""

    tolerance: float
    rounding: float
    probability: float = 0.0
    softmax: bool = False  # the logit is the logarithm of that probability, and not its log-odds

    @classmethod
    def of(cls, *, half: bool, tolerance: float | None) -> Bounds:
        usual = cls(1e-2, 2e-3) if half else cls(1e-5, 1e-6)
        if tolerance is not None and not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie in (0, 1), got {tolerance}")
        return usual if tolerance is None else usual._replace(tolerance=tolerance)


class Parity(NamedTuple):
    """The result of a comparison: the number of rows, of those at an edge, the largest difference of each output
    elsewhere, the tolerance, and the largest difference at an edge."""

    rows: int
    edge: int
    confidence: float
    none: float
    ambiguous: float
    log_probs: float
    tolerance: float
    at_edge: float = 0.0

    @classmethod
    def empty(cls, tolerance: float) -> Parity:
        """The result before any rows are compared."""
        return cls(rows=0, edge=0, confidence=0.0, none=0.0, ambiguous=0.0, log_probs=0.0, tolerance=tolerance)

    def joined(self, other: Parity) -> Parity:
        """The result for the rows of both."""
        largest = Parity._make(max(pair) for pair in zip(self, other, strict=True))
        return largest._replace(rows=self.rows + other.rows, edge=self.edge + other.edge)

    def __str__(self) -> str:
        edge = f", {self.edge} of them at an edge within {self.at_edge:.1g}" if self.edge else ""
        return f"confidence within {self.confidence:.1g} on {self.rows} rows{edge}"


def compare(
    found: tuple[Array, ...],
    scorer: Scorer,
    logits: Array,
    reject: float,
    bounds: Bounds,
    *,
    first: int = 0,
    distances: Array | None = None,
) -> Parity:
    """Compare exported outputs with those of the scorer for the same logits (N, K) and distances (N, D); an error if
    they disagree, whose message counts rows from `first`."""
    expected = [_answers(scorer, logits, reject, bounds, sign, distances) for sign in (0, 1, -1)]
    close, largest, at_edge = np.ones(len(logits), bool), {}, 0.0
    for name, output, *answers in zip(OUTPUTS, found, *expected, strict=True):
        agreement = _agreement(name, to_numpy(output), answers, bounds.tolerance)
        if not agreement.between.all():
            raise ExportError(agreement.message(name, bounds.tolerance, first))
        close &= agreement.close
        if name != "label":
            largest[name] = float(agreement.difference[agreement.close].max(initial=0.0))
            at_edge = max(at_edge, float(agreement.difference[~agreement.close].max(initial=0.0)))
    return Parity(len(logits), int((~close).sum()), **largest, tolerance=bounds.tolerance, at_edge=at_edge)


def _answers(
    scorer: Scorer, logits: Array, reject: float, bounds: Bounds, sign: int, distances: Array | None
) -> tuple[Floats, ...]:
    """The outputs of the scorer for perturbed logits and perturbed values before calibration."""
    logits, ops = scorer.head.check(logits, scorer.classes)
    if sign:
        share = sign * bounds.rounding
        step = sign * bounds.probability
        logits = _perturbed_probs(logits, step, softmax=bounds.softmax) if bounds.probability else logits
        calibrator: Any = None if scorer.calibrator is None else _Perturbed(scorer.calibrator, share)
        scorer, logits = replace(scorer, calibrator=calibrator), _perturbed(logits, share, 1.0)
        distances = None if distances is None else distances * (1 - share)
    answers = (*scorer.answer(logits, ops, reject, distances), scorer.readout(logits, ops, distances).log_probs)
    return tuple(to_numpy(answer).astype(np.float64) for answer in answers)


class _Perturbed:
    """A calibrator applied to perturbed log-probabilities or log-odds. One with steps acts on probabilities, whose
    rounding error near one is relative to one and not to their logarithm."""

    def __init__(self, calibrator: Calibrator, share: float) -> None:
        self.calibrator, self.share = calibrator, share
        self.elementwise, self.order_preserving = calibrator.elementwise, calibrator.order_preserving
        self.takes, self.none = getattr(calibrator, "takes", "log_probs"), getattr(calibrator, "none", None)

    def __call__(self, values: Array, *distances: Array) -> Array:
        perturbed = _perturbed(values, self.share, 0.0 if self.order_preserving else 1.0)
        if self.takes == "log_odds":
            return _perturbed(self.calibrator(perturbed, *distances), SCORES * self.share, 1.0)
        return self.calibrator(floating(perturbed, "log_probs")[1].clip(perturbed, None, 0.0))


def _perturbed(values: Array, share: float, least: float) -> Array:
    """The top of each row raised and the others lowered by a share of their magnitude, which is at least `least`."""
    values, ops = floating(values, "values")
    step = share * ops.clip(abs(values), least, 1e30)
    top, index = ops.top(values)
    return ops.put(values - step, index, top + ops.take(step, index))


def _perturbed_probs(logits: Array, step: float, *, softmax: bool) -> Array:
    """The same for probabilities: sigmoid(f), or those of softmax, whose logarithms are the logits."""
    logits, ops = floating(logits, "logits")
    probs = ops.exp(logits if softmax else -ops.softplus(-logits))
    index = ops.top(logits)[1]
    perturbed = ops.put(probs - step, index, ops.take(probs, index) + step)
    perturbed = ops.clip(perturbed, EPSILON, 1 - EPSILON)
    return ops.log(perturbed) - (0.0 if softmax else ops.log1p(-perturbed))


class _Agreement(NamedTuple):
    """Per row (N,): the difference, whether it is within the tolerance, and whether it is so or due to rounding."""

    difference: Floats
    close: Flags
    between: Flags

    def message(self, name: str, tolerance: float, first: int) -> str:
        row = int(np.argmax(np.where(self.between, -1.0, self.difference)))
        by = f"differs by {self.difference[row]:.2g}, more than {tolerance:g}" if name != "label" else "differs"
        rows = f"in {(~self.between).sum()} of {len(self.between)} rows{f' from row {first} on' if first else ''}"
        return f"the exported classifier disagrees with the original: {rows}, such as row {first + row}, {name} {by}"


def _agreement(name: str, found: NDArray[np.generic], expected: list[Floats], tolerance: float) -> _Agreement:
    if found.shape != expected[0].shape:
        raise ExportError(f"the exported {name} has the shape {found.shape}, expected {expected[0].shape}")
    if name == "label":
        same = np.stack([found == labels for labels in expected])
        return _Agreement((~same[0]).astype(np.float64), same[0], np.asarray(same.any(axis=0)))
    values = found.astype(np.float64).reshape(len(found), -1)
    plain, *perturbed = (answers.reshape(values.shape) for answers in expected)
    low, high = np.fmin.reduce([plain, *perturbed]), np.fmax.reduce([plain, *perturbed])
    scale = np.where(np.isfinite(plain), np.maximum(np.abs(plain), 1.0), 1.0)
    with np.errstate(invalid="ignore"):  # infinities of the same sign are equal, and so are two NaN
        equal = (values == plain) | (np.isnan(values) & np.isnan(plain))
        difference = np.where(equal, 0.0, np.nan_to_num(np.abs(values - plain) / scale, nan=np.inf, posinf=np.inf))
        between = (values >= low - tolerance * scale) & (values <= high + tolerance * scale)
    close = difference <= tolerance
    if name == "log_probs":
        close |= np.abs(np.exp(values) - np.exp(plain)) <= SINGLE
        difference = np.where(close, np.minimum(difference, tolerance), difference)
    return _Agreement(difference.max(axis=1), np.asarray(close.all(axis=1)), (close | between).all(axis=1))
