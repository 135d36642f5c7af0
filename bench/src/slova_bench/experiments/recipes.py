"""Recipes on equal terms: clean, shifted and unknown images, by one network and one fit.

Clean and shifted sets are scored by the classes given "not none", for every method. OOD sets are ranked by P(none)
where a method has it, else by the confidence. A mixture of four clean images to one OOD image is scored by all K + 1
outcomes.
"""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova.heads import NONE, Readout
from slova.metrics import brier, ece
from slova_bench.experiment import Evaluation, Experiment
from slova_bench.experiments import ood, shift
from slova_bench.method import Method
from slova_bench.pipeline import Bench
from slova_bench.test_sets import TestSet, ood_sets, shifted_sets

CLEAN_PER_OOD = 4
MIXED = ("mixed_ece", "mixed_brier")


def sets(bench: Bench) -> list[TestSet]:
    return [*shifted_sets(bench), *ood_sets(bench)[1:]]


def measure(test: TestSet, evaluation: Evaluation) -> dict[str, float]:
    if test.shift or (evaluation.labels != NONE).any():
        return shift.measure(test, evaluation)
    return ood.measure(test, evaluation) | _mixed(evaluation)


def _mixed(evaluation: Evaluation) -> dict[str, float]:
    """ECE and Brier score of the K + 1 outcomes; a method without P(none) gives it no probability."""
    inside, outside = evaluation.clean_readout, evaluation.readout
    count = min(len(outside.log_none), len(inside.log_none) // CLEAN_PER_OOD)
    own = slice(0, CLEAN_PER_OOD * count)
    probs = np.concatenate([_outcomes(inside, evaluation)[own], _outcomes(outside, evaluation)[:count]])
    labels = np.concatenate([evaluation.clean_labels[own], np.full(count, probs.shape[1] - 1)])
    return {"mixed_ece": ece(probs, labels), "mixed_brier": brier(probs, labels)}


def _outcomes(readout: Readout, evaluation: Evaluation) -> Array:
    """Probabilities (N, K + 1), NONE last."""
    classes = np.exp(readout.log_probs)
    none = np.exp(readout.log_none)[:, None] if evaluation.has_none else np.zeros((len(classes), 1))
    return np.concatenate([classes * (1 - none), none], axis=1)


def metrics(method: Method, test: TestSet, bench: Bench) -> tuple[str, ...]:
    inside = test.test == bench.dataset.test
    return shift.METRICS if inside else (*ood.OUTSIDE, *MIXED)


EXPERIMENT = Experiment(
    name="recipes",
    methods=(
        "temperature", "temperature_degraded", "softmax_fit", "ova_fit", "slova_none_fit",
        "logitnorm", "rotpred", "augmix", "augmix_degraded", "pixmix", "pixmix_degraded",
        "softmax_augmented", "softmax_augmented_degraded", "softmax_augmented_flip", "softmax_augmented_fit",
        "softmax_none_class", "softmax_exposed",
        "slova_image", "slova_image_no_distances", "slova_image_neighbours", "slova_image_flip", "slova_image_turns",
        "slova_image_pixmix",
        "softmax_augmented_ensemble", "softmax_augmented_ensemble_degraded", "slova_image_ensemble",
    ),
    sets=sets,
    measure=measure,
    metrics=metrics,
    histograms=False,
)  # fmt: skip
