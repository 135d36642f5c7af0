"""Every method builds, learns and reads out; each differs from the baseline only as described in its paper."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from slova_bench import data
from slova_bench import methods as folder
from slova_bench.dataset_recipes import DATASET_RECIPES, dataset_recipe
from slova_bench.method import Method
from slova_bench.methods import find, methods
from slova_bench.networks import digits_net, resnet20
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.tables.cost import costs
from slova_bench.train import Execution, seeded

from slova.heads import Readout
from slova.vision.outliers import low_pass

CPU = torch.device("cpu")
BACKBONES = {"digits": (digits_net, (1, 8, 8)), "resnet20": (resnet20, (3, 32, 32))}
FILES = sorted(path for path in Path(folder.__file__).parent.glob("*.py") if path.name != "__init__.py")
MORE_OUTPUTS = {"softmax_none_class": 1, "softmax_mixed_none_class": 1, "rotpred": 4}  # beside the classes
DISTINCT = {(m.network, m.loss, m.family, m.recipe, m.head, m.samples, m.members): m.name for m in methods().values()}
every = pytest.mark.parametrize("name", DISTINCT.values())  # in what these tests depend on


def built(name, backbone="digits", classes=10):
    make, shape = BACKBONES[backbone]
    with seeded(CPU, 0):
        return methods()[name].network(make, classes), torch.rand(4, *shape)


# The contract.


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_at_most_70_lines_and_cites_its_method_on_top(path):
    text = path.read_text()
    top = text.split('"""')[1]
    assert len(text.splitlines()) <= 70
    assert text.startswith('"""')
    assert re.search(r"\b(19|20)\d\d\b", top) or "SLOVA" in top


def test_every_file_has_a_method_of_its_name_and_methods_lists_all_whose_cost_is_known():
    assert {path.stem for path in FILES} <= set(methods()) == set(costs())
    assert all(type(method) is Method and method.name == name for name, method in methods().items())


def test_an_unknown_method_is_an_error_that_lists_those_there_are():
    assert [method.name for method in find(["slova", "softmax"])] == ["slova", "softmax"]
    with pytest.raises(ValueError, match=r"unknown method slow; the methods are acet, .*vim"):
        find(["slova", "slow"])


@every
def test_every_dataset_recipe_has_a_recipe_for_every_method(name):
    for place in DATASET_RECIPES.values():
        recipe = place.recipe(methods()[name])
        assert recipe.rate > 0
        assert recipe.epochs >= place.quick().recipe(methods()[name]).epochs >= 1


@pytest.mark.parametrize("backbone", BACKBONES)
@every
def test_the_loss_is_a_finite_scalar_with_a_gradient_for_every_parameter(name, backbone):
    network, images = built(name, backbone)
    labels = torch.tensor([3, 1, 9, 1])
    with seeded(CPU, 1):
        value = methods()[name].loss(network.train(), images, labels, 1000)
    assert value.shape == ()
    assert value.isfinite()
    value.backward()
    idle = [key for key, parameter in network.named_parameters() if parameter.grad is None]
    assert idle == []
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters())


@pytest.mark.parametrize("backbone", BACKBONES)
@every
def test_a_network_ends_in_its_classifier_and_has_one_logit_per_class(name, backbone):
    network, images = built(name, backbone, classes=7)
    with seeded(CPU, 1):
        whole = network.eval()(images)
    with seeded(CPU, 1):
        parts = network[-1](network[:-1](images))
    assert torch.equal(whole, parts)
    assert whole.shape == (4, 7 + MORE_OUTPUTS.get(name, 0))


@every
def test_a_method_uses_several_passes_exactly_when_its_network_is_random(name):
    network, images = built(name)
    network.eval()
    assert (methods()[name].samples > 1) == (not torch.equal(network(images), network(images)))
    assert methods()[name].members == (10 if name == "ensemble_ten" else 5 if "ensemble" in name else 1)


@every
def test_the_head_turns_logits_into_a_readout_that_prefers_the_largest(name):
    network, images = built(name)
    with torch.no_grad():
        logits = torch.stack([network.eval()(images) for _ in range(3)]).numpy()
    found = methods()[name].head(logits)
    assert type(found) is Readout
    assert found.log_probs.shape == (3, 4, 10 + MORE_OUTPUTS.get(name, 0))
    assert found.log_none.shape == (3, 4)
    assert (found.log_probs <= 0).all()
    assert (found.log_probs.argmax(-1) == logits.argmax(-1)).all()


