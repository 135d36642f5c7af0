"""Every method builds, learns and reads out; each differs from the baseline in what its paper says and nothing else."""

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from slova_bench import data
from slova_bench import methods as folder
from slova_bench.dataset_recipes import SETTINGS, setting
from slova_bench.layers import BayesianLinear, DistanceLinear, kl_divergence
from slova_bench.method import Method, softmax_loss
from slova_bench.methods import (
    find,
    methods,
    ova_dm,
    react,
    slova_distance,
    svi,
)  # fmt: skip
from slova_bench.networks import digits_net, resnet20
from slova_bench.pipeline import Bench, pooled
from slova_bench.train import Place, seeded

from slova import heads
from slova.calibration import TemperatureScaling
from slova.heads import Readout, log_softmax
from slova.vision.outliers import low_pass

CPU = torch.device("cpu")
BACKBONES = {"digits": (digits_net, (1, 8, 8)), "resnet20": (resnet20, (3, 32, 32))}
FILES = sorted(path for path in Path(folder.__file__).parent.glob("*.py") if path.name != "__init__.py")
every = pytest.mark.parametrize("name", methods())


def built(name, backbone="digits", classes=10):
    make, shape = BACKBONES[backbone]
    with seeded(CPU, 0):
        return methods()[name].network(make, classes), torch.rand(4, *shape)


# The contract.


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_at_most_60_lines_and_says_on_top_whose_method_it_holds(path):
    text = path.read_text()
    top = text.split('"""')[1]
    assert len(text.splitlines()) <= 60
    assert text.startswith('"""')
    assert re.search(r"\b(19|20)\d\d\b", top) or "SLOVA" in top


def test_every_file_is_a_method_of_its_name_and_methods_lists_them_all():
    assert {path.stem for path in FILES} | {"acet_short", "slova_none_raw", "retrofit_noise"} == set(methods())
    assert all(type(method) is Method and method.name == name for name, method in methods().items())


def test_an_unknown_method_is_an_error_that_lists_those_there_are():
    assert [method.name for method in find(["slova", "softmax"])] == ["slova", "softmax"]
    with pytest.raises(ValueError, match=r"no method is called slow; there are acet, .*vim"):
        find(["slova", "slow"])


@every
def test_every_setting_has_a_recipe_for_every_method(name):
    for place in SETTINGS.values():
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
def test_a_network_ends_in_its_classifier_and_has_a_logit_a_class(name, backbone):
    network, images = built(name, backbone, classes=7)
    with seeded(CPU, 1):
        whole = network.eval()(images)
    with seeded(CPU, 1):
        parts = network[-1](network[:-1](images))
    assert torch.equal(whole, parts)
    assert whole.shape == (4, 7)


@every
def test_a_method_asks_several_times_exactly_when_its_network_is_random(name):
    network, images = built(name)
    network.eval()
    assert (methods()[name].samples > 1) == (not torch.equal(network(images), network(images)))
    assert methods()[name].members == (5 if name.endswith("ensemble") else 1)


@every
def test_the_head_turns_logits_into_a_readout_that_prefers_the_largest(name):
    network, images = built(name)
    with torch.no_grad():
        logits = torch.stack([network.eval()(images) for _ in range(3)]).numpy()
    found = methods()[name].head(logits)
    assert type(found) is Readout
    assert found.log_probs.shape == (3, 4, 10)
    assert found.log_none.shape == (3, 4)
    assert (found.log_probs <= 0).all()
    assert (found.log_probs.argmax(-1) == logits.argmax(-1)).all()


SOFTMAX = {
    "softmax",
    "temperature",
    "react",
    "ensemble",
    "energy",
    "max_logit",
    "knn",
    "mahalanobis",
    "vim",
    "retrofit",
    "retrofit_noise",
}
OVA = {
    "ova",
    "slova_raw",
    "slova",
    "slova_clean",
    "slova_distance",
    "slova_mirror",
    "slova_ensemble",
    "slova_distance_ensemble",
}
NONES = {"slova_none", "slova_none_raw"}


