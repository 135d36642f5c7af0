"""What calibrators do not accept, and validation sets that are odd and not wrong."""

import re
import warnings

import numpy as np
import pytest

from slova.calibration import (
    CALIBRATORS,
    AffineCalibration,
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PairHistogram,
    Pairs,
    TemperatureScaling,
    cross_fit,
)
from slova.calibration.exponential import smoothed
from slova.heads import NONE

NAN, INF = float("nan"), float("inf")
LOG_PROBS = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 300))
LABELS = np.random.default_rng(1).integers(NONE, 3, 300)
INFINITE = np.where(np.arange(900).reshape(300, 3) == 22, INF, LOG_PROBS)


def fit_with(**options):
    return lambda: ExponentialCalibration.fit(LOG_PROBS, LABELS, **options)


CASES = [
    # numbers of calibrators
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
    ("histogram which", lambda: PairHistogram.of(LOG_PROBS, LABELS, which=""), ValueError, "'all' or 'top', got ''"),
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
    ("affine: +inf", lambda: AffineCalibration.fit(INFINITE, LABELS), ValueError, "infinities in 1 of 300 rows"),
    ("folds: 1", lambda: cross_fit(BetaCalibration.fit, LOG_PROBS, LABELS, folds=1), ValueError, "got 1"),
    (
        "folds: 301",
        lambda: cross_fit(BetaCalibration.fit, LOG_PROBS, LABELS, folds=301),
        ValueError,
        "rows (300)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*rest, id=name) for name, *rest in CASES])
def test_bad_numbers_and_options_are_refused_with_what_came_and_what_is_valid(call, error, message):
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
        found = CALIBRATORS[name].fit(log_probs, labels)
    assert np.exp(found(np.log([0.5]))) == pytest.approx(wanted, abs=0.02)
