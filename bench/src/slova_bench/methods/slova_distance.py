"""SLOVA with distance-aware calibration: the logits of the one-vs-all network are scaled by the distance of an image to
the validation data, fitted on validation images and degraded ones, none of them a test shift. Rows sum to one."""

from dataclasses import replace

from torch import nn

from slova.heads import SOFTMAX
from slova_bench.distance_aware import DistanceAware
from slova_bench.method import Splits
from slova_bench.methods import slova_raw
from slova_bench.stable import stable


@stable("distance_aware")
def adapt(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    images, labels = splits.validation.images, splits.validation.labels
    return nn.Sequential(DistanceAware.fit(network, (images.float() / 255, labels)))


METHOD = replace(slova_raw.METHOD, name="slova_distance", adapt=adapt, head=SOFTMAX)
