"""Minus the Mahalanobis distance of the features to the nearest class mean (Lee et al. 2018)."""

from dataclasses import replace

import numpy as np

from slova.backend import Array
from slova.bench.method import Detector, Outputs
from slova.bench.methods import softmax


def detect(training: Outputs, labels: Array) -> Detector:
    features = training.features.astype(np.float64)
    means = np.stack([features[labels == label].mean(axis=0) for label in np.unique(labels)])
    within = features - means[np.searchsorted(np.unique(labels), labels)]
    precision = np.linalg.pinv(within.T @ within / len(within), hermitian=True)

    def closeness(outputs: Outputs) -> Array:
        away = outputs.features[:, None, :].astype(np.float64) - means
        return -np.einsum("nkd,de,nke->nk", away, precision, away, optimize=True).min(axis=1)

    return closeness


METHOD = replace(softmax.METHOD, name="mahalanobis", detect=detect)
