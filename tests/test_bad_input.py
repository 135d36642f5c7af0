"""Every bad input of the library's numeric doors in one table: what came, and the error or the number it gives.

Heads let NaN through as NaN, like torch.softmax; everything that fits or counts refuses it.
"""

import re
import warnings
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
from slova.calibration.exponential import smoothed
from slova.calibration.module import CalibratorModule
from slova.heads import NONE
from slova.losses import init_bias, multilabel_loss, ova_loss
from slova.metrics import Selection
from slova.scorer import Scorer
from slova.thresholds import threshold_for

NAN, INF = float("nan"), float("inf")
LOG_PROBS = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 300))
LABELS = np.random.default_rng(1).integers(NONE, 3, 300)
SCORER = Scorer.fit(np.random.default_rng(2).normal(size=(300, 3)), LABELS)
VALIDATION = Selection.histogram(np.linspace(0, 1, 100), np.arange(100) > 20)


def spoilt(value):
    rows = LOG_PROBS.copy()
    rows[7, 1] = value
    return rows


def with_label(label):
    labels = LABELS.copy()
    labels[5] = label
    return labels


HEADS = [getattr(heads, name) for name in heads.__all__ if name.startswith("log_")]
READOUTS = [heads.OVA, heads.SLOVA, heads.SOFTMAX]
FITS = {
    "exponential": ExponentialCalibration.fit,
    "temperature": TemperatureScaling.fit,
    "beta": BetaCalibration.fit,
    "isotonic": IsotonicCalibration.fit,
    "histogram": HistogramBinning.fit,
    "affine": AffineCalibration.fit,
    "pairs": Pairs.of,
    "sketch": PairHistogram.of,
    "cross_fit": partial(cross_fit, BetaCalibration.fit),
    "scorer": Scorer.fit,
}
ON_LOGITS = {"affine", "scorer"}

DOOR = [  # of every function that fits or counts (rows, labels)
    ("nan", lambda: (spoilt(NAN), LABELS), ValueError, "hold NaN in 1 of 300 rows"),
    ("no rows", lambda: (LOG_PROBS[:0], LABELS[:0]), ValueError, "with at least one of each, got shape (0, 3)"),
    ("no classes", lambda: (LOG_PROBS[:, :0], LABELS), ValueError, "with at least one of each, got shape (300, 0)"),
    ("one axis", lambda: (LOG_PROBS[0], LABELS[:3]), ValueError, "must be (rows, classes)"),
    ("three axes", lambda: (LOG_PROBS[None], LABELS), ValueError, "got shape (1, 300, 3)"),
    ("integers", lambda: (np.zeros((300, 3), int), LABELS), TypeError, "must be floating point, got int64"),
    ("text", lambda: (np.full((300, 3), "a"), LABELS), TypeError, "must be floating point, got <U1"),
    ("fewer labels", lambda: (LOG_PROBS, LABELS[:-1]), ValueError, "labels (299,) do not match"),
    ("one-hot labels", lambda: (LOG_PROBS, np.eye(3, dtype=int)[LABELS]), ValueError, "labels (300, 3) do not match"),
    ("float labels", lambda: (LOG_PROBS, LABELS.astype(float)), TypeError, "labels must be integers, got float64"),
    ("label K", lambda: (LOG_PROBS, with_label(3)), ValueError, "labels must lie in [-1, 3), got values from -1 to 3"),
    ("label -2", lambda: (LOG_PROBS, with_label(-2)), ValueError, "labels must lie in [-1, 3), got values from -2 to"),
]
PROBABILITY_DOOR = [  # of those that take log-probabilities
    ("logits", lambda: (spoilt(2.0), LABELS), ValueError, "must be at most 0, got values up to 2; are these logits?"),
    ("+inf", lambda: (spoilt(INF), LABELS), ValueError, "must be at most 0, got values up to inf"),
    ("probabilities", lambda: (np.exp(LOG_PROBS), LABELS), ValueError, "are these logits?"),
]


def cases():
    for name, fit in FITS.items():
        door = DOOR if name in ON_LOGITS else DOOR + PROBABILITY_DOOR
        for case, arguments, error, message in door:
            yield f"{name}: {case}", lambda fit=fit, arguments=arguments: fit(*arguments()), error, message
    takers = [(head.__name__, head) for head in HEADS + READOUTS]
    takers += [("complete", complete), ("temperature", TemperatureScaling(2.0)), ("scorer", SCORER.predict)]
    takers += [("module", CalibratorModule(BetaCalibration(1, 1, 0)))]
    for name, taker in takers:
        for kind in (np.asarray, torch.as_tensor):
            for value, error, message in (
                (np.zeros((2, 3), int), TypeError, "must be floating point, got"),
                (np.zeros((2, 0)), ValueError, "a last axis of at least one class, got shape (2, 0)"),
                (np.array(1.0), ValueError, "a last axis of at least one class, got shape ()"),
            ):
                if name != "module" or kind is torch.as_tensor:
                    label = f"{name}: {kind.__name__} {value.dtype} {value.shape}"
                    yield label, lambda taker=taker, kind=kind, value=value: taker(kind(value)), error, message
    yield from BY_HAND


