"""The default calibrator: one convex fit over K + 1 outcomes, the classes and NONE.

Log-odds f (..., K) and, where there are some, distances d >= 0 (..., D). With p = sigmoid(f), smoothed, f scaled first
where a network saturates,

    l1_k = log p_k,   l0_k = -log(1 - p_k),   a = a_0 - sum_j a_j d_j,   b = b_0 - sum_j b_j d_j,   t = (a + b) / 2
    S_k = (a + t A_k) l1_k + (b + t B_k) l0_k + t / t0 c_k + t sum_j W_jk l1_j,      P(k | not none) = softmax(S)
    logit P(none) = v + u log P_raw(none) - r log(1 - P_raw(none)) + h H + w d,  P(k) = (1 - P(none)) P(k | not none)

where H is the entropy of the class part and log P_raw(none) = -sum_k softplus(f_k). No class falls with its own
log-odds. A fit takes the part of this that the rows carry: a temperature, the shared numbers a and b, those per class
(A, B, c), or pairs of classes (W) as well. Beyond the largest distances of the fit a and b fall to a floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from slova._backend import NUMPY, Array, Backend, floating
from slova._types import DistanceRows, Distances, Groups, Labels, LogOdds, LogOddsRows, LogProbs, Outcomes, Weight
from slova._validation import check_distances, check_groups, check_rows, check_weight
from slova.calibration._posterior_choice import choose, folds, refit
from slova.calibration._posterior_fit import FARTHEST, LIMIT, Model, Rows
from slova.calibration._posterior_none import fit_none, none_features
from slova.heads import NONE, SOFTMAX

__all__ = ["BY_DISTANCE", "NEAREST", "PosteriorCalibration", "floored", "log_odds_from_log_probs", "steepness"]

NAMES = ("positive_weights", "negative_weights", "class_positive", "class_negative", "bias")
BY_DISTANCE = ("positive_weights", "negative_weights", "max_distances")
NEAREST = float(np.log(2))  # the least of `max_distances`, so that a layer without spread does not end it
FLOOR = 0.01  # between the first class and the last, however far away
EDGE, END = 1.5, 2.0  # times `max_distances`: where a and b begin to fall, where their floor is left


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorCalibration:
    """A fitted posterior over K classes and NONE.

    `positive_weights`, `negative_weights` (1 + D,), `class_positive`, `class_negative`, `bias` (K,) and `pairs` (K, K;
    first index l1, second S) are a_j, b_j, A, B, c and W; `reference` is t0; `max_distances` (D,) are the largest
    distances of the fit; `none` (3 + D,) is v, u, h, w, or None where the fit had no NONE rows: P(none) is then 0;
    `none_negative` is r. `none_share` is the prior of NONE, `part` the part of the model that was taken.
    """

    positive_weights: Array
    negative_weights: Array
    class_positive: Array
    class_negative: Array
    bias: Array
    pairs: Array | None = None
    scale: Array = 1.0
    smoothing: Array = 0.0
    reference: Array = 1.0
    max_distances: Array | None = None
    none: Array | None = None
    none_share: float | None = None
    part: str = "by hand"
    none_negative: Array = 0.0

    name: ClassVar[str] = "posterior"
    takes: ClassVar[str] = "log_odds"
    elementwise: ClassVar[bool] = False
    order_preserving: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in (*NAMES, "pairs", "max_distances", "none"):
            if (numbers := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(numbers, np.float64))
        for name in ("scale", "smoothing", "reference", "none_negative"):
            object.__setattr__(self, name, float(getattr(self, name)))
        _check_numbers(self)

    @property
    def classes(self) -> int:
        return len(self.class_positive)

    def __repr__(self) -> str:
        none = "no model of NONE" if self.none is None else f"NONE share {self.none_share:.3g}"
        distances = f", {len(self.positive_weights) - 1} distances" if len(self.positive_weights) > 1 else ""
        return f"PosteriorCalibration({self.classes} classes, part={self.part!r}{distances}, {none})"

    def __call__(self, log_odds: LogOdds, distances: Distances | None = None) -> Outcomes:
        """log-probabilities (..., K + 1), NONE last."""
        log_odds, ops = floating(log_odds, "log_odds")
        log_odds = ops.clip(log_odds, -FARTHEST, FARTHEST)
        distances = self.checked_distances(log_odds, distances, ops)
        log_probs = SOFTMAX.log_probs(self._scores(log_odds, distances, ops), ops)
        if self.none is None:
            return ops.append(log_probs, ops.full(log_probs[..., 0], -float("inf")))
        numbers, features = ops.like(self.none, log_odds), none_features(log_odds, log_probs, distances, ops)
        logit = numbers[0] + sum(number * feature for number, feature in zip(numbers[1:], features, strict=True))
        logit = logit - ops.like(self.none_negative, log_odds) * ops.log1mexp(features[0])
        return ops.append(log_probs - ops.softplus(logit)[..., None], -ops.softplus(-logit))

    def checked_distances(self, log_odds: Array, distances: Array | None, ops: Backend) -> Array | None:
        """The distances (..., D) that belong to log-odds (..., K), of their kind."""
        wanted = len(self.positive_weights) - 1
        if log_odds.shape[-1] != self.classes:
            raise ValueError(f"log_odds must have {self.classes} classes, got shape {tuple(log_odds.shape)}")
        if (distances is None) != (wanted == 0):
            given = "none: logits do not suffice" if distances is None else "some"
            raise ValueError(f"the fit had {wanted} distances, got {given}")
        if distances is None:
            return None
        distances = ops.like(distances, log_odds)
        if tuple(distances.shape) != (shape := (*log_odds.shape[:-1], wanted)):
            raise ValueError(f"distances must have shape {shape}, got {tuple(distances.shape)}")
        return distances

    def _scores(self, log_odds: Array, distances: Array | None, ops: Backend) -> Array:
        log_p, minus_log_q = self._terms(log_odds, ops)
        a, b = ops.like(self.positive_weights[0], log_odds), ops.like(self.negative_weights[0], log_odds)
        if distances is not None:
            numbers = (ops.like(getattr(self, name), distances) for name in BY_DISTANCE)
            a, b = floored(steepness(distances, *numbers, ops=ops), log_odds, ops)
        mean = (a + b) / 2
        scores = ops.clip(a + mean * ops.like(self.class_positive, log_odds), 0.0, None) * log_p
        scores = scores + ops.clip(b + mean * ops.like(self.class_negative, log_odds), 0.0, None) * minus_log_q
        scores = scores + mean / ops.like(self.reference, log_odds) * ops.like(self.bias, log_odds)
        return scores if self.pairs is None else scores + mean * (log_p @ ops.like(self.pairs, log_odds))

    def _terms(self, log_odds: Array, ops: Backend) -> tuple[Array, Array]:
        smoothing = ops.like(self.smoothing, log_odds)
        odds = ops.exp(ops.clip(ops.like(self.scale, log_odds) * log_odds, -LIMIT, LIMIT))
        share, constant = 1 / (1 + odds), ops.log1p(2 * smoothing)
        return ops.log(odds * share + smoothing) - constant, constant - ops.log(share + smoothing)

    def _model(self) -> Model:
        classes = np.stack([self.class_positive, self.class_negative, self.bias])
        shared = np.stack([self.positive_weights, self.negative_weights])
        return Model(shared, self.scale, self.smoothing, self.reference, classes, self.pairs)

    @classmethod
    def fit(
        cls,
        log_odds: LogOddsRows,
        labels: Labels,
        *,
        distances: DistanceRows | None = None,
        weight: Weight | None = None,
        none_share: float | None = None,
        none_weight: Weight | None = None,
        groups: Groups | None = None,
        own: Groups | None = None,
        order: Literal["auto", "keep"] = "auto",
        like: PosteriorCalibration | None = None,
        seed: int = 0,
    ) -> PosteriorCalibration:
        """The likeliest numbers; how much of the model is taken is decided on rows that a fit did not see.

        - distances: (N, D), finite and not negative; the confidence never increases with them
        - weight: how often each row counts
        - none_share: the prior of NONE, the share of the NONE rows of the fit by default; .05 is a good value where
          these are synthetic
        - none_weight: how often each row counts in the model of NONE, as `weight` says by default
        - groups: (N,), a number for each row; those of one group, such as versions of one image, are held out together
        - own: (N,), 1 for rows like the inputs to come, else 0: what may change the order of classes must pay on these
        - order: "keep" takes a temperature or the shared numbers only, which keep the order of the classes
        - like: an earlier fit, whose part of the model is taken without a new choice
        - seed: of the folds of the choice
        """
        rows = _rows(log_odds, labels, distances, (weight, none_weight), (groups, own))
        known = rows.labels != NONE
        if order not in ("auto", "keep"):
            raise ValueError(f"order must be 'auto' or 'keep', got {order!r}")
        if not known.any():
            raise ValueError(f"none of the {len(known)} rows has a class (NONE rows do not count)")
        if like is None:
            part, model = choose(rows.at(known), order, seed)
        else:
            part, model = like.part, refit(rows.at(known), like.part, like._model())
        fitted = cls(**_fields(model, rows), part=part)
        return fitted if known.all() else _with_none(fitted, rows, none_share, seed)


def log_odds_from_log_probs(log_probs: LogProbs) -> LogOdds:
    """log p - log(1 - p) of log-probabilities that sum to one per row, such as those of a softmax. 1 - p is the sum of
    the others, so that a probability near one keeps its digits.

    >>> log_odds_from_log_probs(np.log([[0.75, 0.25]])).round(3)
    array([[ 1.099, -1.099]])
    """
    log_probs, ops = floating(log_probs, "log_probs")
    return ops.clip(SOFTMAX.log_odds(log_probs, ops), -FARTHEST, FARTHEST)


def _check_numbers(value: PosteriorCalibration) -> None:
    classes, distances = value.class_positive.shape, value.positive_weights.shape
    if len(classes) != 1 or not value.class_negative.shape == value.bias.shape == classes:
        raise ValueError(f"class_positive, class_negative and bias must have one shape (K,), got {classes} and others")
    if len(distances) != 1 or value.negative_weights.shape != distances or not distances[0]:
        found = f"{distances} and {value.negative_weights.shape}"
        raise ValueError(f"positive_weights and negative_weights must have one shape (1 + D,), got {found}")
    if value.pairs is not None and value.pairs.shape != classes * 2:
        raise ValueError(f"pairs must have shape {classes * 2}, got {value.pairs.shape}")
    if value.none is not None and value.none.shape != (2 + distances[0],):
        raise ValueError(f"none must have shape {(2 + distances[0],)}, got {value.none.shape}")
    if distances[0] > 1 and (value.max_distances is None or value.max_distances.shape != (distances[0] - 1,)):
        raise ValueError(f"max_distances must hold {distances[0] - 1} numbers, one per distance")


def _rows(
    log_odds: Array,
    labels: Array,
    distances: Array | None,
    weights: tuple[Array | None, Array | None],
    kinds: tuple[Array | None, Array | None],
) -> Rows:
    """Checked, in float64, without the rows that count nothing."""
    log_odds, labels = check_rows(log_odds, labels, "log_odds")
    counts = np.ones(len(labels)) if weights[0] is None else check_weight(weights[0], labels)
    none_counts = counts if weights[1] is None else check_weight(weights[1], labels)
    log_odds = np.clip(log_odds.astype(np.float64), -FARTHEST, FARTHEST)
    factors = np.ones((len(labels), 1))
    if distances is not None:
        factors = np.column_stack([factors, -check_distances(distances, labels)])
    same, own = (None if part is None else check_groups(part, labels) for part in kinds)
    rows = Rows(log_odds, labels, counts, none_counts, factors, _floor(log_odds, NUMPY), same, own)
    return rows.at(counts > 0)


def steepness(distances: Array, positive: Array, negative: Array, furthest: Array, *, ops: Backend) -> list[Array]:
    """a and b at distances (..., D), before their floor, by the fields of `BY_DISTANCE`."""
    near = ops.clip((END - distances / furthest) / (END - EDGE), 0.0, 1.0).prod(-1)
    return [near * (weights[0] - (distances * weights[1:]).sum(-1)) for weights in (positive, negative)]


def floored(factors: list[Array], log_odds: Array, ops: Backend) -> list[Array]:
    """a and b (..., 1), at least their floor for log-odds (..., K)."""
    floor = _floor(log_odds, ops)
    return [ops.where(one > floor, one, floor)[..., None] for one in factors]


def _floor(log_odds: Array, ops: Backend) -> Array:
    return FLOOR / (1 + ops.top(log_odds)[0] + ops.top(-log_odds)[0])[..., 0]


def _fields(model: Model, rows: Rows) -> dict[str, Any]:
    classes = np.zeros((3, rows.log_odds.shape[1])) if model.classes is None else model.classes
    max_distances = np.maximum(-rows.factors[:, 1:].min(axis=0), NEAREST) if rows.factors.shape[1] > 1 else None
    numbers = dict(zip(NAMES, (*model.shared, *classes), strict=True))
    return numbers | {
        "pairs": model.pairs,
        "scale": model.scale,
        "smoothing": model.smoothing,
        "reference": model.reference,
        "max_distances": max_distances,
    }


def _with_none(fitted: PosteriorCalibration, rows: Rows, none_share: float | None, seed: int) -> PosteriorCalibration:
    distances = -rows.factors[:, 1:] if rows.factors.shape[1] > 1 else None
    features = none_features(rows.log_odds, fitted(rows.log_odds, distances)[:, :-1], distances, NUMPY)
    held_out = folds(rows._replace(weight=rows.none_weight), seed)
    numbers, negative, prior = fit_none(features, rows.labels == NONE, rows.none_weight, none_share, held_out)
    return replace(fitted, none=numbers, none_negative=negative, none_share=prior)
