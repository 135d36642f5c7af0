"""The energy score (Liu et al. 2020): logsumexp of the logits of the softmax network."""

from dataclasses import replace

from scipy.special import logsumexp

from slova._backend import Array
from slova_bench.method import Detector, Outputs
from slova_bench.methods import softmax
from slova_bench.stable import stable


@stable("energy_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    return lambda outputs: logsumexp(outputs.logits[0], axis=-1)


METHOD = replace(softmax.METHOD, name="energy", detect=detect)
