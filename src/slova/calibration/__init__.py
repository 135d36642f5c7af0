"""Fitted maps from log-probabilities to calibrated log-probabilities.

An unfitted map cannot exist: `SomeMap.fit(log_probs, labels)` returns a finished one, and `SomeMap(numbers)` makes one
by hand. Maps take numpy arrays and torch tensors; `slova.calibration.module.CalibratorModule(map)` is the same function as a
torch module. `DistanceCalibration` stands apart: it maps logits and distances, and `slova.vision.distance_aware` measures those.
"""

from slova.calibration.affine import AffineCalibration
from slova.calibration.beta import BetaCalibration
from slova.calibration.calibrator import Map
from slova.calibration.completion import Completion, complete
from slova.calibration.distance import DistanceCalibration
from slova.calibration.exponential import ExponentialCalibration, FitReport, SmallValidationWarning
from slova.calibration.histogram import HistogramBinning
from slova.calibration.isotonic import IsotonicCalibration
from slova.calibration.pair_histogram import PairHistogram
from slova.calibration.pairs import Pairs
from slova.calibration.resampling import Interval, cross_fit, map_interval
from slova.calibration.temperature import TemperatureScaling

__all__ = [
    "CALIBRATORS",
    "AffineCalibration",
    "BetaCalibration",
    "Completion",
    "DistanceCalibration",
    "ExponentialCalibration",
    "FitReport",
    "HistogramBinning",
    "Interval",
    "IsotonicCalibration",
    "Map",
    "PairHistogram",
    "Pairs",
    "SmallValidationWarning",
    "TemperatureScaling",
    "complete",
    "cross_fit",
    "map_interval",
]

CALIBRATORS: dict[str, type] = {
    map.__name__: map
    for map in (
        AffineCalibration,
        BetaCalibration,
        ExponentialCalibration,
        HistogramBinning,
        IsotonicCalibration,
        TemperatureScaling,
    )
}
"""Every map by its name, as files know it."""
