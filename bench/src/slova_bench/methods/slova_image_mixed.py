"""SLOVA's image recipe with mixed images: besides the degraded ones a share of the images is mixed as in AugMix and
PixMix (`slova.vision.augment`); and its rival on equal terms, softmax with the same images and no outliers, with a
temperature on clean images or on clean and degraded ones, and with the default calibrator."""

from dataclasses import dataclass, replace

from torch import Tensor, nn
from torch.nn import functional

from slova.losses import ova_loss
from slova.vision import augment
from slova_bench.methods import ova_fit, slova_image, temperature
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


QUARTER, HALF = Loss(0.5, 0.25), Loss(0.25, 0.5)
METHOD = replace(slova_image.METHOD, name="slova_image_mixed", loss=QUARTER)
SOFTMAX = replace(temperature.METHOD, name="softmax_mixed", loss=replace(QUARTER, softmax=True))
DEGRADED = replace(temperature.DEGRADED, name="softmax_mixed_degraded", loss=SOFTMAX.loss)
FIT = replace(ova_fit.SOFTMAX, name="softmax_mixed_fit", loss=SOFTMAX.loss)
ENSEMBLE = replace(METHOD, name="slova_image_mixed_ensemble", members=5)
SOFTMAX_ENSEMBLE = replace(SOFTMAX, name="softmax_mixed_ensemble", members=5)
ENSEMBLE_DEGRADED = replace(DEGRADED, name="softmax_mixed_ensemble_degraded", members=5)
MORE = replace(METHOD, name="slova_image_mixed_half", loss=HALF)
SOFTMAX_MORE = replace(SOFTMAX, name="softmax_mixed_half", loss=replace(HALF, softmax=True))
DEGRADED_MORE = replace(DEGRADED, name="softmax_mixed_half_degraded", loss=SOFTMAX_MORE.loss)
FIT_MORE = replace(FIT, name="softmax_mixed_half_fit", loss=SOFTMAX_MORE.loss)
ALIKE = replace(METHOD, name="slova_image_mixed_alike", loss=replace(QUARTER, consistency=4.0))
SOFTMAX_ALIKE = replace(SOFTMAX, name="softmax_mixed_alike", loss=replace(QUARTER, softmax=True, consistency=4.0))
DEGRADED_ALIKE = replace(DEGRADED, name="softmax_mixed_alike_degraded", loss=SOFTMAX_ALIKE.loss)
FIT_ALIKE = replace(FIT, name="softmax_mixed_alike_fit", loss=SOFTMAX_ALIKE.loss)
