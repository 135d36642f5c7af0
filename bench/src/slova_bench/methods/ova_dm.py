"""One-vs-all with distance-based logits, in the SLOVA paper's variant: f_k = -sqrt(||x - w_k||) on the features; the
loss is on sigmoid(f), the probability is 2 sigmoid(f), and the reported readout is that of SLOVA, renormalised and
not calibrated. The original is as first published (Padhy et al. 2020): f_k = -||x - w_k|| in the space of the K outputs
of the plain network, confidence max_k 2 sigmoid(f_k), not renormalised."""

from dataclasses import replace

from torch import nn

from slova._backend import Array, floating
from slova.heads import OVA, SOFTMAX, Readout
from slova_bench.layers import DistanceLinear
from slova_bench.method import Backbone
from slova_bench.methods import ova
from slova_bench.networks import last_linear, with_last
from slova_bench.stable import stable


@stable("ova_dm_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    return with_last(base, DistanceLinear(last_linear(base).in_features, classes, root=True))


@stable("ova_dm_original_network")
def original_network(backbone: Backbone, classes: int) -> nn.Sequential:
    return nn.Sequential(*backbone(classes), DistanceLinear(classes, classes))


def doubled(logits: Array) -> Array:
    """The logits of 2 sigmoid(f), for f < 0: 2 sigmoid(f) / (1 - 2 sigmoid(f)) = 2 / (e^-f - 1)."""
    logits, ops = floating(logits, "logits")
    distance = ops.clip(-logits, 1e-6, None)  # at distance 0 the odds are infinite
    return ops.log(ops.full(logits, 2.0)) - distance - ops.log1mexp(-distance)


@stable("ova_dm_head")
def head(logits: Array) -> Readout:
    return SOFTMAX(doubled(logits))


@stable("ova_dm_original_head")
def original_head(logits: Array) -> Readout:
    return OVA(doubled(logits))


METHOD = replace(ova.METHOD, name="ova_dm", network=network, family="ova_dm", head=head)
ORIGINAL = replace(METHOD, name="ova_dm_original", network=original_network, head=original_head)
