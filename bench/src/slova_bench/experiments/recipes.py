"""Recipes on equal terms: clean, shifted and unknown images, by one network and one fit.

Clean and shifted sets are scored by the classes given "not none", for every method. OOD sets are ranked by P(none)
where a method has it, else by the confidence. A mixture of four clean images to one OOD image is scored by all K + 1
outcomes. FPR95 is in two conventions: the share of OOD images accepted where 95 % of the clean ones are (`fpr95`), and
that of clean images rejected where 95 % of the OOD images are (`fpr95_ood`, OpenOOD's since version 1.5). The mean
confidence is that of the classes given "not none" (`mmc`), and of the classes among all K + 1 outcomes (`confidence`).
Clean and shifted sets have the ECE of the latter, too (`outcomes_ece`): P(none) lowers the confidence.
"""

from __future__ import annotations

import numpy as np

from slova._backend import Array
from slova.heads import NONE, Readout
from slova.metrics import brier, ece, fpr95, mmc
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
        return shift.measure(test, evaluation) | _among_all(evaluation)
    swapped = fpr95(-evaluation.score, -evaluation.clean_score)
    return ood.measure(test, evaluation) | {"fpr95_ood": swapped} | _mixed(evaluation)


def _among_all(evaluation: Evaluation) -> dict[str, float]:
    """Mean confidence, and its ECE, of the classes among all K + 1 outcomes, of images that have a class."""
    probs = _outcomes(evaluation.readout, evaluation)[:, :-1]
    return {"confidence": mmc(probs), "outcomes_ece": ece(probs, evaluation.labels)}


def _mixed(evaluation: Evaluation) -> dict[str, float]:
    """Mean confidence, and ECE and Brier score of the K + 1 outcomes; a method without P(none) gives it no
    probability."""
    inside, outside = (_outcomes(one, evaluation) for one in (evaluation.clean_readout, evaluation.readout))
    count = min(len(outside), len(inside) // CLEAN_PER_OOD)
    own = slice(0, CLEAN_PER_OOD * count)
    probs = np.concatenate([inside[own], outside[:count]])
    labels = np.concatenate([evaluation.clean_labels[own], np.full(count, probs.shape[1] - 1)])
    return {
        "confidence": mmc(outside[:, :-1]),
        "mixed_ece": ece(probs, labels),
        "mixed_brier": brier(probs, labels),
    }


def _outcomes(readout: Readout, evaluation: Evaluation) -> Array:
    """Probabilities (N, K + 1), NONE last."""
    classes = np.exp(readout.log_probs)
    none = np.exp(readout.log_none)[:, None] if evaluation.has_none else np.zeros((len(classes), 1))
    return np.concatenate([classes * (1 - none), none], axis=1)


def metrics(method: Method, test: TestSet, bench: Bench) -> tuple[str, ...]:
    """A method that only ranks images has rows of OOD sets only. Three metrics are not required, as older
    rows lack them: `fpr95_ood`, `confidence` and `outcomes_ece`."""
    if test.test == bench.dataset.test:
        return () if method.rank else shift.METRICS
    return (*ood.OUTSIDE, *MIXED)


EXPERIMENT = Experiment(
    name="recipes",
    methods=(
        "temperature", "temperature_degraded", "softmax_fit", "ova_fit", "slova_none_fit",
        "logitnorm", "rotpred", "augmix", "augmix_degraded", "pixmix", "pixmix_degraded",
        "softmax_mixed", "softmax_mixed_degraded", "softmax_mixed_flip", "softmax_mixed_fit",
        "softmax_mixed_none_class", "softmax_mixed_exposed",
        "slova_image_mixed", "slova_image_mixed_no_distances", "slova_image_mixed_flip",
        "softmax_mixed_ensemble", "softmax_mixed_ensemble_degraded", "slova_image_mixed_ensemble",
        "softmax_augmented", "softmax_augmented_degraded", "softmax_augmented_flip", "softmax_augmented_fit",
        "softmax_none_class", "softmax_exposed",
        "slova_image", "slova_image_no_distances", "slova_image_ova", "slova_image_neighbours",
        "slova_image_flip", "slova_image_turns",
        "softmax_augmented_ensemble", "softmax_augmented_ensemble_degraded", "slova_image_ensemble",
        "dac", "dac_degraded", "energy_scaling", "gen", "fdbd", "ash",
        "softmax_augmented_dac", "softmax_augmented_dac_degraded", "softmax_augmented_energy_scaling",
        "softmax_augmented_gen", "softmax_augmented_fdbd", "softmax_augmented_ash", "softmax_augmented_knn",
    ),
    sets=sets,
    measure=measure,
    metrics=metrics,
    histograms=False,
)  # fmt: skip
