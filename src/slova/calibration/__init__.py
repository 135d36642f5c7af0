"""Calibrators: fitted functions from log-probabilities to calibrated log-probabilities.

An unfitted calibrator cannot exist: `SomeCalibrator.fit(log_probs, labels, weight=None)` returns a finished one, and
`SomeCalibrator(numbers)` makes one by hand. Calibrators take numpy arrays and torch tensors;
`slova.calibration.module.CalibratorModule(calibrator)` is the same function as a torch module. Two act on something
else: `AffineCalibration` on logits, `PosteriorCalibration` on log-odds and, where there are some, distances.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> labels = rng.integers(3, size=500)
>>> logits = 3 * np.eye(3)[labels] + rng.normal(0, 2, (500, 3))
>>> log_probs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
>>> calibrator = TemperatureScaling.fit(log_probs, labels)
>>> round(calibrator.temperature, 2), np.exp(calibrator(log_probs[:1])).round(2)
(1.22, array([[0., 0., 1.]]))
>>> BetaCalibration.fit(log_probs, labels)
BetaCalibration(a=0.723..., b=0.999..., c=-0.333...)
>>> len(IsotonicCalibration.fit(log_probs, labels).knots), len(HistogramBinning.fit(log_probs, labels).values)
(52, 15)
>>> isinstance(ExponentialCalibration.fit(log_probs, labels).report, FitReport), isinstance(calibrator, Calibrator)
(True, True)
>>> PosteriorCalibration.fit(logits, labels)
PosteriorCalibration(3 classes, part='temperature', no model of NONE)
>>> resolve("temperature")(log_probs, labels) == calibrator            # by its name
True
>>> cross_fit(TemperatureScaling.fit, log_probs, labels).shape         # each row by a fit without it
(500, 3)
"""

from slova.calibration.affine import AffineCalibration
from slova.calibration.beta import BetaCalibration
from slova.calibration.calibrator import Calibrator
from slova.calibration.completion import Completion, complete
from slova.calibration.exponential import ExponentialCalibration, FitReport, SmallValidationWarning
from slova.calibration.histogram import HistogramBinning
from slova.calibration.isotonic import IsotonicCalibration
from slova.calibration.pair_histogram import PairHistogram
from slova.calibration.pairs import Pairs
from slova.calibration.posterior import PosteriorCalibration
from slova.calibration.registry import CALIBRATORS, resolve
from slova.calibration.resampling import cross_fit
from slova.calibration.temperature import TemperatureScaling

__all__ = [
    "CALIBRATORS",
    "AffineCalibration",
    "BetaCalibration",
    "Calibrator",
    "Completion",
    "ExponentialCalibration",
    "FitReport",
    "HistogramBinning",
    "IsotonicCalibration",
    "PairHistogram",
    "Pairs",
    "PosteriorCalibration",
    "SmallValidationWarning",
    "TemperatureScaling",
    "complete",
    "cross_fit",
    "resolve",
]
