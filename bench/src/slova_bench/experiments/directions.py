"""Confidence along random directions from test images (Theorem 3.1, Fig. 4): mean and deviation at each distance."""

from __future__ import annotations

import numpy as np

from slova_bench.experiment import Evaluation, Experiment
from slova_bench.pipeline import Bench
from slova_bench.test_sets import DIRECTION, TestSet

LEVELS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
METRICS = ("mmc", "confidence_std", "confident")


def sets(bench: Bench) -> list[TestSet]:
    return [TestSet(bench.dataset.test, DIRECTION, level) for level in LEVELS]


def measure(test: TestSet, evaluation: Evaluation) -> dict[str, float]:
    """Mean and deviation of the confidence, and the share of rows above 0.5 (the probability in the theorem)."""
    confidence = np.exp(evaluation.readout.log_probs).max(axis=-1)
    return {
        "mmc": float(confidence.mean()),
        "confidence_std": float(confidence.std()),
        "confident": float((confidence > 0.5).mean()),
    }


EXPERIMENT = Experiment(
    name="directions",
    methods=("softmax", "ova", "slova_raw", "slova"),
    sets=sets,
    measure=measure,
    metrics=lambda method, test, bench: METRICS,
)
