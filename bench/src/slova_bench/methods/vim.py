"""ViM (Wang et al. 2022): the energy minus the norm of the features outside the principal space of training features.

The origin is where all logits are zero, -pinv(W) b; the classifier W, b is estimated from training features and logits.
"""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from slova._backend import Array
from slova_bench.method import Detector, Outputs
from slova_bench.methods import softmax
from slova_bench.stable import stable


def origin(training: Outputs) -> Array:
    features = np.column_stack([training.features, np.ones(len(training.features))]).astype(np.float64)
    weights = np.linalg.lstsq(features, training.logits[0].astype(np.float64), rcond=None)[0]
    return -np.linalg.pinv(weights[:-1].T) @ weights[-1]


@stable("vim_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    centre = origin(training)
    features = training.features - centre
    _, directions = np.linalg.eigh(features.T @ features)  # from the least variance to the largest
    outside = directions[:, : features.shape[1] - features.shape[1] // 2]
    residual = np.linalg.norm(features @ outside, axis=1)
    scale = training.logits[0].max(axis=-1).mean() / max(
        residual.mean(), 1e-12
    )  # a virtual logit as large as a real one

    def score(outputs: Outputs) -> Array:
        virtual = scale * np.linalg.norm((outputs.features - centre) @ outside, axis=1)
        return logsumexp(outputs.logits[0], axis=-1) - virtual

    return score


METHOD = replace(softmax.METHOD, name="vim", detect=detect)
