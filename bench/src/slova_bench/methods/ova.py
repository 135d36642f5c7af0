"""Plain one-vs-all: K sigmoids, confidence max_k p_k (Shu et al. 2017, Padhy et al. 2020)."""

from torch import Tensor, nn

from slova.heads import OVA
from slova.losses import init_bias, ova_loss
from slova_bench.method import Backbone, Method
from slova_bench.networks import last_linear
from slova_bench.stable import stable


@stable("ova_network")
def network(backbone: Backbone, classes: int) -> nn.Sequential:
    base = backbone(classes)
    init_bias(last_linear(base))
    return base


@stable("ova_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    return ova_loss(network(images), labels)


METHOD = Method(name="ova", network=network, loss=loss, family="ova", head=OVA)