SOFTMAX = {
    "softmax",
    "temperature",
    "react",
    "ensemble",
    "ensemble_temperature",
    "ensemble_ten",
    "energy",
    "max_logit",
    "knn",
    "mahalanobis",
    "vim",
    "retrofit",
    "retrofit_noise",
    "temperature_degraded",
    "softmax_fit",
    *("dac", "dac_degraded", "energy_scaling", "gen", "fdbd", "ash"),
}
OVA = {
    "ova",
    "slova_raw",
    "slova",
    "slova_paper_fit",
    "slova_normalised",
    "slova_clean",
    "slova_distance",
    "slova_mirror",
    "slova_ensemble",
    "slova_distance_ensemble",
    "ova_fit",
    "ova_fit_no_distances",
    "ova_fit_clean",
}
NONES = {"slova_none", "slova_none_raw", "slova_none_fit"}
IMAGE = {
    *("slova_image", "slova_image_no_distances", "slova_image_ensemble"),
    *("slova_image_neighbours", "slova_image_flip", "slova_image_turns"),
}
OWN_LOSSES = ("_none_class", "_exposed")
AUGMIX, PIXMIX = {"augmix", "augmix_degraded"}, {"pixmix", "pixmix_degraded"}
MIXED, SOFTMAX_MIXED, AUGMENTED = (
    {name for name in methods() if name.startswith(start) and not name.endswith(OWN_LOSSES)}
    for start in ("slova_image_mixed", "softmax_mixed", "softmax_augmented")
)
SHARING = (SOFTMAX, OVA, NONES, IMAGE, MIXED, SOFTMAX_MIXED, AUGMENTED, AUGMIX, PIXMIX)


@pytest.mark.parametrize("where", ["digits", "cifar10"])
def test_methods_share_weights_exactly_when_they_differ_only_after_training(where):
    bench = Bench(dataset_recipe(where))
    described = {name: bench.weights(method, 3) for name, method in methods().items()}
    for name, what in described.items():
        sharing = {other for other in described if described[other] == what}
        assert sharing == next((group for group in SHARING if name in group), {name})


# Learning.

SLOW = {"ova_dm_original", "acet_short"}


@cache
def trained(name):
    """With fewer epochs than usual, but for those that learn slowly."""
    digits = dataset_recipe("digits")
    epochs = 28 if name in SLOW else 16
    recipes = {family: replace(recipe, epochs=epochs) for family, recipe in digits.recipes.items()}
    return Bench(replace(digits, recipes=recipes), execution=Execution(CPU)).trained(methods()[name], 0)


FAMILIES = (
    *("softmax", "ova", "dropout", "ll_dropout", "ll_svi", "svi", "ova_dm", "ova_dm_original"),
    *("ceda", "acet_short", "slova_none", "slova_image", "slova_image_mixed"),
)


def test_every_method_is_trained_here_or_shares_weights_with_one_that_is():
    alike = {"acet", "acet_full", "slova_image_ova"}  # other losses of the same batches
    alike |= {name for name in methods() if name.endswith(OWN_LOSSES)}  # likewise
    alike |= {"logitnorm", "rotpred", *AUGMIX, *PIXMIX}  # see test_methods_rivals
    assert set(methods()) == set(FAMILIES).union(*SHARING) | alike


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_method_learns_the_digits(name):
    split = data.load("digits-test")
    log_probs = mean_readout(methods()[name].head, trained(name).outputs(split.images).logits[..., :10]).log_probs
    assert float((log_probs.argmax(-1) == split.labels.numpy()).mean()) >= 0.9


def unsure_of(name, images):
    logits = trained(name).outputs(images).logits
    return float(np.exp(mean_readout(methods()[name].head, logits).log_probs.max(-1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ceda", "acet_short"])
def test_networks_trained_on_noise_are_less_confident_on_it_than_softmax(name):
    with seeded(CPU, 5):
        noise = low_pass(data.load("digits-test").images.float() / 255)
    assert unsure_of(name, noise) < 0.6 * unsure_of("softmax", noise)
