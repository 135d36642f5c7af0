"""One-vs-all with distance-based logits, in the SLOVA paper's variant: f_k = -sqrt(||x - w_k||) on the features; the
loss is on sigmoid(f), the probability is 2 sigmoid(f), and the reported readout is that of SLOVA, renormalised and
not calibrated."""

from dataclasses import replace

from torch import nn

from slova._backend import Array, floating
from slova.heads import SOFTMAX, Readout
from slova_bench.layers import DistanceLinear
from slova_bench.method import Backbone
from slova_bench.methods import ova
from slova_bench.networks import last_linear, with_last
from slova_bench.stable import stable


@stable("ova_dm_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, DistanceLinear(last_linear(base).in_features, classes, root=True))


def doubled(logits: Array) -> Array:
    """The logits of 2 sigmoid(f), for f < 0: 2 sigmoid(f) / (1 - 2 sigmoid(f)) = 2 / (e^-f - 1)."""
    logits, ops = floating(logits, "logits")
    distance = ops.clip(-logits, 1e-6, None)  # at distance 0 the odds are infinite
    return ops.log(ops.full(logits, 2.0)) - distance - ops.log1mexp(-distance)


@stable("ova_dm_head")
def head(logits: Array) -> Readout:
    return SOFTMAX(doubled(logits))


METHOD = replace(ova.METHOD, name="ova_dm", network=network, family="ova_dm", head=head)
