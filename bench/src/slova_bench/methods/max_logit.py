"""The largest logit of the softmax network (Hendrycks et al. 2022)."""

from dataclasses import replace

from slova._backend import Array
from slova_bench.method import Detector, Outputs
from slova_bench.methods import softmax
from slova_bench.stable import stable


@stable("max_logit_detector")
def detect(training: Outputs, labels: Array) -> Detector:
    return lambda outputs: outputs.logits[0].max(axis=-1)


METHOD = replace(softmax.METHOD, name="max_logit", detect=detect)
