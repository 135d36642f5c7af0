"""PixMix-like (Hendrycks et al. 2022): softmax trained on images mixed in up to four rounds, with beta = 3, with
augmented versions of themselves and with structured pictures. Deviations: the pictures are fractals drawn by formula,
since the published set is not at hand, and a temperature is fitted on validation images. Optimiser, rate and epochs are
those of the comparison."""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional

from slova_bench.methods import temperature
from slova_bench.published_mixtures import mixed
from slova_bench.stable import stable


@stable("pixmix_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    return functional.cross_entropy(network(mixed(images)).float(), labels)


METHOD = replace(temperature.METHOD, name="pixmix", loss=loss)
DEGRADED = replace(temperature.DEGRADED, name="pixmix_degraded", loss=loss)
