"""Stochastic variational inference (Graves 2011, Blundell et al. 2015) in Ovadia et al.'s form: Flipout for the second
convolution of every block, a Bayesian last layer, a prior whose mean is learned, SELU, no batch norm behind random
weights. Or of the last layer only (Riquelme et al. 2018); the rest is then deterministic."""

from dataclasses import replace

from torch import Tensor, nn

from slova_bench.layers import BayesianLinear, kl_divergence
from slova_bench.method import Backbone, softmax_loss
from slova_bench.methods import softmax
from slova_bench.networks import last_linear, with_last
from slova_bench.stable import stable


@stable("svi_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes, bayesian=True)
    return with_last(base, BayesianLinear(last_linear(base).in_features, classes))


@stable("ll_svi_network")
def last_network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, BayesianLinear(last_linear(base).in_features, classes, prior_scale=0.0626))


@stable("svi_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    """The results bound per training image: its cross-entropy and its share of the KL divergence."""
    return softmax_loss(network, images, labels, rows) + kl_divergence(network) / rows


METHOD = replace(softmax.METHOD, name="svi", network=network, loss=loss, family="svi", samples=8)
LAST_LAYER = replace(METHOD, name="ll_svi", network=last_network, family="softmax", samples=16)
