"""Deep nearest neighbours (Sun et al. 2022): minus the distance to the 50th nearest training image, features of unit
length. For the network of softmax with the augmentation, from stored outputs."""

from dataclasses import replace

import numpy as np

from slova._backend import Array
from slova_bench.method import CalibrationRows, Detector, Outputs, Score
from slova_bench.methods import fdbd, softmax
from slova_bench.scores import columns
from slova_bench.stable import stable

NEIGHBOUR, ROWS = 50, 2048
FEATURES = -2  # the place of the classifier's features among the distances; the logits are last


def unit(features: Array) -> Array:
    return features / np.maximum(np.linalg.norm(features, axis=-1, keepdims=True), 1e-12)  # a row of zeros stays zero


@stable("knn_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    bank = unit(training.features).astype(np.float32)
    place = min(NEIGHBOUR, len(bank)) - 1

    def similarity(outputs: Outputs) -> Array:
        rows = unit(outputs.features).astype(np.float32)
        parts = [rows[i : i + ROWS] @ bank.T for i in range(0, len(rows), ROWS)]
        return np.concatenate([-np.partition(-part, place, axis=1)[:, place] for part in parts])

    return similarity


@stable("knn_score")
def rank(rows: CalibrationRows) -> Score:
    return lambda outputs: -columns(outputs, rows.classes)[2][:, FEATURES]


METHOD = replace(softmax.METHOD, name="knn", detect=detect)
AUGMENTED = replace(fdbd.AUGMENTED, name="softmax_augmented_knn", rank=rank)
