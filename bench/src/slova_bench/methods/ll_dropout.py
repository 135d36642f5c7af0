"""Monte-Carlo dropout on the features of the last layer only (Riquelme et al. 2018), at Ovadia et al.'s rate."""

from dataclasses import replace

from torch import nn

from slova_bench.layers import AlwaysDropout
from slova_bench.method import Backbone
from slova_bench.methods import softmax
from slova_bench.networks import with_last
from slova_bench.stable import stable

RATE = 0.319811


@stable("ll_dropout_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, AlwaysDropout(RATE), base[-1])


METHOD = replace(softmax.METHOD, name="ll_dropout", network=network, samples=16)
