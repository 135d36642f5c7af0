"""Monte-Carlo dropout before every convolution but the first, and before the classifier (Gal & Ghahramani 2016); or on
the features of the last layer only (Riquelme et al. 2018).

The rates are Ovadia et al.'s for CIFAR-10; 8 passes are averaged, and 16 of the last layer; their code does not record
the number.
"""

from dataclasses import replace

from torch import nn

from slova_bench.layers import AlwaysDropout
from slova_bench.method import Backbone
from slova_bench.methods import softmax
from slova_bench.networks import with_last
from slova_bench.stable import stable

RATE, LAST_RATE = 0.054988, 0.319811


@stable("dropout_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return backbone(classes, dropout=RATE)


@stable("ll_dropout_network")
def last_network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, AlwaysDropout(LAST_RATE), base[-1])


METHOD = replace(softmax.METHOD, name="dropout", network=network, samples=8)
LAST_LAYER = replace(softmax.METHOD, name="ll_dropout", network=last_network, samples=16)
