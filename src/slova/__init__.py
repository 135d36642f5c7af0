"""Calibrated classifiers that can answer NONE.

Train K one-vs-all sigmoids (`ova_loss`), or take any network, calibrate it on validation data, and get a label or NONE,
its calibrated confidence, and why it is low (`Classifier`, `Scorer`).
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from slova._warnings import CalibrationWarning
from slova.calibration import (
    AffineCalibration,
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PairHistogram,
    PosteriorCalibration,
    TemperatureScaling,
    complete,
    cross_fit,
)
from slova.heads import NONE, Readout, log_multilabel, log_none, log_ova, log_several, log_slova, log_softmax
from slova.prediction import Prediction
from slova.prediction_sets import PredictionSets
from slova.scorer import Scorer

if TYPE_CHECKING:
    from slova.classifier import Classifier
    from slova.ensemble import Ensemble
    from slova.losses import init_bias, multilabel_loss, ova_loss, prepare
    from slova.vision.outliers import add_outliers

__all__ = [
    "NONE",
    "AffineCalibration",
    "BetaCalibration",
    "CalibrationWarning",
    "Classifier",
    "Ensemble",
    "ExponentialCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "PairHistogram",
    "PosteriorCalibration",
    "Prediction",
    "PredictionSets",
    "Readout",
    "Scorer",
    "TemperatureScaling",
    "add_outliers",
    "complete",
    "cross_fit",
    "init_bias",
    "log_multilabel",
    "log_none",
    "log_ova",
    "log_several",
    "log_slova",
    "log_softmax",
    "multilabel_loss",
    "ova_loss",
    "prepare",
]

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())

# Imported on first use, so that `import slova` stays light.
TORCH = {
    "Classifier": "slova.classifier",
    "Ensemble": "slova.ensemble",
    "init_bias": "slova.losses",
    "multilabel_loss": "slova.losses",
    "ova_loss": "slova.losses",
    "prepare": "slova.losses",
    "add_outliers": "slova.vision.outliers",
}
MODULES = ("export", "extreme", "multilabel", "retrofit", "vision")


def __getattr__(name: str) -> Any:
    if name not in TORCH and name not in MODULES:
        raise AttributeError(f"module 'slova' has no attribute {name!r}")
    try:
        module = importlib.import_module(TORCH.get(name, f"slova.{name}"))
        return module if name in MODULES else getattr(module, name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f'slova.{name} needs PyTorch: pip install "slova[torch]"') from error


def __dir__() -> list[str]:
    return sorted({*globals(), *TORCH, *MODULES})
