"""Whether an exported classifier answers like the one it was made from: label, confidence, none, several, log_probs.

An output agrees if it is within `tolerance`: of the probabilities 1e-5 (1e-2 for a network in half precision), of
log-probabilities as much times max(1, |log p|). Two programs may round a logit differently, and at three places a last
digit decides: where two classes tie, where the confidence is the threshold, and on a step of a histogram or isotonic
map. So a row may also lie between what the classifier says after logits, and then the log-probabilities that the map
takes, are moved apart and together by a millionth of their size (2e-3 in half precision); they are counted as `edge`,
and the largest difference among them, which no tolerance bounds, as a map may be as steep as it likes, is `at_edge`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slova._backend import Array, floating, to_numpy
from slova.calibration import Calibrator
from slova.export.file_metadata import OUTPUTS, ExportError
from slova.scorer import Scorer

__all__ = ["Bounds", "Parity", "compare"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
EPSILON = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """How far outputs may lie apart, by what share of its size a logit may, and by how much the probability may of
    which the logit was made."""

    tolerance: float
    rounding: float
    probability: float = 0.0

    @classmethod
    def of(cls, *, half: bool, tolerance: float | None) -> Bounds:
        usual = cls(1e-2, 2e-3) if half else cls(1e-5, 1e-6)
        if tolerance is not None and not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie in (0, 1), got {tolerance}")
        return usual if tolerance is None else usual._replace(tolerance=tolerance)


class Parity(NamedTuple):
    """The rows compared, those of them at an edge, the largest difference of each output elsewhere, and the
    tolerance; `at_edge` is the largest difference of any output at an edge, which the tolerance does not bound."""

    rows: int
    edge: int
    confidence: float
    none: float
    several: float
    log_probs: float
    tolerance: float
    at_edge: float = 0.0

    @classmethod
    def of_none(cls, tolerance: float) -> Parity:
        """Before any rows were compared."""
        return cls(rows=0, edge=0, confidence=0.0, none=0.0, several=0.0, log_probs=0.0, tolerance=tolerance)

    def joined(self, other: Parity) -> Parity:
        """Of the rows of both."""
        largest = Parity._make(max(pair) for pair in zip(self, other, strict=True))
        return largest._replace(rows=self.rows + other.rows, edge=self.edge + other.edge)

    def __str__(self) -> str:
        edge = f", {self.edge} of them at an edge within {self.at_edge:.1g}" if self.edge else ""
        return f"confidence within {self.confidence:.1g} on {self.rows} rows{edge}"


def compare(
    found: tuple[Array, ...], scorer: Scorer, logits: Array, reject: float, bounds: Bounds, *, first: int = 0
) -> Parity:
    """The exported outputs for rows whose logits (N, K) are these, against the scorer; an error where they disagree,
    which counts the rows from `first`."""
    wanted = [_answers(scorer, logits, reject, bounds, sign) for sign in (0, 1, -1)]
    close, largest, at_edge = np.ones(len(logits), bool), {}, 0.0
    for name, output, *answers in zip(OUTPUTS, found, *wanted, strict=True):
        agreement = _agreement(name, to_numpy(output), answers, bounds.tolerance)
        if not agreement.between.all():
            raise ExportError(agreement.complaint(name, bounds.tolerance, first))
        close &= agreement.close
        if name != "label":
            largest[name] = float(agreement.difference[agreement.close].max(initial=0.0))
            at_edge = max(at_edge, float(agreement.difference[~agreement.close].max(initial=0.0)))
    return Parity(len(logits), int((~close).sum()), **largest, tolerance=bounds.tolerance, at_edge=at_edge)


def _answers(scorer: Scorer, logits: Array, reject: float, bounds: Bounds, sign: int) -> tuple[Floats, ...]:
    """What the scorer says of moved logits, through a map of moved log-probabilities."""
    if sign:
        share = sign * bounds.rounding
        logits = _moved_probs(logits, sign * bounds.probability) if bounds.probability else logits
        map = None if scorer.map is None else _Moved(scorer.map, share)
        scorer, logits = replace(scorer, map=map), _moved(logits, share, 1.0)
    answers = (*scorer.predict(logits, reject=reject), scorer(logits).log_probs)
    return tuple(to_numpy(answer).astype(np.float64) for answer in answers)


class _Moved:
    """A map of what rounding may have made of its log-probabilities. A map with steps takes probabilities, which near
    one are known to a share of one, and not of their logarithm."""

    elementwise: ClassVar[bool] = False
    order_preserving: ClassVar[bool] = False

    def __init__(self, map: Calibrator, share: float) -> None:
        self.map, self.share, self.least = map, share, 0.0 if map.order_preserving else 1.0

    def __call__(self, log_probs: Array) -> Array:
        moved = _moved(log_probs, self.share, self.least)
        return self.map(floating(moved, "log_probs")[1].clip(moved, None, 0.0))


def _moved(values: Array, share: float, least: float) -> Array:
    """The top of each row raised and the others lowered by a share of their size, which counts as at least `least`."""
    values, ops = floating(values, "values")
    step = share * ops.clip(abs(values), least, 1e30)
    top, index = ops.top(values)
    return ops.put(values - step, index, top + ops.take(step, index))


def _moved_probs(logits: Array, step: float) -> Array:
    """The same for probabilities sigmoid(f), moved by a step and kept off 0 and 1 as `slova.sklearn.members` does."""
    logits, ops = floating(logits, "logits")
    probs = ops.exp(-ops.softplus(-logits))
    index = ops.top(logits)[1]
    moved = ops.put(probs - step, index, ops.take(probs, index) + step)
    moved = ops.clip(moved, EPSILON, 1 - EPSILON)
    return ops.log(moved) - ops.log1p(-moved)


class _Agreement(NamedTuple):
    """Of each row: the difference, whether it is small, and whether it is small or due to the last digit (N,)."""

    difference: Floats
    close: Flags
    between: Flags

    def complaint(self, name: str, tolerance: float, first: int) -> str:
        row = int(np.argmax(np.where(self.between, -1.0, self.difference)))
        by = f"differs by {self.difference[row]:.2g}, more than {tolerance:g}" if name != "label" else "is another"
        rows = f"in {(~self.between).sum()} of {len(self.between)} rows{f' from row {first} on' if first else ''}"
        return f"the exported classifier does not answer like this one: {rows}, such as row {first + row}, {name} {by}"


def _agreement(name: str, found: NDArray[np.generic], wanted: list[Floats], tolerance: float) -> _Agreement:
    if found.shape != wanted[0].shape:
        raise ExportError(f"the exported {name} has the shape {found.shape}, wanted {wanted[0].shape}")
    if name == "label":
        same = np.stack([found == labels for labels in wanted])
        return _Agreement((~same[0]).astype(np.float64), same[0], np.asarray(same.any(axis=0)))
    values = found.astype(np.float64).reshape(len(found), -1)
    plain, *moved = (answers.reshape(values.shape) for answers in wanted)
    low, high = np.fmin.reduce([plain, *moved]), np.fmax.reduce([plain, *moved])
    scale = np.where(np.isfinite(plain), np.maximum(np.abs(plain), 1.0), 1.0)
    with np.errstate(invalid="ignore"):  # infinities of the same sign are equal, and so are two that are no number
        equal = (values == plain) | (np.isnan(values) & np.isnan(plain))
        difference = np.where(equal, 0.0, np.nan_to_num(np.abs(values - plain) / scale, nan=np.inf, posinf=np.inf))
        between = (values >= low - tolerance * scale) & (values <= high + tolerance * scale)
    close = difference <= tolerance
    return _Agreement(difference.max(axis=1), np.asarray(close.all(axis=1)), (close | between).all(axis=1))
