"""SLOVA of five one-vs-all networks, each with distance-aware calibration: the mean of their log-probabilities, and a
temperature fitted on validation data, because a mean is less confident than its members."""

from dataclasses import replace

from slova._backend import Array
from slova.calibration import TemperatureScaling
from slova.heads import SOFTMAX, Readout
from slova_bench.methods import slova_distance
from slova_bench.methods.slova_ensemble import together
from slova_bench.stable import stable


@stable("mean_log_probs_head")
def read(logits: Array) -> Readout:
    return SOFTMAX(together(SOFTMAX(logits).log_probs))


METHOD = replace(
    slova_distance.METHOD, name="slova_distance_ensemble", members=5, head=read, calibrate=TemperatureScaling.fit
)
