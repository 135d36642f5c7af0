"""The dictionary of all metrics: one that joins it inherits every test of the contract and of the validation."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from slova import metrics
from slova.heads import NONE

ROWS, CLASSES = 90, 4


class Metric(NamedTuple):
    function: Callable[..., float]
    state: Callable[..., Any]
    read: Callable[[Any], Any]  # a state's value, or its Estimate
    arguments: Callable[..., tuple]  # probs, labels -> what the metric takes
    rounding: float = 1e-12


def rows(probs, labels):
    return probs, labels


def logs(probs, labels):
    return np.log(probs), labels, np.log((1.0 - probs.sum(axis=1)).clip(1e-9))


def alone(probs, labels):
    return (probs,)


def pair(probs, labels):
    return probs.max(axis=1)[labels != NONE], probs.max(axis=1)[labels == NONE]


def nll(log_probs, labels, log_none):
    return metrics.nll(log_probs, labels, log_none=log_none)


def nll_state(log_probs, labels, log_none):
    return metrics.Nll.of(log_probs, labels, log_none=log_none)


value = operator.attrgetter("value")
debiased = operator.attrgetter("debiased")
ROOT = 1e-7  # the root of a rounded zero
METRICS = {
    "accuracy": Metric(metrics.accuracy, metrics.Accuracy.of, value, rows),
    "accuracy, rejecting": Metric(
        partial(metrics.accuracy, reject=0.4), partial(metrics.Accuracy.of, reject=0.4), value, rows
    ),
    "nll": Metric(nll, nll_state, value, logs),
    "brier": Metric(metrics.brier, metrics.Brier.of, value, rows),
    "mmc": Metric(metrics.mmc, metrics.Mmc.of, value, alone),
    "ece": Metric(metrics.ece, metrics.Ece.of, value, rows),
    "ece, debiased": Metric(partial(metrics.ece, debiased=True), metrics.Ece.of, debiased, rows, ROOT),
    "ece, equal mass": Metric(partial(metrics.ece, binning="mass"), metrics.Selection.of, lambda s: s.ece(), rows),
    "classwise ece": Metric(metrics.classwise_ece, metrics.ClasswiseEce.of, value, rows),
    "classwise ece, debiased": Metric(
        partial(metrics.classwise_ece, debiased=True), metrics.ClasswiseEce.of, debiased, rows, ROOT
    ),
    "aurc": Metric(metrics.aurc, metrics.Selection.of, lambda s: s.aurc, rows),
    "auroc": Metric(metrics.auroc, metrics.Detection.of, lambda s: s.auroc, pair),
    "aupr": Metric(metrics.aupr, metrics.Detection.of, lambda s: s.aupr, pair),
    "fpr95": Metric(metrics.fpr95, metrics.Detection.of, lambda s: s.fpr95, pair),
}
LABELLED = {name: metric for name, metric in METRICS.items() if metric.arguments in (rows, logs)}


@pytest.fixture(params=METRICS.values(), ids=METRICS.keys(), scope="session")
def metric(request):
    return request.param


@pytest.fixture(params=LABELLED.values(), ids=LABELLED.keys(), scope="session")
def labelled(request):
    """A metric that takes labels."""
    return request.param


@pytest.fixture(scope="session")
def batch():
    return _batch


def _batch(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of sums in (0, 1), labelled by themselves, the missing mass as NONE; a fifth of them tied."""
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.full(CLASSES + 1, 0.5), size=ROWS).clip(1e-9, None)[:, :CLASSES] * 0.999
    probs[: ROWS // 5] = probs[0]
    labels = (generator.random((ROWS, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    labels[:4] = [NONE, NONE, 0, 1]
    return probs, np.where(labels == CLASSES, NONE, labels)
