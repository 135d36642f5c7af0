"""The pipeline: shared weights, mean probabilities, calibration on validation data, equal results before and after the
store."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from slova_bench import data, pipeline
from slova_bench.calibrate import calibration
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.methods import find, methods
from slova_bench.pipeline import Bench, Trained, mean_readout, member_seeds
from slova_bench.store import Store, describe
from slova_bench.test_sets import TestSet
from torch import nn

from slova import artifact, heads
from slova.calibration import ExponentialCalibration
from slova.heads import NONE

QUICK = DATASET_RECIPES["digits"].quick()
SOFTMAX, TEMPERATURE, REACT, ENSEMBLE = find(["softmax", "temperature", "react", "ensemble"])
IMAGES = data.load("digits-test", limit=50).images


def bench(folder=None) -> Bench:
    return Bench(QUICK, Store(folder), limit=100)


@pytest.fixture
def trainings(monkeypatch):
    """The losses and seeds that were trained with, in order."""
    seen, train = [], pipeline.train

    def spy(network, loss, recipe, pair, seed, execution):
        seen.append((describe(loss), seed))
        return train(network, loss, recipe, pair, seed, execution)

    monkeypatch.setattr(pipeline, "train", spy)
    return seen


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_softmax_temperature_react_and_the_first_ensemble_member_share_one_training(tmp_path, trainings):
    for method in (SOFTMAX, TEMPERATURE, REACT):
        list(bench(tmp_path).trained(method, 0).networks)
    assert len(trainings) == 1
    ensemble = bench(tmp_path).trained(ENSEMBLE, 0)
    assert len(trainings) == 1, "a network is trained on first use"
    list(ensemble.networks)
    assert [seed for _, seed in trainings] == [0, 1, 2, 3, 4]
    one, members = bench(tmp_path).trained(SOFTMAX, 0).outputs(IMAGES), ensemble.outputs(IMAGES)
    assert np.array_equal(members.logits[0], one.logits[0])
    assert np.array_equal(members.features, one.features)


def test_five_ensembles_of_five_are_drawn_from_ten_networks():
    drawn = [member_seeds(5, seed) for seed in range(5)]
    assert sorted({seed for ensemble in drawn for seed in ensemble}) == list(range(10))
    assert len({frozenset(ensemble) for ensemble in drawn}) == 5
    assert all(len(set(ensemble)) == 5 for ensemble in drawn)


def test_a_description_changes_with_all_that_decides_the_rows_and_json_holds_it():
    described = bench().description(SOFTMAX)
    assert json.loads(json.dumps(described)) == described
    changed = {"members": 2, "samples": 2, "head": heads.OVA, "noise": 0.5, "calibrate": ExponentialCalibration.fit}
    for name, value in changed.items():
        assert bench().description(replace(SOFTMAX, **{name: value})) != described, name
    assert bench().description(replace(SOFTMAX, name="other", preset="x")) == described


def test_the_logits_of_a_network_on_a_set_are_computed_once(tmp_path, monkeypatch):
    computed, outputs = [], Trained.outputs
    monkeypatch.setattr(Trained, "outputs", lambda self, images: computed.append(len(images)) or outputs(self, images))
    where, test = bench(tmp_path), TestSet("digits-test")
    first, labels = where.logits(where.trained(SOFTMAX, 0), test, features=False)
    again, truth = bench(tmp_path).logits(bench(tmp_path).trained(SOFTMAX, 0), test, features=False)
    assert len(computed) == 1
    assert np.array_equal(first.logits, again.logits)
    assert np.array_equal(labels, truth)
    ensemble, _ = where.logits(where.trained(ENSEMBLE, 0), test, features=False)
    assert len(computed) == 5, "the first of five members is cached"
    assert np.array_equal(ensemble.logits[0], first.logits[0])
    where.logits(where.trained(REACT, 0), test, features=False)
    assert len(computed) == 6, "clipped logits are not those of the cache"
    for _ in range(2):
        calibration(TEMPERATURE, where, where.trained(TEMPERATURE, 0))
    assert len(computed) == 7


class Counted(nn.Module):
    """Passes features on and counts how often."""

    def __init__(self, random: bool) -> None:
        super().__init__()
        self.random, self.passes = random, 0

    def forward(self, features):
        self.passes += len(features)
        return features + torch.rand(()) if self.random else features


def test_the_layers_in_front_of_the_first_random_one_are_passed_once():
    fixed, random, after = Counted(False), Counted(True), Counted(False)
    network = nn.Sequential(fixed, random, after, nn.Identity())
    logits = Trained([lambda: network], 5, 0, torch.device("cpu")).outputs(torch.rand(100, 3)).logits
    assert len({float(one[0, 0]) for one in logits}) == 5
    assert fixed.passes == 100 + 2 * 8  # twice on 8 images, to see that it repeats itself
    assert (random.passes, after.passes) == (500 + 2 * 8, 500)


def test_ova_and_both_slovas_share_one_training(tmp_path, trainings):
    for method in find(["ova", "slova_raw", "slova", "slova_clean"]):
        list(bench(tmp_path).trained(method, 0).networks)
    assert len(trainings) == 1


def test_ensembles_of_two_seeds_have_no_network_in_common():
    seeds = [[describe(bench().weights(ENSEMBLE, seed * 5 + member)) for member in range(5)] for seed in (0, 1)]
    assert not [one for one in seeds[0] if one in seeds[1]]


@pytest.mark.parametrize(
    "change", [{"loss": methods()["ova"].loss}, {"network": methods()["dropout"].network}, {"recipe": "half"}]
)
def test_what_decides_the_weights_separates_them_and_nothing_else_does(change):
    if "recipe" in change:
        change = {"recipe": replace(QUICK.recipe(SOFTMAX), rate=0.05)}
    assert bench().weights(replace(SOFTMAX, **change), 0) != bench().weights(SOFTMAX, 0)
    assert bench().weights(SOFTMAX, 1) != bench().weights(SOFTMAX, 0)
    after = {"name": "x", "preset": "y", "members": 3, "samples": 4, "head": heads.OVA, "noise": 0.5}
    assert bench().weights(replace(SOFTMAX, **after), 0) == bench().weights(SOFTMAX, 0)


@pytest.mark.parametrize("name", ["softmax", "svi", "ova_dm", "dropout"])
def test_a_loaded_network_equals_the_one_just_trained(tmp_path, trainings, name):
    method = methods()[name]
    states, loaded, kept_nowhere = (
        bench(folder).trained(method, 2).outputs(IMAGES) for folder in [tmp_path] * 2 + [None]
    )
    assert len(trainings) == 2
    assert same(states, loaded)
    assert same(states, kept_nowhere)


def test_what_half_precision_cannot_hold_is_kept_whole():
    for value in (torch.tensor([1.0, 1e5]), torch.tensor([torch.inf, 1.0]), torch.arange(3)):
        assert torch.equal(pipeline._compact(value).to(value.dtype), value)
    assert pipeline._compact(torch.tensor([1.0, 0.1])).dtype == torch.float16


def test_a_seed_decides_everything_and_the_global_state_nothing(tmp_path):
    method = methods()["dropout"]
    first = bench().trained(method, 1).outputs(IMAGES)
    torch.manual_seed(123)
    state = torch.get_rng_state()
    again, other = bench().trained(method, 1).outputs(IMAGES), bench().trained(method, 2).outputs(IMAGES)
    assert same(first, again)
    assert not np.array_equal(first.logits, other.logits)
    assert torch.equal(torch.get_rng_state(), state)


def test_logits_do_not_depend_on_the_batch_size(monkeypatch):
    trained = bench().trained(SOFTMAX, 0)
    whole = trained.outputs(IMAGES).logits
    monkeypatch.setattr(pipeline, "BATCH", 7)
    np.testing.assert_allclose(trained.outputs(IMAGES).logits, whole, atol=1e-5)


def test_bytes_and_shares_of_white_are_the_same_images():
    trained = bench().trained(SOFTMAX, 0)
    assert same(trained.outputs(IMAGES), trained.outputs(IMAGES.float() / 255))
    assert not same(trained.outputs(IMAGES), trained.outputs(IMAGES.float()))


def test_every_member_has_as_many_passes_as_samples():
    networks = [nn.Sequential(nn.Flatten(), nn.Linear(64, 3)) for _ in range(2)]
    trained = Trained([lambda one=one: one for one in networks], 3, 0, torch.device("cpu"))
    logits, features = trained.outputs(IMAGES)
    assert logits.shape == (6, 50, 3)
    assert np.array_equal(logits[0], logits[2])
    assert not np.array_equal(logits[2], logits[3])
    np.testing.assert_allclose(features, IMAGES.flatten(1) / 255, rtol=1e-6)


@pytest.mark.parametrize("head", [heads.SOFTMAX, heads.OVA, heads.SLOVA])
def test_the_mean_readout_is_the_mean_of_probabilities(head):
    logits = np.random.default_rng(0).normal(0, 5, (4, 20, 6))
    found = mean_readout(head, logits)
    for got, wanted in zip(found, head(logits), strict=True):
        np.testing.assert_allclose(np.exp(got), np.mean([np.exp(one) for one in wanted], axis=0), rtol=1e-12)
    assert found.log_probs.shape == (20, 6)


class Recorder:
    """A calibration that remembers what it was fitted to."""

    def __call__(self, log_probs, labels):
        self.log_probs, self.labels = log_probs, labels
        return lambda log_probs: log_probs


@pytest.mark.parametrize(("noise", "count"), [(0.0, 0), (0.1, 10), (0.255, 25)])
def test_calibration_uses_validation_data_and_its_share_of_noise_only(monkeypatch, noise, count):
    recorder, where, loaded = Recorder(), bench(), []
    method = replace(methods()["slova_raw"], calibrate=recorder, noise=noise)
    trained = where.trained(method, 0)
    list(trained.networks)  # trained before the loads are recorded
    load = data.load
    monkeypatch.setattr(pipeline.data, "load", lambda name, **how: loaded.append(name) or load(name, **how))
    calibration(method, where, trained)
    assert set(loaded) == {"digits-val"}
    val = load("digits-val", limit=100)
    assert recorder.labels.tolist() == val.labels.tolist() + [NONE] * count
    expected = mean_readout(method.head, trained.outputs(val.images).logits).log_probs
    np.testing.assert_allclose(recorder.log_probs[:100], expected, atol=1e-5)


def test_the_noise_is_uniform_and_the_seed_decides_it(monkeypatch):
    seen = []
    method = replace(methods()["slova_raw"], calibrate=Recorder(), noise=1.0)
    outputs = Trained.outputs
    monkeypatch.setattr(Trained, "outputs", lambda self, images: seen.append(images) or outputs(self, images))
    where = bench()
    trained = where.trained(method, 0)
    for seed in (0, 0, 1):
        calibration(method, where, replace(trained, seed=seed))
    noise = [images for images in seen if images.is_floating_point()]
    assert torch.equal(noise[0], noise[1])
    assert not torch.equal(noise[0], noise[2])
    assert noise[0].shape == (100, 1, 8, 8)
    quartiles = torch.quantile(noise[0].flatten(), torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]))
    torch.testing.assert_close(quartiles, torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]), atol=0.03, rtol=0)


def test_without_a_calibration_nothing_is_loaded_for_it(monkeypatch):
    where = bench()
    trained = where.trained(SOFTMAX, 0)
    monkeypatch.setattr(pipeline.data, "load", lambda *_, **__: pytest.fail("nothing to load"))
    assert calibration(SOFTMAX, where, trained) is None


def test_a_limit_is_for_test_images_and_never_for_training():
    assert len(bench().training) == 797
    assert len(bench().validation) == len(bench().load("digits-test")) == 100


def test_weights_on_disk_take_two_bytes_per_number_and_are_those_in_use(tmp_path):
    network = bench(tmp_path).trained(SOFTMAX, 0).networks[0]
    (path,) = (tmp_path / "weights").glob("*.safetensors")
    stored = artifact.load(path, "weights", framework="torch")[0]
    for name, value in network.state_dict().items():
        assert stored[name].dtype == (torch.float16 if value.is_floating_point() else value.dtype)
        assert torch.equal(stored[name].to(value.dtype), value)
