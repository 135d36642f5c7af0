"""Stochastic variational inference of the last layer only (Riquelme et al. 2018); the rest is deterministic."""

from dataclasses import replace

from torch import nn

from slova_bench.layers import BayesianLinear
from slova_bench.method import Backbone
from slova_bench.methods import svi
from slova_bench.networks import last_linear, with_last
from slova_bench.stable import stable


@stable("ll_svi_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, BayesianLinear(last_linear(base).in_features, classes, prior_scale=0.0626))


METHOD = replace(svi.METHOD, name="ll_svi", network=network, family="softmax", samples=16)
