"""How much of `PosteriorCalibration` the data carry: by negative log-likelihood on rows that a fit did not see."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slova.calibration._posterior_fit import (
    FARTHEST,
    LIMIT,
    Model,
    Rows,
    fit_classes,
    fit_pairs,
    fit_shared,
    fit_temperature,
    nll,
    scores,
    terms_of,
)

Vector = NDArray[np.float64]

SMOOTHINGS = (0.0, 1e-4, 1e-3, 1e-2)
FEWEST_ROWS = 30  # below, a temperature is all that is fitted
MOST_CLASSES, MOST_PAIRS = 199, 50  # of which numbers per class and per pair of classes are fitted
FOLDS, FEW_FOLDS, SMALL = 5, 2, 30_000  # beyond so many rows times classes two of the folds are looked at
MOST = 1_000_000  # rows times classes that a choice looks at
CAUTIOUS, CAUTION = 150, 1.0  # a gain must exceed 150 / n standard errors, and one where the order can change


PARTS = ("temperature", "shared", "classes", "pairs")
ORDER_KEPT = PARTS[:2]


class Terms(NamedTuple):
    scale: float
    smoothing: float
    values: Vector


def choose(rows: Rows, order: str, seed: int) -> tuple[str, Model]:
    """The name of the part that is taken, and its model."""
    deepest = _deepest(rows, order)
    looked_at = _thinned(rows, seed)
    scale = _scale(looked_at)
    plain = Terms(scale, 0.0, terms_of(looked_at.log_odds, scale, 0.0))
    smooth = plain if deepest == "temperature" else _smooth_terms(looked_at, plain)
    models = path(looked_at, plain, smooth, looked_at.weight, deepest, {})
    part = _best(looked_at, plain, smooth, models, deepest, seed)
    if looked_at is not rows:
        plain, smooth = _both_terms(rows, scale, smooth.smoothing)
        models = path(rows, plain, smooth, rows.weight, part, models)
    return part, models[part]


def refit(rows: Rows, part: str, model: Model) -> Model:
    """The part, scale and smoothing of a model, fitted to other rows, from its numbers on."""
    plain, smooth = _both_terms(rows, model.scale, model.smoothing)
    starts = {} if part == "temperature" else dict.fromkeys(PARTS[: PARTS.index(part) + 1], model)
    return path(rows, plain, smooth, rows.weight, part, starts)[part]


def _both_terms(rows: Rows, scale: float, smoothing: float) -> tuple[Terms, Terms]:
    """Without smoothing, as a temperature takes them, and with it."""
    plain = Terms(scale, 0.0, terms_of(rows.log_odds, scale, 0.0))
    return plain, Terms(scale, smoothing, terms_of(rows.log_odds, scale, smoothing)) if smoothing else plain


def _deepest(rows: Rows, order: str) -> str:
    classes = rows.log_odds.shape[1]
    if rows.total < FEWEST_ROWS or len(np.unique(rows.labels)) < 2:
        return "temperature"
    if order == "keep" or classes > MOST_CLASSES:
        return "shared"
    return "classes" if classes > MOST_PAIRS else "pairs"


def _scale(rows: Rows) -> float:
    """1, or where most rows saturate what brings all log-odds within the limit. Infinite ones, which a forest gives,
    saturate at any scale."""
    size = np.abs(rows.log_odds)
    finite = size.max(axis=1) < FARTHEST
    saturated = finite & (rows.log_odds.max(axis=1) > LIMIT)
    if rows.weight @ saturated <= rows.weight @ finite / 2:
        return 1.0
    return float(LIMIT / size[finite].max())


def _smooth_terms(rows: Rows, plain: Terms) -> Terms:
    """Those of the likeliest shared numbers; `plain` are without smoothing."""
    tried, losses, found = [], [], None
    for smoothing in SMOOTHINGS:
        values = terms_of(rows.log_odds, plain.scale, smoothing) if smoothing else plain.values
        tried.append(Terms(plain.scale, smoothing, values))
        found = fit_shared(rows, tried[-1].values, rows.weight, np.eye(2, rows.factors.shape[1]), found)
        losses.append(rows.weight @ nll(scores(rows, Model(found), tried[-1].values), rows.labels))
    return tried[int(np.argmin(losses))]


def path(
    rows: Rows, plain: Terms, smooth: Terms, weight: Vector, deepest: str, starts: Mapping[str, Model]
) -> dict[str, Model]:
    """The models by name, each the beginning of the next, down to the deepest."""
    temperature = _temperature(rows, plain, weight, starts.get("temperature"))
    models = {"temperature": temperature}
    if deepest == "temperature":
        return models
    start = starts["shared"].shared if "shared" in starts else None
    found = Model(fit_shared(rows, smooth.values, weight, temperature.shared, start), smooth.scale, smooth.smoothing)
    models["shared"] = found
    if deepest == "shared":
        return models
    start = starts["classes"].classes if "classes" in starts else None
    found = models["classes"] = fit_classes(rows, found, smooth.values, weight, start)
    if deepest == "pairs":
        start = starts["pairs"].pairs if "pairs" in starts else None
        models["pairs"] = fit_pairs(rows, found, smooth.values, weight, start)
    return models


def _temperature(rows: Rows, terms: Terms, weight: Vector, start: Model | None) -> Model:
    """Where probabilities sum to one the scores of a temperature are log p, otherwise the log-odds."""
    softmax = np.abs((1 / (1 + np.exp(-np.clip(rows.log_odds, -LIMIT, LIMIT)))).sum(axis=1) - 1).max() < 0.01
    evidence = terms.values[0] if softmax else terms.values.sum(axis=0)
    inverse = fit_temperature(rows, evidence, weight, 1.0 if start is None else start.shared[0, 0])
    shared = np.zeros((2, rows.factors.shape[1]))
    shared[:, 0] = inverse, 0.0 if softmax else inverse
    return Model(shared, terms.scale)


def _best(rows: Rows, plain: Terms, smooth: Terms, models: Mapping[str, Model], deepest: str, seed: int) -> str:
    """From the temperature on, what is better on rows not seen than what was best so far, by enough to be believed.

    What may change the order of the classes is judged by the own rows: what pays on versions of them, such as images
    degraded in some ways, does not pay on images that are degraded in others (`benchmarks/order.py`)."""
    best = "temperature"
    if len(models) == 1:
        return best
    count = FOLDS if rows.total * rows.log_odds.shape[1] <= SMALL else FEW_FOLDS
    losses = {name: np.zeros(len(rows.labels)) for name in models}
    seen = np.zeros(len(rows.labels))
    for held_out in itertools.islice(folds(rows, seed), count):
        seen += held_out
        for name, model in path(rows, plain, smooth, np.maximum(rows.weight - held_out, 0.0), deepest, models).items():
            terms = plain if name == "temperature" else smooth
            losses[name] += held_out * nll(scores(rows, model, terms.values), rows.labels)
    own = seen if rows.own is None else seen * rows.own
    for name in models:
        kept = name in ORDER_KEPT
        caution = max(CAUTIOUS / rows.total, 0.0 if kept else CAUTION)
        if _pays(losses[best] - losses[name], seen, seen if kept else own, caution):
            best = name
    return best


def _pays(gains: Vector, seen: Vector, counts: Vector, caution: float) -> bool:
    """Whether gains, summed over folds in which rows were seen so often, are positive by so many standard errors."""
    if not counts.any():
        return False
    gain = np.divide(gains, seen, out=np.zeros_like(seen), where=seen > 0)
    mean = counts @ gain / counts.sum()
    return bool(mean > caution * np.sqrt(counts @ (gain - mean) ** 2) / counts.sum())


def folds(rows: Rows, seed: int) -> Iterator[Vector]:
    """How often each row counts in each of the folds: every fifth unit of weight, equal rows side by side. A row that
    counts twice is in the folds of two equal rows; rows of one group are in one fold. Folds are not stratified: each
    would have the class shares of the sample, and a bias that fits these would seem to be right for other rows."""
    if rows.groups is not None:
        known, group = np.unique(rows.groups, return_inverse=True)
        number = np.random.default_rng(seed).permutation(len(known))[group] % FOLDS
        yield from (np.where(number == fold, rows.weight, 0.0) for fold in range(FOLDS))
        return
    order = np.lexsort((rows.labels, np.cos(1e4 * _key(rows, seed))))
    unit = min(1.0, float(rows.weight.mean()))
    ends = np.append(0.0, np.cumsum(rows.weight[order])) / unit
    for fold in range(FOLDS):
        inside = ends // FOLDS + np.clip(ends % FOLDS - fold, 0, 1)
        share = np.empty(len(order))
        share[order] = unit * np.diff(inside)
        yield share


def _thinned(rows: Rows, seed: int) -> Rows:
    """As many of the rows as a choice looks at, the same whatever their order."""
    most = MOST / rows.log_odds.shape[1]
    if rows.total <= most:
        return rows
    order = np.argsort(np.cos(1e4 * _key(rows, seed)), kind="stable")
    ends = np.cumsum(rows.weight[order])
    weight = np.clip(most - (ends - rows.weight[order]), 0, rows.weight[order])
    return rows.at(order[weight > 0])._replace(weight=weight[weight > 0])


def _key(rows: Rows, seed: int) -> Vector:
    """A number for each row, the same for equal rows."""
    parts = np.column_stack([np.clip(rows.log_odds, -LIMIT, LIMIT), rows.factors])
    return np.asarray(np.einsum("nk,k->n", parts, np.random.default_rng(seed).normal(size=parts.shape[1])))
