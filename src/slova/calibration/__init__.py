"""Calibrators: fitted functions from log-probabilities to calibrated log-probabilities.

An unfitted calibrator cannot exist: `SomeCalibrator.fit(log_probs, labels, weight=None)` returns a finished one, and
`SomeCalibrator(numbers)` makes one by hand. Calibrators take numpy arrays and torch tensors;
`slova.calibration.module.CalibratorModule(calibrator)` is the same function as a torch module. Two act on something
else: `AffineCalibration` on logits, `DistanceCalibration` on log-odds and distances.

    calibrator = TemperatureScaling.fit(val_log_probs, val_labels)
    log_probs = calibrator(log_probs)
"""

from slova.calibration.affine import AffineCalibration
from slova.calibration.beta import BetaCalibration
from slova.calibration.calibrator import Calibrator
from slova.calibration.completion import Completion, complete
from slova.calibration.distance import DistanceCalibration
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
    "DistanceCalibration",
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
