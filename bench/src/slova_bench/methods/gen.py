"""GEN (Liu et al. 2023): minus the generalized entropy, the sum of (p (1 - p))^0.1 over the 100 largest probabilities.

As published, without a search; the probabilities are those of the logits, not calibrated ones.
"""

from dataclasses import replace

import numpy as np

from slova._backend import Array
from slova.heads import SOFTMAX
from slova_bench.method import CalibrationRows, Score
from slova_bench.methods import softmax_augmented, temperature
from slova_bench.scores import logits_of
from slova_bench.stable import stable

GAMMA, LARGEST = 0.1, 100


@stable("gen_score")
def rank(rows: CalibrationRows) -> Score:
    def score(outputs: Array) -> Array:
        probs = np.sort(np.exp(SOFTMAX(logits_of(outputs, rows.classes)).log_probs), axis=1)[:, -LARGEST:]
        return -((probs * (1 - probs)) ** GAMMA).sum(axis=1)

    return score


METHOD = replace(temperature.METHOD, name="gen", rank=rank)
AUGMENTED = replace(softmax_augmented.DEGRADED, name="softmax_augmented_gen", rank=rank)