@pytest.mark.parametrize("where", ["digits", "cifar10"])
def test_methods_share_weights_exactly_when_they_differ_only_after_training(where):
    bench = Bench(setting(where))
    described = {name: bench.weights(method, 3) for name, method in methods().items()}
    for name, what in described.items():
        sharing = {other for other in described if described[other] == what}
        assert sharing == next((group for group in (SOFTMAX, OVA, NONES) if name in group), {name})


# Learning.


@cache
def learned(name):
    bench = Bench(setting("digits"), place=Place(CPU))
    return bench.trained(methods()[name], 0)


FAMILIES = {
    **dict.fromkeys(
        ["softmax", "ova", "dropout", "ll_dropout", "ll_svi", "ova_dm", "ova_dm_original", "ceda", "slova_none"], 0.95
    ),
    **dict.fromkeys(["svi", "acet_short"], 0.93),
}


def test_every_method_is_trained_here_or_shares_weights_with_one_that_is():
    assert set(methods()) == set(FAMILIES) | SOFTMAX | OVA | NONES | {"acet"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_every_method_learns_the_digits(name):
    split = data.load("digits-test")
    log_probs = pooled(methods()[name].head, learned(name).outputs(split.images).logits).log_probs
    assert float((log_probs.argmax(-1) == split.labels.numpy()).mean()) >= FAMILIES[name]


def unsure_of(name, images):
    logits = learned(name).outputs(images).logits
    return float(np.exp(pooled(methods()[name].head, logits).log_probs.max(-1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ceda", "acet_short"])
def test_networks_trained_on_noise_are_less_sure_of_it_than_softmax(name):
    with seeded(CPU, 5):
        noise = low_pass(data.load("digits-test").images.float() / 255)
    assert unsure_of(name, noise) < 0.6 * unsure_of("softmax", noise)


# SVI, OVA-DM, ReAct.


def test_the_loss_of_svi_is_cross_entropy_and_the_share_of_the_kl_of_one_image():
    network, images = built("svi")
    labels = torch.tensor([3, 1, 9, 1])
    with seeded(CPU, 1):
        found = svi.loss(network, images, labels, 500)
    with seeded(CPU, 1):
        wanted = softmax_loss(network, images, labels, 500) + kl_divergence(network) / 500
    torch.testing.assert_close(found, wanted)
    assert isinstance(network[-1], BayesianLinear)


@pytest.mark.parametrize(("name", "mean"), [("svi", -1.9994), ("ll_svi", -2.73995)])
def test_the_scale_of_the_prior_is_the_softplus_of_ovadias_mean(name, mean):
    assert built(name)[0][-1].prior_scale == pytest.approx(np.log1p(np.exp(mean)), rel=2e-3)


def test_doubled_is_the_logit_of_twice_the_sigmoid():
    logits = -np.geomspace(1e-3, 30, 50)
    twice = 2 / (1 + np.exp(-logits))
    np.testing.assert_allclose(ova_dm.doubled(logits), np.log(twice / (1 - twice)), rtol=1e-9)
    assert np.isfinite(ova_dm.doubled(np.array([0.0, -1e-30, -1e4], dtype=np.float32))).all()


def test_the_distance_methods_read_out_what_their_papers_report():
    logits = -np.abs(np.random.default_rng(0).normal(2, 1, (20, 5))) - 0.01
    twice = 2 / (1 + np.exp(-logits))
    np.testing.assert_allclose(np.exp(methods()["ova_dm_original"].head(logits).log_probs), twice, rtol=1e-9)
    alone = np.array([[p[k] * np.prod(np.delete(1 - p, k)) for k in range(5)] for p in twice])
    found = np.exp(methods()["ova_dm"].head(logits).log_probs)
    np.testing.assert_allclose(found, alone / alone.sum(1, keepdims=True), rtol=1e-9)


def test_distances_are_taken_from_the_features_here_and_from_the_outputs_in_the_original():
    here, original = built("ova_dm")[0][-1], built("ova_dm_original")[0][-1]
    assert isinstance(here, DistanceLinear)
    assert (here.centres.shape, here.root) == ((10, 64), True)
    assert (original.centres.shape, original.root) == ((10, 10), False)


def test_react_clips_the_features_of_the_classifier_at_their_90th_percentile():
    network, _ = built("react")
    images = torch.randint(0, 256, (2100, 1, 8, 8), dtype=torch.uint8)
    adapted = react.adapt(
        network.eval(), SimpleNamespace(training=data.Split("digits-train", images, images[:, 0, 0, 0]))
    )
    with torch.no_grad():
        features = network[:-1](images.float() / 255)
        ceiling = float(np.percentile(features[:2000].numpy(), 90))
        torch.testing.assert_close(adapted[:-1](images.float() / 255), features.clamp(max=ceiling))
    assert adapted[-1] is network[-1]
    assert float((features > ceiling).float().mean()) == pytest.approx(0.1, abs=0.01)


def test_calibration_by_distance_sees_validation_images_alone_and_keeps_every_answer():
    network, _ = built("slova_distance")
    split = data.load("digits-val")
    adapted = slova_distance.adapt(network.eval(), SimpleNamespace(validation=split))
    images = split.images.float() / 255
    with torch.no_grad():
        found, answers = adapted(images), network(images).argmax(1, keepdim=True)
    assert (found.amax(1) - found.gather(1, answers)[:, 0]).max() < 1e-6, "untrained, it makes little of its logits"
    assert adapted[0].layers == ("3", "4")
    assert methods()["slova_distance_ensemble"].adapt is slova_distance.adapt


@pytest.mark.parametrize("name", ["slova_ensemble", "slova_distance_ensemble"])
def test_an_ensemble_of_slova_pools_before_the_readout(name):
    logits = np.random.default_rng(0).normal(size=(5, 20, 4))
    found, method = pooled(methods()[name].head, logits).log_probs, methods()[name]
    wanted = logits.mean(0) if name == "slova_ensemble" else log_softmax(logits).mean(0)
    single = heads.SLOVA(wanted) if name == "slova_ensemble" else heads.SOFTMAX(wanted)
    np.testing.assert_allclose(found, single.log_probs, atol=1e-12)
    assert method.members == 5


def test_dropout_rates_are_those_of_ovadia_et_al():
    expected = {"dropout": 0.054988, "ll_dropout": 0.319811}
    for name, rate in expected.items():
        found = {layer.rate for layer in built(name)[0].modules() if hasattr(layer, "rate")}
        assert found == {rate}


def test_mirror_images_are_asked_about_by_the_method_that_says_so():
    network, _ = built("slova_mirror")
    split = data.load("digits-val")
    adapted = methods()["slova_mirror"].adapt(network.eval(), SimpleNamespace(validation=split))
    images = split.images[:50].float() / 255
    with torch.no_grad():
        both = (network(images) + network(images.flip(-1))) / 2
        assert torch.equal(adapted(images).argmax(1), both.argmax(1))
        torch.testing.assert_close(adapted[0].network(images), both)


def test_outliers_are_trained_on_by_the_method_that_says_so():
    network, images = built("slova_none")[0], torch.rand(12, 1, 8, 8)
    shown = []
    network.register_forward_hook(lambda module, inputs, output: shown.append(len(inputs[0])))
    methods()["slova_none"].loss(network, images, torch.arange(12) % 10, 12)
    assert shown == [18]


def test_an_ensemble_calibrated_by_distance_has_a_temperature_of_its_own():
    assert methods()["slova_distance_ensemble"].calibrate == TemperatureScaling.fit
