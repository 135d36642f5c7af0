"""Temperature scaling (Guo et al. 2017) of softmax trained with the degraded images of the image recipe, and without
outliers: the rival of the recipe on equal terms. The temperature is fitted on clean images, or on clean and degraded
ones; also with the default calibrator, with flips averaged at test time, and as ensemble."""

from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional

from slova.vision import augment
from slova_bench.distances import flip_averaged
from slova_bench.methods import ova_fit, temperature
from slova_bench.stable import stable


@stable("softmax_augmented_loss")
def loss(network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
    images, labels = augment(images, labels, degraded=0.5, mixed=0.0, outliers=0.0)
    return functional.cross_entropy(network(images).float(), labels)


METHOD = replace(temperature.METHOD, name="softmax_augmented", loss=loss)
DEGRADED = replace(METHOD, name="softmax_augmented_degraded", calibrate_on=("clean", "degraded"))
FLIP = replace(DEGRADED, name="softmax_augmented_flip", adapt=flip_averaged)
FIT = replace(ova_fit.SOFTMAX, name="softmax_augmented_fit", loss=loss)
ENSEMBLE = replace(METHOD, name="softmax_augmented_ensemble", members=5)
ENSEMBLE_DEGRADED = replace(DEGRADED, name="softmax_augmented_ensemble_degraded", members=5)
