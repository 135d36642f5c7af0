"""ViM (Wang et al. 2022): the energy, less what of the features lies outside the principal space of the training
features."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from slova.backend import Array
from slova.bench.method import Detector, Outputs
from slova.bench.methods import softmax


def detect(training: Outputs, labels: Array) -> Detector:
    features = training.features.astype(np.float64)
    centre = features.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov(features - centre, rowvar=False))  # from the least variance to the largest
    outside = directions[:, : features.shape[1] - features.shape[1] // 2]
    residual = np.linalg.norm((features - centre) @ outside, axis=1)
    scale = training.logits[0].max(axis=-1).mean() / max(
        residual.mean(), 1e-12
    )  # a virtual logit as large as a real one

    def score(outputs: Outputs) -> Array:
        virtual = scale * np.linalg.norm((outputs.features - centre) @ outside, axis=1)
        return logsumexp(outputs.logits[0], axis=-1) - virtual

    return score


METHOD = replace(softmax.METHOD, name="vim", detect=detect)
