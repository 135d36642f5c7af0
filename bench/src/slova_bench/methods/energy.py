"""The energy score (Liu et al. 2020), logsumexp of the logits of the softmax network; and the largest logit (Hendrycks
et al. 2022)."""

from dataclasses import replace

from scipy.special import logsumexp

from slova._backend import Array
from slova_bench.method import Detector, Outputs
from slova_bench.methods import softmax
from slova_bench.stable import stable


@stable("energy_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    return lambda outputs: logsumexp(outputs.logits[0], axis=-1)


@stable("max_logit_detector")
def detect_by_largest(training: Outputs, labels: Array) -> Detector:
    return lambda outputs: outputs.logits[0].max(axis=-1)


METHOD = replace(softmax.METHOD, name="energy", detect=detect)
MAX_LOGIT = replace(softmax.METHOD, name="max_logit", detect=detect_by_largest)
