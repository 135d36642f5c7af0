"""Accuracy, calibration, selection and OOD detection, on rows that may sum to less or more than one and are never
renormalised.

A function gives the exact value for arrays in memory; the state of the same name has a fixed size and merges by `+`:

    state = functools.reduce(operator.add, (Ece.of(probs, labels) for probs, labels in batches))
    state.value                            # exactly ece(all probs, all labels)
    Detection.of(inside, outside).auroc    # Estimate(value, bound): ranks need more than sums

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
