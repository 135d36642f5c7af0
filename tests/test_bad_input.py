"""Every bad input of the numeric functions in one table, with the error it gives.

Heads let NaN through as NaN, like torch.softmax; everything that fits or counts refuses it.
"""

import re
from functools import partial

import numpy as np
import pytest
import torch

from slova import heads
from slova._backend import of
from slova.calibration import (
    AffineCalibration,
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PairHistogram,
    Pairs,
    TemperatureScaling,
    complete,
    cross_fit,
)
from slova.heads import HEADS, NONE, SLOVA
from slova.losses import init_bias, multilabel_loss, ova_loss
from slova.metrics import Selection
from slova.scorer import Scorer
from slova.thresholds import threshold_for

NAN, INF = float("nan"), float("inf")
LOG_PROBS = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 300))
LABELS = np.random.default_rng(1).integers(NONE, 3, 300)
SCORER = Scorer.fit(np.random.default_rng(2).normal(size=(300, 3)) + np.eye(4)[LABELS, :3], LABELS)
VALIDATION = Selection.histogram(np.linspace(0, 1, 100), np.arange(100) > 20)


def spoilt(value):
    rows = LOG_PROBS.copy()
    rows[7, 1] = value
    return rows


def with_label(label):
    labels = LABELS.copy()
    labels[5] = label
    return labels


LOG_HEADS = [getattr(heads, name) for name in heads.__all__ if name.startswith("log_")]
FITS = {
    "exponential": ExponentialCalibration.fit,
    "temperature": TemperatureScaling.fit,
    "beta": BetaCalibration.fit,
    "isotonic": IsotonicCalibration.fit,
    "histogram": HistogramBinning.fit,
    "affine": AffineCalibration.fit,
    "pairs": Pairs.of,
    "pair histogram": PairHistogram.of,
    "cross_fit": partial(cross_fit, BetaCalibration.fit),
    "scorer": Scorer.fit,
}
ON_LOGITS = {"affine", "scorer"}

ROWS = [  # of every function that fits or counts (rows, labels)
    ("nan", lambda: (spoilt(NAN), LABELS), ValueError, "must not be NaN, got NaN in 1 of 300 rows"),
    ("no rows", lambda: (LOG_PROBS[:0], LABELS[:0]), ValueError, "at least one of each, got (0, 3)"),
    ("no classes", lambda: (LOG_PROBS[:, :0], LABELS), ValueError, "at least one of each, got (300, 0)"),
    ("one axis", lambda: (LOG_PROBS[0], LABELS[:3]), ValueError, "must have shape (n_rows, n_classes)"),
    ("three axes", lambda: (LOG_PROBS[None], LABELS), ValueError, "got (1, 300, 3)"),
    ("integers", lambda: (np.zeros((300, 3), int), LABELS), TypeError, "must be floating point, got int64"),
    ("text", lambda: (np.full((300, 3), "a"), LABELS), TypeError, "must be floating point, got <U1"),
    ("fewer labels", lambda: (LOG_PROBS, LABELS[:-1]), ValueError, "labels (299,) do not match"),
    ("one-hot labels", lambda: (LOG_PROBS, np.eye(3, dtype=int)[LABELS]), ValueError, "labels (300, 3) do not match"),
    ("float labels", lambda: (LOG_PROBS, LABELS.astype(float)), TypeError, "labels must be integers, got float64"),
    ("label K", lambda: (LOG_PROBS, with_label(3)), ValueError, "labels must lie in [-1, 3), got values from -1 to 3"),
    ("label -2", lambda: (LOG_PROBS, with_label(-2)), ValueError, "labels must lie in [-1, 3), got values from -2 to"),
]
LOG_PROB_ROWS = [  # of those that take log-probabilities
    ("logits", lambda: (spoilt(2.0), LABELS), ValueError, "must be at most 0, got values up to 2; are these logits?"),
    ("+inf", lambda: (spoilt(INF), LABELS), ValueError, "must be at most 0, got values up to inf"),
    ("probabilities", lambda: (np.exp(LOG_PROBS), LABELS), ValueError, "are these logits?"),
]


def cases():
    for name, fit in FITS.items():
        table = ROWS if name in ON_LOGITS else ROWS + LOG_PROB_ROWS
        table = [row for row in table if (name, row[0]) != ("scorer", "one axis")]  # a problem of two classes
        for case, arguments, error, message in table:
            yield f"{name}: {case}", lambda fit=fit, arguments=arguments: fit(*arguments()), error, message
    takers = [(head.__name__, head) for head in LOG_HEADS] + [(head.name, head) for head in HEADS.values()]
    takers += [("top", SLOVA.top), ("complete", complete), ("scorer", SCORER.predict)]
    for name, taker in takers:
        for kind in (np.asarray, torch.as_tensor):
            for value, error, message in (
                (np.zeros((2, 3), int), TypeError, "must be floating point, got"),
                (np.zeros((2, 0)), ValueError, "), got (2, 0)"),
                (np.array(1.0), ValueError, "), got ()"),
            ):
                label = f"{name}: {kind.__name__} {value.dtype} {value.shape}"
                yield label, lambda taker=taker, kind=kind, value=value: taker(kind(value)), error, message
    yield from BY_HAND


