"""One-vs-all with distance-based logits as first published (Padhy et al. 2020): f_k = -||x - w_k|| in the space of the
K outputs of the plain network, confidence max_k 2 sigmoid(f_k), not renormalised."""

from dataclasses import replace

from torch import nn

from slova._backend import Array
from slova.heads import OVA, Readout
from slova_bench.layers import DistanceLinear
from slova_bench.method import Backbone
from slova_bench.methods import ova_dm
from slova_bench.stable import stable


@stable("ova_dm_original_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return nn.Sequential(*backbone(classes), DistanceLinear(classes, classes))


@stable("ova_dm_original_head")
def head(logits: Array) -> Readout:
    return OVA(ova_dm.doubled(logits))


METHOD = replace(ova_dm.METHOD, name="ova_dm_original", network=network, head=head)
