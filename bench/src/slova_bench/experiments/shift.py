"""Calibration on clean and shifted data (Sec. 4.1, Appendix C): accuracy, ECE, NLL, Brier and MMC per shift and
severity."""

from __future__ import annotations

import numpy as np

from slova.metrics import accuracy, brier, ece, mmc, nll
from slova_bench.experiment import Evaluation, Experiment
from slova_bench.method import Method
from slova_bench.pipeline import Bench
from slova_bench.test_sets import TestSet, shifted_sets

METRICS = ("accuracy", "ece", "nll", "brier", "mmc")


def measure(test: TestSet, evaluation: Evaluation) -> dict[str, float]:
    probs, labels = np.exp(evaluation.readout.log_probs), evaluation.labels
    return {
        "accuracy": accuracy(probs, labels),
        "ece": ece(probs, labels),
        "nll": nll(evaluation.readout.log_probs, labels),
        "brier": brier(probs, labels),
        "mmc": mmc(probs),
    }


def metrics(method: Method, test: TestSet, bench: Bench) -> tuple[str, ...]:
    return () if method.detect else METRICS


EXPERIMENT = Experiment(
    name="shift",
    methods=(
        "softmax", "temperature", "dropout", "ensemble", "svi", "ll_svi", "ll_dropout", "ova_dm", "ova_dm_original",
        "ova", "slova_raw", "slova", "slova_clean", "slova_distance", "slova_none",
        "slova_ensemble", "slova_distance_ensemble", "retrofit",
    ),
    sets=shifted_sets,
    measure=measure,
    metrics=metrics,
)  # fmt: skip
