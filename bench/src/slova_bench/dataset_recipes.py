"""Dataset recipes: the backbone of a data set, and a training recipe per family of losses.

The `fair` preset uses one network, split, augmentation, optimiser and number of epochs for all methods; only learning
rate and weight decay differ between families, because the scales of their losses do. They were tuned on validation data
by `slova_bench.search`: softmax and ova on every data set, the others on CIFAR-10 and reused on CIFAR-100 and SVHN.
CEDA collapses on SVHN at the rate of CIFAR-10 and uses 0.2 there. Those of digits were set by hand. SVHN, which has
more images and is easier, and ACET, whose attack is expensive, have fewer epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Generator, Tensor

from slova_bench.augment import crop, crop_flip
from slova_bench.method import Backbone, Method
from slova_bench.networks import digits_net, resnet20
from slova_bench.train import Recipe

__all__ = ["DATASET_RECIPES", "DatasetRecipe", "dataset_recipe"]

Rates = tuple[float, float]  # learning rate and weight decay
Augment = Callable[[Tensor, Generator], Tensor]


@dataclass(frozen=True)
class DatasetRecipe:
    """A training set with its backbone and recipes."""

    name: str
    backbone: Backbone
    recipes: Mapping[str, Recipe]

    @property
    def train(self) -> str:
        return f"{self.name}-train"

    @property
    def val(self) -> str:
        return f"{self.name}-val"

    @property
    def test(self) -> str:
        return f"{self.name}-test"

    def recipe(self, method: Method) -> Recipe:
        """The recipe of the method, or else of its family."""
        return method.recipe or self.recipes[method.family]

    def quick(self) -> DatasetRecipe:
        """A tenth of the epochs, for quick runs."""
        return replace(self, recipes={name: recipe.quick() for name, recipe in self.recipes.items()})


def dataset_recipe(name: str) -> DatasetRecipe:
    if name not in DATASET_RECIPES:
        raise ValueError(f"the training set must be one of {', '.join(DATASET_RECIPES)}, got {name!r}")
    return DATASET_RECIPES[name]


def _families(base: Recipe, rates: Mapping[str, Rates]) -> dict[str, Recipe]:
    return {name: replace(base, rate=rate, weight_decay=decay) for name, (rate, decay) in rates.items()}


def _small_photographs(
    name: str, augment: Augment, *, softmax: Rates, ova: Rates, ceda: Rates = (0.5, 9.42e-4), epochs: int = 100
) -> DatasetRecipe:
    """ResNet-20. Families other than these use the rates tuned on CIFAR-10."""
    rates = {"softmax": softmax, "ova": ova, "svi": (0.247, 7.39e-5), "ova_dm": (1.43, 8.2e-4), "ceda": ceda}
    recipes = _families(Recipe(epochs=epochs, batch=512, augment=augment), rates)
    return DatasetRecipe(name, resnet20, {**recipes, "acet": replace(recipes["ceda"], epochs=epochs * 2 // 5)})


DIGITS = _families(
    Recipe(epochs=40, batch=64, augment=crop),
    {
        "softmax": (0.1, 5e-4),
        "ova": (0.05, 5e-4),
        "svi": (0.1, 0.0),
        "ova_dm": (0.5, 0.0),
        "ceda": (0.1, 5e-4),
        "acet": (0.1, 5e-4),
    },
)
DATASET_RECIPES = {
    "digits": DatasetRecipe("digits", digits_net, DIGITS),
    "cifar10": _small_photographs("cifar10", crop_flip, softmax=(0.235, 6.51e-4), ova=(0.366, 7.9e-4)),
    "cifar100": _small_photographs("cifar100", crop_flip, softmax=(0.305, 9.56e-4), ova=(0.325, 9.42e-4)),
    "svhn": _small_photographs(
        "svhn", crop, softmax=(0.228, 9.42e-4), ova=(0.228, 9.42e-4), ceda=(0.2, 9.42e-4), epochs=50
    ),
}