def fit_with(**options):
    return lambda: ExponentialCalibration.fit(LOG_PROBS, LABELS, **options)


def loss_of(logits=torch.zeros(2, 3), labels=torch.tensor([0, 1]), **options):  # noqa: B008
    return lambda: ova_loss(logits, labels, **options)


BY_HAND = [
    ("of: list", lambda: of([1.0]), TypeError, "wanted a numpy array or a torch tensor, got list"),
    # losses
    ("loss: integers", loss_of(torch.zeros(2, 3, dtype=int)), TypeError, "floating point tensor, got torch.int64"),
    ("loss: numpy", loss_of(np.zeros((2, 3))), TypeError, "must be a floating point tensor, got numpy.ndarray"),
    ("loss: no classes", loss_of(torch.zeros(2, 0)), ValueError, "at least one class, got shape (2, 0)"),
    ("loss: labels of a list", loss_of(labels=[0, 1]), TypeError, "labels must be a tensor, got list"),
    ("loss: float labels", loss_of(labels=torch.zeros(2)), TypeError, "labels must be integers, got torch.float32"),
    ("loss: bool labels", loss_of(labels=torch.ones(2) > 0), TypeError, "labels must be integers, got torch.bool"),
    ("loss: label K", loss_of(labels=torch.tensor([0, 3])), ValueError, "must lie in [-1, 3), got values from 0 to 3"),
    ("loss: label -2", loss_of(labels=torch.tensor([0, -2])), ValueError, "got values from -2 to 0"),
    ("loss: labels", loss_of(labels=torch.tensor([0])), ValueError, "labels (1,) do not match logits (2, 3)"),
    ("loss: weight", loss_of(weight=torch.ones(3)), ValueError, "weight (3,) does not match one number a row (2,)"),
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
    # calibrators by hand
    ("T: 0", lambda: TemperatureScaling(0), ValueError, "must be one positive number, got 0"),
    ("T: nan", lambda: TemperatureScaling(NAN), ValueError, "must be one positive number, got nan"),
    ("T: inf", lambda: TemperatureScaling(INF), ValueError, "must be one positive number, got inf"),
    ("T: two", lambda: TemperatureScaling(np.ones(2)), ValueError, "must be one positive number, got [1. 1.]"),
    (
        "affine: scale",
        lambda: AffineCalibration(-1, 0),
        ValueError,
        "scale must be one positive number",
    ),
    ("affine: offset", lambda: AffineCalibration(1, NAN), ValueError, "got 1 and nan"),
    ("beta: a", lambda: BetaCalibration(0, 1, 0), ValueError, "finite with a > 0 and b >= 0, got 0, 1 and 0"),
    ("beta: b", lambda: BetaCalibration(1, INF, 0), ValueError, "got 1, inf and 0"),
    ("beta: c", lambda: BetaCalibration(1, 1, NAN), ValueError, "got 1, 1 and nan"),
    ("isotonic: knots", lambda: IsotonicCalibration([0.5, 0.5], [0, 1]), ValueError, "knots must increase"),
    (
        "isotonic: falling",
        lambda: IsotonicCalibration([0.1, 0.5], [1, 0]),
        ValueError,
        "must not decrease",
    ),
    ("isotonic: nan", lambda: IsotonicCalibration([0.1, NAN, 0.5], [0, 0.5, 1]), ValueError, "knots must increase"),
    ("isotonic: empty", lambda: IsotonicCalibration([], []), ValueError, "knots must increase"),
    ("isotonic: range", lambda: IsotonicCalibration([0, 2], [0, 1]), ValueError, "must be probabilities, got [0. 2.]"),
    ("histogram: count", lambda: HistogramBinning([0.5], [1.0]), ValueError, "one more probability than edges"),
    ("histogram: range", lambda: HistogramBinning([0.5], [0.0, 1.5]), ValueError, "got [0.5] and [0.  1.5]"),
    ("histogram: nan", lambda: HistogramBinning([0.5], [0.0, NAN]), ValueError, "got [0.5] and [ 0. nan]"),
    ("histogram: nan edge", lambda: HistogramBinning([NAN], [0.0, 1.0]), ValueError, "edges must increase"),
    ("powers: count", lambda: ExponentialCalibration([1, 2], [1]), ValueError, "as many weights as exponents"),
    ("powers: none", lambda: ExponentialCalibration([], []), ValueError, "as many weights as exponents"),
    ("powers: zero", lambda: ExponentialCalibration([0], [1]), ValueError, "exponents must lie in [1e-30, 1e+30]"),
    ("powers: nan", lambda: ExponentialCalibration([NAN], [1]), ValueError, "exponents must lie in"),
    ("powers: sum", lambda: ExponentialCalibration([1, 2], [1, 1]), ValueError, "a sum of at most 1, got [1. 1.]"),
    ("powers: weight", lambda: ExponentialCalibration([1], [NAN]), ValueError, "weights must be positive"),
    # options of fits
    ("which", fit_with(which="best"), ValueError, "which must be 'all' or 'top', got 'best'"),
    ("sketch which", lambda: PairHistogram.of(LOG_PROBS, LABELS, which=""), ValueError, "'all' or 'top', got ''"),
    ("weight: shape", fit_with(weight=np.ones(3)), ValueError, "weight (3,) does not match labels (300,)"),
    ("weight: negative", fit_with(weight=-np.ones(300)), ValueError, "finite, not negative, and not all zero"),
    ("weight: zero", fit_with(weight=np.zeros(300)), ValueError, "finite, not negative, and not all zero"),
    ("weight: nan", fit_with(weight=np.full(300, NAN)), ValueError, "finite, not negative, and not all zero"),
    (
        "all NONE, temperature",
        lambda: TemperatureScaling.fit(LOG_PROBS, np.full(300, NONE)),
        ValueError,
        "none of the 300 rows has a label of positive probability",
    ),
    ("window: 0", lambda: Pairs.of(LOG_PROBS, LABELS).averages(window=0), ValueError, "between 0 and 900 pairs, got 0"),
    ("window: large", lambda: Pairs.of(LOG_PROBS, LABELS).averages(window=1e4), ValueError, "900 pairs, got 10000"),
    ("points", lambda: smoothed(Pairs.of(LOG_PROBS, LABELS), points=0), ValueError, "points must be at least 1, got 0"),
    ("bins", lambda: HistogramBinning.fit(LOG_PROBS, LABELS, bins=0), ValueError, "bins must be at least 1"),
    ("binning", lambda: HistogramBinning.fit(LOG_PROBS, LABELS, binning="x"), ValueError, "got 15 and 'x'"),
    ("affine: +inf", lambda: AffineCalibration.fit(spoilt(INF), LABELS), ValueError, "infinities in 1 of 300 rows"),
    ("folds: 1", lambda: cross_fit(BetaCalibration.fit, LOG_PROBS, LABELS, folds=1), ValueError, "got 1"),
    (
        "folds: 301",
        lambda: cross_fit(BetaCalibration.fit, LOG_PROBS, LABELS, folds=301),
        ValueError,
        "rows (300)",
    ),
    # promises
    ("no promise", lambda: threshold_for(VALIDATION), ValueError, "either a risk or a coverage, got risk=None and"),
    ("two promises", lambda: threshold_for(VALIDATION, risk=0.1, coverage=0.5), ValueError, "either a risk or a"),
    ("risk", lambda: threshold_for(VALIDATION, risk=1.1), ValueError, "lies in [0, 1], got 1.1"),
    ("risk nan", lambda: threshold_for(VALIDATION, risk=NAN), ValueError, "lies in [0, 1], got nan"),
    ("coverage", lambda: threshold_for(VALIDATION, coverage=-0.1), ValueError, "lies in [0, 1], got -0.1"),
    ("delta 0", lambda: threshold_for(VALIDATION, risk=0.5, delta=0), ValueError, "delta must lie in (0, 1)"),
    ("delta 2", lambda: threshold_for(VALIDATION, risk=0.5, delta=2), ValueError, "delta must lie in (0, 1)"),
    ("delta nan", lambda: threshold_for(VALIDATION, risk=0.5, delta=NAN), ValueError, "delta must lie in (0, 1)"),
    # scorer
    ("classes", lambda: SCORER.predict(np.zeros((2, 4))), ValueError, "logits (2, 4) do not have the 3 classes"),
    ("classes, raw", lambda: SCORER(torch.zeros(4)), ValueError, "logits (4,) do not have the 3 classes"),
]


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*rest, id=name) for name, *rest in cases()])
def test_bad_input_is_refused_with_what_came_and_what_was_wanted(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    assert type(caught.value) is error


EDGES = {  # odd, and not wrong: what is fitted, and what it makes of p = 1/2
    "constant probabilities": (np.full((300, 3), np.log(0.5)), np.arange(300) % 3, 1 / 3),
    "one class, always right": (np.full((300, 1), np.log(0.5)), np.zeros(300, int), 1.0),
    "one class, half right": (np.full((300, 1), np.log(0.5)), -(np.arange(300) % 2), 0.5),
    "all NONE": (np.full((300, 3), np.log(0.5)), np.full(300, NONE), 0.0),
    "one row": (np.log([[0.5, 0.5]]), np.array([0]), 0.5),
    "zeros and a constant": (np.tile([np.log(0.5), -np.inf], (300, 1)), -(np.arange(300) % 2), 0.5),
}


@pytest.mark.parametrize("name", ["exponential", "beta", "isotonic", "histogram"])
@pytest.mark.parametrize("edge", EDGES)
def test_odd_validation_sets_give_the_share_of_hits(name, edge):
    log_probs, labels, wanted = EDGES[edge]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = FITS[name](log_probs, labels)
    assert np.exp(found(np.log([0.5]))) == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize(
    "numbers_of",
    [
        *HEADS,
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
