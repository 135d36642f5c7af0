"""Minus the Mahalanobis distance of the features to the nearest class mean (Lee et al. 2018)."""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from slova._backend import Array
from slova_bench.method import Detector, Outputs
from slova_bench.methods import softmax
from slova_bench.stable import stable


@stable("mahalanobis_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    features = training.features.astype(np.float64)
    means = np.stack([features[labels == label].mean(axis=0) for label in np.unique(labels)])
    within = features - means[np.searchsorted(np.unique(labels), labels)]
    variances, directions = np.linalg.eigh(within.T @ within / len(within))
    used = variances > 1e-10 * variances.max()  # features without variance are ignored
    whitener = directions[:, used] / np.sqrt(variances[used])

    def closeness(outputs: Outputs) -> Array:
        return -cdist(outputs.features @ whitener, means @ whitener, "sqeuclidean").min(axis=1)

    return closeness


METHOD = replace(softmax.METHOD, name="mahalanobis", detect=detect)
