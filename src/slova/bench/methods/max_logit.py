"""The largest logit of the softmax network (Hendrycks et al. 2022)."""

from dataclasses import replace

from slova.backend import Array
from slova.bench.method import Detector, Outputs
from slova.bench.methods import softmax


def detect(training: Outputs, labels: Array) -> Detector:
    return lambda outputs: outputs.logits[0].max(axis=-1)


METHOD = replace(softmax.METHOD, name="max_logit", detect=detect)
