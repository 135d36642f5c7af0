"""One-vs-all with distance-based logits as first published (Padhy et al. 2020): f_k = -||x - w_k|| in the space of the
K outputs of the plain network, confidence max_k 2 sigmoid(f_k), not renormalised."""

from dataclasses import replace

from torch import nn

from slova.backend import Array
from slova.bench.layers import DistanceLinear
from slova.bench.method import Backbone
from slova.bench.methods import ova_dm
from slova.heads import Readout, read_ova


def network(backbone: Backbone, classes: int) -> nn.Sequential:
    return nn.Sequential(*backbone(classes), DistanceLinear(classes, classes))


def head(logits: Array) -> Readout:
    return read_ova(ova_dm.doubled(logits))


METHOD = replace(ova_dm.METHOD, name="ova_dm_original", network=network, head=head)
