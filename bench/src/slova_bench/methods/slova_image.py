"""SLOVA for images: one-vs-all with cross-entropy, trained with degraded images and outliers labelled NONE
(`slova.vision.augment`), and calibrated by the default calibrator with distances, on clean and degraded validation
images and outliers; also with images mixed as in AugMix and PixMix. One pass; with the same weights also with flips or
quarter turns averaged at test time, or with one more distance in the calibrator: that to the tenth nearest validation
image, in features of unit length (Sun et al. 2022, who use training images and the distance alone)."""

from dataclasses import dataclass, field, replace
from functools import partial

from torch import Tensor, nn
from torch.nn import functional

from slova.losses import ova_loss
from slova.vision import augment
from slova_bench.distances import with_distances
from slova_bench.methods import ova_fit
from slova_bench.methods.augmix import divergence
from slova_bench.neighbours import posterior_with_neighbours, with_neighbours
from slova_bench.stable import stable
from slova_bench.store import USUAL_LEFT_OUT


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
    cross_entropy: float = field(default=1.5, metadata=USUAL_LEFT_OUT)

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, rows: int) -> Tensor:
        outliers = 0.0 if self.softmax else 0.5
        shown, truth = augment(images, labels, degraded=self.degraded, mixed=self.mixed, outliers=outliers)
        logits = network(shown).float()
        one_vs_all = partial(ova_loss, cross_entropy=self.cross_entropy)
        loss: Tensor = (functional.cross_entropy if self.softmax else one_vs_all)(logits, truth)
        if not self.consistency:
            return loss
        return loss + self.consistency * divergence([network(images).float(), logits[: len(images)]])


UNMIXED, MIXED = Loss(degraded=0.5, mixed=0.0), Loss(degraded=0.25, mixed=0.5)
UNMIXED_OVA = replace(UNMIXED, cross_entropy=0.0)
# Values equal to these keep the names under which their networks are stored.
stable("image_recipe_with_cross_entropy")(UNMIXED)
stable("image_recipe_loss")(UNMIXED_OVA)

METHOD = replace(ova_fit.METHOD, name="slova_image", loss=UNMIXED)
WITHOUT_CROSS_ENTROPY = replace(METHOD, name="slova_image_ova", loss=UNMIXED_OVA)
NO_DISTANCES = replace(METHOD, name="slova_image_no_distances", fit=ova_fit.NO_DISTANCES.fit)
FLIP = replace(METHOD, name="slova_image_flip", adapt=partial(with_distances, views="flip"))
TURNS = replace(METHOD, name="slova_image_turns", adapt=partial(with_distances, views="turns"))
ENSEMBLE = replace(METHOD, name="slova_image_ensemble", members=5)
NEIGHBOURS = replace(
    METHOD,
    name="slova_image_neighbours",
    adapt=with_neighbours,
    fit=partial(posterior_with_neighbours, head="slova"),
)
MIXING = replace(METHOD, name="slova_image_mixed", loss=MIXED)
MIXING_NO_DISTANCES = replace(NO_DISTANCES, name="slova_image_mixed_no_distances", loss=MIXED)
MIXING_FLIP = replace(FLIP, name="slova_image_mixed_flip", loss=MIXED)
MIXING_ENSEMBLE = replace(ENSEMBLE, name="slova_image_mixed_ensemble", loss=MIXED)
