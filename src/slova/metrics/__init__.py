"""Accuracy, calibration, selection and OOD detection, on rows that may sum to less or more than one and are never
renormalised.

A function gives the exact value for arrays in memory; the state of the same name has a fixed size and merges by `+`:

>>> import numpy as np
>>> probs, labels = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]), np.array([0, 1, 1, 0])
>>> state = Ece.of(probs[:2], labels[:2]) + Ece.of(probs[2:], labels[2:])
>>> state.value == ece(probs, labels)                       # exactly
True
>>> Detection.of(np.array([0.9, 0.8]), np.array([0.5])).auroc          # ranks need more than sums
Estimate(value=1.0, bound=0.0)
>>> round(Selection.of(probs, labels).aurc.value, 3)
0.062
>>> [kind.of(probs, labels).value for kind in (Accuracy, Brier, ClasswiseEce)]
[0.75, 0.25, 0.3]
>>> round(Nll.of(np.log(probs), labels).value, 3), Mmc.of(probs).value
(0.4, 0.75)

Plots are displays in scikit-learn's convention: `ReliabilityDisplay.from_predictions(probs, labels)`.
"""

from slova._mergeable import Estimate
from slova.metrics.calibration_error import ClasswiseEce, Ece, classwise_ece, ece
from slova.metrics.detection import Detection, aupr, auroc, fpr95
from slova.metrics.means import Accuracy, Brier, Mmc, Nll, accuracy, brier, mmc, nll
from slova.metrics.plotting import (
    ConfidenceHistogramDisplay,
    EvaluationDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
)
from slova.metrics.reliability import Reliability, reliability
from slova.metrics.selection import RiskCoverage, Selection, aurc, risk_coverage

__all__ = [
    "Accuracy",
    "Brier",
    "ClasswiseEce",
    "ConfidenceHistogramDisplay",
    "Detection",
    "Ece",
    "Estimate",
    "EvaluationDisplay",
    "Mmc",
    "Nll",
    "Reliability",
    "ReliabilityDisplay",
    "RiskCoverage",
    "RiskCoverageDisplay",
    "Selection",
    "accuracy",
    "aupr",
    "aurc",
    "auroc",
    "brier",
    "classwise_ece",
    "ece",
    "fpr95",
    "mmc",
    "nll",
    "reliability",
    "risk_coverage",
]
