"""Presets: `fair`, one recipe for all methods (see `dataset_recipes`), `paper`, as published, and five others that are
the same for all methods: `authors`, the defaults of SLOVA's code, `searched`, the best of a random search in the
paper's ranges, `small_batch`, Ovadia et al.'s with batches of 128, `interpolated`, the fair recipe with the
augmentation of SLOVA's code, and `resnet18`, a larger network with OpenOOD's rates.

The recipes of `paper` are those for CIFAR; other data sets use them with their own augmentation. They deviate from the
publications as follows:

- Ovadia et al. (2019) tuned batches of 5 to 16 images, which is 0.5 to 1.6 million updates per network: days where the
  fair recipe takes minutes. They trained on 40,000 images, here on 45,000.
- The rate, epsilon and beta_1 with which SLOVA's authors trained come from a random search and are not published.
  The defaults of their code are used: 0.1, 1e-3 and 0.9.
- The weight decay of SLOVA on OOD data is taken as the factor of the weights in the gradient; in Hein et al.'s code,
  whose penalty has no half, it would be twice that.
- The augmentation of `interpolated` has flips, on data sets without them too.
- They decay the weights of convolutions or of some layers; here all weights but biases and norms are decayed.

Rows of a preset other than the fair one have its name in the column `preset`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from slova_bench.augment import shift_flip
from slova_bench.dataset_recipes import DatasetRecipe
from slova_bench.method import Method
from slova_bench.methods import methods
from slova_bench.networks import on_preact_resnet, on_resnet18
from slova_bench.schedules import constant, steps_paper
from slova_bench.stable import stable
from slova_bench.train import Recipe

__all__ = ["PRESETS", "originals", "preset"]

PRESETS = ("fair", "paper", "authors", "searched", "small_batch", "interpolated", "resnet18")


def preset(chosen: Sequence[Method], name: str, *, experiment: str, dataset: DatasetRecipe) -> list[Method]:
    """The methods with the recipes of a preset. Weights depend on the recipe, so presets share no networks."""
    if name not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}")
    if name == "fair":
        return list(chosen)
    if name == "resnet18":
        network = [partial(on_resnet18, method.network) for method in chosen]
        return [replace(m, network=n, recipe=RESNET18, preset=name) for m, n in zip(chosen, network, strict=True)]
    if name == "interpolated":
        return [replace(m, recipe=replace(dataset.recipe(m), augment=shift_flip), preset=name) for m in chosen]
    augment = dataset.recipes["softmax"].augment
    if name in ONE_FOR_ALL:
        return [replace(method, recipe=replace(ONE_FOR_ALL[name], augment=augment), preset=name) for method in chosen]
    table = originals(experiment, dataset.name)
    recipes = [replace(_original(method, table), augment=augment) for method in chosen]
    found = [replace(method, recipe=own, preset=name) for method, own in zip(chosen, recipes, strict=True)]
    of_hein = experiment == "ood" and dataset.name in OOD_RATES
    return [_on_hein(method) for method in found] if of_hein else found


def originals(experiment: str, on: str) -> dict[str, Recipe]:
    """The published recipes by method. For OOD data they differ, and the rate and weight decay of SLOVA depend on the
    data set."""
    if experiment != "ood":
        return SHIFT
    rate, decay = OOD_RATES.get(on, OOD_RATES["cifar10"])
    own = replace(HEIN, rate=rate, weight_decay=decay)
    return {**SHIFT, "softmax": HEIN, "ova": own, "slova_none": own}


def _on_hein(method: Method) -> Method:
    """The methods of the OOD table have Hein et al.'s network; others keep theirs."""
    known = method.recipe is not None and method.recipe.schedule is steps_hein
    return replace(method, network=partial(on_preact_resnet, method.network)) if known else method


@stable("steps_ovadia")
def steps_ovadia(done: float) -> float:
    """By 10, 100, 1000 and 2000 from epochs 81, 121, 161 and 181 of 200 on."""
    return _steps(done, {81 / 200: 0.1, 121 / 200: 0.01, 161 / 200: 0.001, 181 / 200: 0.0005})


@stable("steps_hein")
def steps_hein(done: float) -> float:
    """A tenth from 50 %, a hundredth from 75 %, a thousandth from 90 % of the updates on."""
    return _steps(done, {0.5: 0.1, 0.75: 0.01, 0.9: 0.001})


def _steps(done: float, factors: Mapping[float, float]) -> float:
    return ([1.0] + [factor for start, factor in factors.items() if done >= start])[-1]


def _original(method: Method, table: Mapping[str, Recipe]) -> Recipe:
    """The recipe of the published method with the same network and loss."""
    known = methods()
    for name, recipe in table.items():
        if (known[name].network, known[name].loss) == (method.network, method.loss):
            return recipe
    raise ValueError(f"no recipe is published for {method.name}: omit it, or use the fair preset")


RESNET18 = Recipe(epochs=80, batch=128, rate=0.1, weight_decay=5e-4)  # OpenOOD's, with 80 epochs in place of 100
OVADIA = Recipe(epochs=200, batch=7, rate=7.17e-4, weight_decay=2e-4, adam_eps=1e-7, schedule=steps_ovadia)
AUTHORS = Recipe(epochs=250, batch=512, rate=0.1, weight_decay=2e-4, adam_eps=1e-3, schedule=steps_paper)
# The best of twenty trials of 20 epochs with one-vs-all (bench/results/searches.json).
SEARCHED = replace(AUTHORS, rate=0.129, momentum=0.934, adam_eps=2.97e-7)
# The rate for batches of 128 in place of 7 by the rule of the square root.
SMALL_BATCH = replace(OVADIA, batch=128, rate=3.07e-3)
PADHY = Recipe(epochs=23, batch=512, rate=0.01, weight_decay=0.0, adam_eps=1e-7, schedule=constant)  # 2,000 updates
HEIN = Recipe(epochs=100, batch=128, rate=0.1, weight_decay=1e-3, schedule=steps_hein, nesterov=False)
ONE_FOR_ALL = {"authors": AUTHORS, "searched": SEARCHED, "small_batch": SMALL_BATCH}
OOD_RATES = {"cifar10": (0.02, 0.01), "cifar100": (0.03, 0.02), "svhn": (0.02, 0.01)}

SHIFT = {
    "softmax": OVADIA,
    "dropout": replace(OVADIA, batch=5, rate=2.50e-4),
    "ll_dropout": replace(OVADIA, batch=16, rate=3.13e-4),
    "svi": replace(OVADIA, batch=107, rate=1.189e-3),
    "ll_svi": replace(OVADIA, batch=16, rate=1.15285e-3),
    "ova": AUTHORS,
    "slova_none": AUTHORS,  # not in the paper: the recipe of SLOVA
    "ova_dm": AUTHORS,
    "ova_dm_original": PADHY,
    "ceda": HEIN,
    "acet": HEIN,
    "acet_short": HEIN,
    "acet_full": HEIN,
}
