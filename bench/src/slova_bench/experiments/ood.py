"""Confidence on OOD data (Sec. 4.2, Table 1): error and MMC on the test set; MMC, AUROC, AUPR and FPR95 on OOD sets."""

from __future__ import annotations

import numpy as np

from slova.heads import NONE
from slova.metrics import accuracy, aupr, auroc, fpr95, mmc
from slova_bench.experiment import Evaluation, Experiment
from slova_bench.method import Method
from slova_bench.pipeline import Bench
from slova_bench.test_sets import TestSet, ood_sets

INSIDE, OUTSIDE = ("error", "mmc"), ("mmc", "auroc", "aupr", "fpr95")


def measure(test: TestSet, evaluation: Evaluation) -> dict[str, float]:
    probs = np.exp(evaluation.readout.log_probs)
    if (evaluation.labels != NONE).any():
        return {"error": 1 - accuracy(probs, evaluation.labels), "mmc": mmc(probs)}
    inside, outside = evaluation.clean_score, evaluation.score
    return {
        "mmc": mmc(probs),
        "auroc": auroc(inside, outside),
        "aupr": aupr(inside, outside),
        "fpr95": fpr95(inside, outside),
    }


def metrics(method: Method, test: TestSet, bench: Bench) -> tuple[str, ...]:
    if test.test == bench.dataset.test:
        return INSIDE
    return OUTSIDE


EXPERIMENT = Experiment(
    name="ood",
    methods=(
        "softmax", "ceda", "acet_short", "react", "ova", "slova_raw", "slova", "slova_clean",
        "slova_distance", "slova_none_raw", "slova_none", "retrofit",
        "energy", "max_logit", "knn", "mahalanobis", "vim",
    ),
    sets=ood_sets,
    measure=measure,
    metrics=metrics,
)  # fmt: skip
