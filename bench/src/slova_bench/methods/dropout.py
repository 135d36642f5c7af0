"""Monte-Carlo dropout before every convolution but the first, and before the classifier (Gal & Ghahramani 2016).

The rate is Ovadia et al.'s for CIFAR-10; 8 passes are averaged; their code does not record the number.
"""

from dataclasses import replace

from torch import nn

from slova_bench.method import Backbone
from slova_bench.methods import softmax
from slova_bench.stable import stable

RATE = 0.054988


@stable("dropout_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return backbone(classes, dropout=RATE)


METHOD = replace(softmax.METHOD, name="dropout", network=network, samples=8)
