"""Rows for scorers, and a scorer of every head and calibrator."""

import warnings

import numpy as np
import pytest

from slova._warnings import CalibrationWarning
from slova.calibration import CALIBRATORS
from slova.heads import HEADS, NONE
from slova.scorer import Scorer

CALIBRATIONS = {"none": None} | {name: name for name, kind in CALIBRATORS.items() if kind.takes != "logits"}


def _rows_of(seed=0, rows=1500, classes=6, none=0.2):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    logits = generator.normal(-3, 2, (rows, classes))
    inside = generator.random(rows) >= none
    logits[np.arange(rows), labels] += np.where(inside, generator.normal(5, 3, rows), 0)
    return logits, np.where(inside, labels, NONE)


def _values_of(head, logits):
    """Values of the kind that a head reads."""
    if head == "probabilities":
        odds = np.exp(logits - logits.max(-1, keepdims=True))
        return odds / odds.sum(-1, keepdims=True)
    if head.startswith("binary"):
        logits = logits[..., 1:2] - logits[..., :1]
    return 1 / (1 + np.exp(-logits)) if head.endswith("probabilities") else logits


def _drawn(head, seed=0, none=0.2, **options):
    """Values of the kind that a head reads, and labels."""
    classes = {"classes": 2} if head.startswith("binary") else {}
    logits, labels = _rows_of(seed, none=none, **options, **classes)
    return _values_of(head, logits), labels


def _with_distances(name, none):
    """Fits of a posterior without NONE rows have distances."""
    return name == "posterior" and not none


def _fitted(head, name, *, none=0.2, **options):
    values, labels = _drawn(head, none=none)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # not every calibrator suits every head
        given = {"distances": _distances_of(len(labels))} if _with_distances(name, none) else {}
        return Scorer.fit(values, labels, head=head, calibration=CALIBRATIONS[name], **given, **options)


def _distances_of(rows, seed=0):
    return np.random.default_rng(seed).exponential(size=(rows, 2))


CASES = [  # every head with every calibrator, each of them with NONE rows and without
    (head, name, 0.0 if (i + j) % 2 else 0.2) for i, head in enumerate(HEADS) for j, name in enumerate(CALIBRATIONS)
]


@pytest.fixture(
    scope="module", params=CASES, ids=[f"{head}-{name}-{'none' if none else 'known'}" for head, name, none in CASES]
)
def case(request):
    """A scorer, fresh values and the further arguments that it predicts them with."""
    head, name, none = request.param
    scorer = _fitted(head, name, none=none, rescale=name == "beta" and not head.endswith("probabilities"))
    values, labels = _drawn(head, seed=1)
    return scorer, values, {"distances": _distances_of(len(labels))} if _with_distances(name, none) else {}


@pytest.fixture(scope="session")
def rows_of():
    """A function to one-vs-all logits and labels, some of them NONE."""
    return _rows_of


@pytest.fixture(scope="session")
def values_of():
    """A function to values of the kind that a head reads."""
    return _values_of


@pytest.fixture(scope="session")
def drawn():
    """A function to values of the kind that a head reads, and labels."""
    return _drawn


@pytest.fixture(scope="session")
def fitted():
    """A function to a scorer of a head and a calibrator."""
    return _fitted
