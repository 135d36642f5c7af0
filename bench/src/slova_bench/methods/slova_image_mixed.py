"""SLOVA's image recipe with mixed images: besides the degraded ones a share of the images is mixed as in AugMix and
PixMix (`slova.vision.augment`); and its rival on equal terms, softmax with the same images and no outliers, with a
temperature on clean images or on clean and degraded ones, and with the default calibrator."""

from dataclasses import dataclass, replace

from torch import Tensor, nn
from torch.nn import functional

from slova.losses import ova_loss
from slova.vision import augment
from slova_bench.methods import ova_fit, slova_image, softmax_augmented, temperature
from slova_bench.methods.augmix import divergence
from slova_bench.stable import stable


@stable("mixed_images")
@dataclass(frozen=True)
class Loss:
    """One-vs-all with cross-entropy and outliers, or softmax without them. These shares of a batch are degraded and
    mixed. `consistency` adds this many times the Jensen-Shannon divergence between the predictions of an image and of
    what it has become."""

    degraded: float
    mixed: float
    softmax: bool = False
    consistency: float = 0.0

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
        outliers = 0.0 if self.softmax else 0.5
        shown, truth = augment(images, labels, degraded=self.degraded, mixed=self.mixed, outliers=outliers)
        logits = network(shown).float()
        loss = functional.cross_entropy(logits, truth) if self.softmax else ova_loss(logits, truth, cross_entropy=1.5)
        if not self.consistency:
            return loss
        return loss + self.consistency * divergence([network(images).float(), logits[: len(images)]])


OURS = Loss(degraded=0.25, mixed=0.5)
METHOD = replace(slova_image.METHOD, name="slova_image_mixed", loss=OURS)
NO_DISTANCES = replace(slova_image.NO_DISTANCES, name="slova_image_mixed_no_distances", loss=OURS)
FLIP = replace(slova_image.FLIP, name="slova_image_mixed_flip", loss=OURS)
ENSEMBLE = replace(METHOD, name="slova_image_mixed_ensemble", members=5)
SOFTMAX = replace(temperature.METHOD, name="softmax_mixed", loss=replace(OURS, softmax=True))
DEGRADED = replace(temperature.DEGRADED, name="softmax_mixed_degraded", loss=SOFTMAX.loss)
FIT = replace(ova_fit.SOFTMAX, name="softmax_mixed_fit", loss=SOFTMAX.loss)
SOFTMAX_FLIP = replace(softmax_augmented.FLIP, name="softmax_mixed_flip", loss=SOFTMAX.loss)
SOFTMAX_ENSEMBLE = replace(SOFTMAX, name="softmax_mixed_ensemble", members=5)
ENSEMBLE_DEGRADED = replace(DEGRADED, name="softmax_mixed_ensemble_degraded", members=5)