def loss_of(logits=torch.zeros(2, 3), labels=torch.tensor([0, 1]), **options):  # noqa: B008
    return lambda: ova_loss(logits, labels, **options)


BY_HAND = [
    ("of: list", lambda: of([1.0]), TypeError, "expected a numpy array or a torch tensor, got list"),
    # losses
    ("loss: integers", loss_of(torch.zeros(2, 3, dtype=int)), TypeError, "floating point tensor, got torch.int64"),
    ("loss: numpy", loss_of(np.zeros((2, 3))), TypeError, "must be a floating point tensor, got numpy.ndarray"),
    ("loss: no classes", loss_of(torch.zeros(2, 0)), ValueError, "must have shape (..., n_classes), got (2, 0)"),
    ("loss: labels of a list", loss_of(labels=[0, 1]), TypeError, "labels must be a tensor, got list"),
    ("loss: float labels", loss_of(labels=torch.zeros(2)), TypeError, "labels must be integers, got torch.float32"),
    ("loss: bool labels", loss_of(labels=torch.ones(2) > 0), TypeError, "labels must be integers, got torch.bool"),
    ("loss: label K", loss_of(labels=torch.tensor([0, 3])), ValueError, "must lie in [-1, 3), got values from 0 to 3"),
    ("loss: label -2", loss_of(labels=torch.tensor([0, -2])), ValueError, "got values from -2 to 0"),
    ("loss: labels", loss_of(labels=torch.tensor([0])), ValueError, "labels (1,) do not match logits (2, 3)"),
    ("loss: weight", loss_of(weight=torch.ones(3)), ValueError, "weight (3,) does not match the rows (2,)"),
    ("loss: weight list", loss_of(weight=[1, 1]), TypeError, "weight must be a tensor, got list"),
    ("loss: reduction", loss_of(reduction="max"), ValueError, "'mean', 'sum' or 'none', got 'max'"),
    (
        "multilabel: targets",
        lambda: multilabel_loss(torch.zeros(2, 3), torch.zeros(2)),
        ValueError,
        "targets (2,) do not match logits (2, 3)",
    ),
    ("multilabel: list", lambda: multilabel_loss(torch.zeros(1, 1), [[1]]), TypeError, "targets must be a tensor"),
    ("init_bias", lambda: init_bias(torch.nn.Linear(2, 3, bias=False)), ValueError, "has no bias to set"),
    # thresholds
    (
        "no target",
        lambda: threshold_for(VALIDATION),
        ValueError,
        "either risk or coverage must be given, got risk=None and",
    ),
    ("two targets", lambda: threshold_for(VALIDATION, risk=0.1, coverage=0.5), ValueError, "either risk or"),
    ("risk", lambda: threshold_for(VALIDATION, risk=1.1), ValueError, "must lie in [0, 1], got 1.1"),
    ("risk nan", lambda: threshold_for(VALIDATION, risk=NAN), ValueError, "must lie in [0, 1], got nan"),
    ("coverage", lambda: threshold_for(VALIDATION, coverage=-0.1), ValueError, "must lie in [0, 1], got -0.1"),
    ("delta 0", lambda: threshold_for(VALIDATION, risk=0.5, delta=0), ValueError, "delta must lie in (0, 1)"),
    ("delta 2", lambda: threshold_for(VALIDATION, risk=0.5, delta=2), ValueError, "delta must lie in (0, 1)"),
    ("delta nan", lambda: threshold_for(VALIDATION, risk=0.5, delta=NAN), ValueError, "delta must lie in (0, 1)"),
    # scorer
    (
        "head",
        lambda: Scorer.fit(LOG_PROBS, LABELS, head="slovo"),
        ValueError,
        "one of auto, slova, ova, softmax, probabilities, ova_probabilities, binary, binary_probabilities, got 'slovo'",
    ),
    ("calibration", lambda: Scorer.fit(LOG_PROBS, LABELS, calibration="x"), ValueError, "calibration must be one of"),
    ("classes", lambda: SCORER.predict(np.zeros((2, 4))), ValueError, "logits must have shape (..., 3), got (2, 4)"),
    ("classes, raw", lambda: SCORER(torch.zeros(4)), ValueError, "logits must have shape (..., 3), got (4,)"),
]


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*rest, id=name) for name, *rest in cases()])
def test_bad_input_is_refused_with_what_came_and_what_was_wanted(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    assert type(caught.value) is error


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize(
    "numbers_of",
    [
        *LOG_HEADS,
        lambda rows: complete(rows).log_probs,
        TemperatureScaling(2.0),
        BetaCalibration(1, 1, 0),
        lambda rows: SCORER.predict(rows).confidence,
    ],
)
def test_what_only_computes_lets_nan_through_in_its_row(numbers_of, kind):
    found = np.asarray(numbers_of(kind(np.array([[NAN, -1.0, -2.0], [-1.0, -2.0, -3.0]]))))
    assert np.isnan(found[0]).any()
    assert np.isfinite(found[1]).all()
