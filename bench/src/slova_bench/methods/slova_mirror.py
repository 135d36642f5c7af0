"""SLOVA with distance-aware calibration and flip test-time augmentation: the mean logits of an image and its horizontal
flip. For photographs, not for digits."""

from dataclasses import replace

from torch import nn

from slova_bench.distance_aware import FlipAveraged
from slova_bench.method import Splits
from slova_bench.methods import slova_distance
from slova_bench.stable import stable


@stable("flip_distance_aware")
def adapt(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    return slova_distance.adapt(nn.Sequential(FlipAveraged(network)), splits)


METHOD = replace(slova_distance.METHOD, name="slova_mirror", adapt=adapt)
