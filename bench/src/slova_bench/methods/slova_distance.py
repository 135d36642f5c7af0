"""SLOVA with distance-aware calibration: the logits of the one-vs-all network are scaled by the distance of an image to
the validation data, fitted on validation images and degraded ones, none of them a test shift. Rows sum to one. Also
with flip test-time augmentation, the mean logits of an image and its horizontal flip, for photographs and not for
digits; and of five networks, each with its own calibration: the mean of their log-probabilities, and a temperature
fitted on validation data, because a mean is less confident than its members."""

from dataclasses import replace
from functools import partial

from slova._backend import Array
from slova.calibration import TemperatureScaling
from slova.heads import SOFTMAX, Readout
from slova_bench.distance_aware import distance_aware
from slova_bench.methods import slova
from slova_bench.stable import stable


@stable("mean_log_probs_head")
def mean_log_probs(logits: Array) -> Readout:
    return SOFTMAX(slova.together(SOFTMAX(logits).log_probs))


flipped = stable("flip_distance_aware")(partial(distance_aware, views="flip"))

METHOD = replace(slova.RAW, name="slova_distance", adapt=distance_aware, head=SOFTMAX)
FLIPPED = replace(METHOD, name="slova_mirror", adapt=flipped)
ENSEMBLE = replace(
    METHOD, name="slova_distance_ensemble", members=5, head=mean_log_probs, calibrate=TemperatureScaling.fit
)
