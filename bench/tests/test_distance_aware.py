"""Distance-aware calibration: its definition, what made the labels is recovered, no distance raises the confidence."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from slova_bench.data import Split
from slova_bench.distance_aware import DistanceAware, distance_aware, fit_weights
from slova_bench.methods import methods
from slova_bench.networks import digits_net, resnet20
from torch import nn

import slova
from slova.metrics import ece
from slova.vision import last_layer_per_resolution
from slova.vision.passes import Passes

CLASSES = 4
WEIGHTS = np.array([[0.9, 0.2, 0.05], [0.4, 0.0, 0.1]])
FAR = np.array([1e6, 1e6])


class Given(DistanceAware):
    """The calibration of given log-odds and distances, which are the images of no network."""

    def __init__(self, weights=WEIGHTS, furthest=FAR):
        super().__init__(nn.Sequential(), Passes(), weights, furthest)

    def read(self, images):
        return images[:, :-2].float(), images[:, -2:].float()


def log_probs_of(log_odds, distances, *numbers):
    return Given(*numbers)(torch.from_numpy(np.column_stack([log_odds, distances]))).double().numpy()


def rows_of(rows=200, classes=5, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(-1, 4, (rows, classes)), generator.uniform(0, 3, (rows, 2))


def draw(log_probs, seed=0):
    return (log_probs + np.random.default_rng(seed).gumbel(size=log_probs.shape)).argmax(axis=1)


def nll(log_odds, distances, labels, weights):
    return -log_probs_of(log_odds, distances, weights)[np.arange(len(labels)), labels].mean()


# The calibration.


def test_it_is_its_definition_written_naively():
    log_odds, distances = rows_of()
    probs = expit(log_odds)
    a = (0.9 - 0.2 * distances[:, 0] - 0.05 * distances[:, 1])[:, None]
    b = (0.4 - 0.1 * distances[:, 1])[:, None]
    wanted = log_softmax(a * np.log(probs) - b * np.log1p(-probs), axis=1)
    np.testing.assert_allclose(log_probs_of(log_odds, distances), wanted, rtol=1e-4, atol=1e-5)


def test_up_to_the_largest_distance_nothing_changes_and_at_twice_of_it_all_classes_are_alike():
    (log_odds, distances), weights = rows_of(), WEIGHTS.copy()
    weights[1, 2] = 0
    near = log_probs_of(log_odds, 1.5 * distances, weights, np.array([3.0, 3.0]))
    np.testing.assert_array_equal(near, log_probs_of(log_odds, 1.5 * distances, weights))
    distances[:, 1] = 6.0
    found = np.exp(log_probs_of(1e3 * log_odds, distances, weights, np.array([3.0, 3.0])))
    np.testing.assert_allclose(found, 0.2, atol=0.003)
    assert np.exp(log_probs_of(1e3 * log_odds, distances, weights)).max() > 0.99


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.lists(st.floats(0, 30), min_size=2, max_size=2))
@settings(max_examples=200, deadline=None)
def test_the_order_is_kept_and_a_larger_distance_never_raises_the_confidence(values, distances):
    log_odds, here = np.sort(np.array(values))[None], np.array([distances])
    found = log_probs_of(log_odds, here)
    assert np.all(np.diff(found) >= -1e-6)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-5)
    for step in np.eye(2):
        assert log_probs_of(log_odds, here + step).max() <= found.max() + 1e-5


@pytest.mark.parametrize("size", [1.0, 1e4, 1e20])
def test_far_away_all_classes_are_nearly_alike_however_large_their_log_odds(size):
    found = np.exp(log_probs_of(np.array([[size, -1.0, -size]]), FAR[None]))
    np.testing.assert_allclose(found, 1 / 3, atol=0.01)
    assert np.all(np.diff(found) <= 0)


# The fit.


def test_the_numbers_that_made_the_labels_are_recovered_and_no_others_are_likelier():
    log_odds, distances = rows_of(rows=50_000)
    labels = draw(log_probs_of(log_odds, distances))
    found = fit_weights(log_odds, labels, distances, np.ones(len(labels)))
    np.testing.assert_allclose(found, WEIGHTS, atol=0.04)
    best, generator = nll(log_odds, distances, labels, found), np.random.default_rng(1)
    for _ in range(20):
        other = np.maximum(found + generator.normal(0, 0.05, (2, 3)), 0)
        assert nll(log_odds, distances, labels, other) > best - 1e-4


def test_the_floor_is_part_of_the_fit():
    """Rows far beyond the floor, where all classes are alike whatever the slopes, do not bend those of the others."""
    log_odds, distances = rows_of(rows=20_000)
    distances[::4] += 20
    labels = draw(log_probs_of(log_odds, distances))
    np.testing.assert_allclose(fit_weights(log_odds, labels, distances, np.ones(20_000)), WEIGHTS, atol=0.06)


def test_weights_count_rows():
    log_odds, distances = rows_of(rows=500)
    labels = draw(log_probs_of(log_odds, distances))
    more = [np.concatenate([part, part[:100]]) for part in (log_odds, labels, distances)]
    weighted = fit_weights(log_odds, labels, distances, np.r_[np.full(100, 2.0), np.ones(400)])
    np.testing.assert_allclose(fit_weights(*more, np.ones(600)), weighted, atol=1e-4)


# The network.


def pictures(count=600, seed=0):
    """A bright quarter, one for each class, in noise: floats (N, 1, 8, 8) of [0, 1], and labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    images = 0.2 + 0.15 * torch.rand(count, 1, 8, 8, generator=generator)
    for label in range(CLASSES):
        row, column = 4 * (label // 2), 4 * (label % 2)
        images[labels == label, :, row : row + 4, column : column + 4] += 0.25
    return images + 0.25 * torch.rand(count, 1, 8, 8, generator=generator), labels


@pytest.fixture(scope="module")
def network():
    """Trained one-vs-all, in a few seconds."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, CLASSES))
    images, labels = pictures(seed=1)
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        slova.ova_loss(network(images), labels).backward()
        optimiser.step()
    return network.eval()


@pytest.fixture(scope="module")
def splits():
    images, labels = pictures()
    return SimpleNamespace(validation=Split("pictures", (255 * images.clamp(0, 1)).byte(), labels))


def confidence(network, images):
    with torch.no_grad():
        return network(images).softmax(-1).amax(-1)


@pytest.mark.parametrize(("make", "side", "wanted"), [(resnet20, 32, ("6", "9", "12")), (digits_net, 8, ("3", "4"))])
def test_the_layers_of_the_comparisons_networks_are_the_last_blocks(make, side, wanted):
    images = torch.rand(2, 3 if side == 32 else 1, side, side)
    assert last_layer_per_resolution(make(10), images) == wanted


def test_validation_images_are_at_log_2_and_others_further_away(network, splits):
    images = splits.validation.images.float() / 255
    (found,) = distance_aware(network, splits)
    near, far = (found.read(one)[1] for one in (images, 1 - images))
    assert near.shape == (600, 2)
    assert (near.exp().mean(0) - 2).abs().max() < 0.3
    assert (far.mean(0) > near.mean(0)).all()
    torch.testing.assert_close(found.furthest >= near.amax(0), torch.tensor([True, True]))


def test_confidence_decreases_with_distance_and_is_calibrated_near_the_validation_images(network, splits):
    images, labels = pictures(seed=3)
    noise = torch.rand(600, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    found = distance_aware(network, splits)
    assert confidence(found, noise).mean() < confidence(network, noise).mean() - 0.1
    assert confidence(found, 100 * noise).max() < 0.5
    with torch.no_grad():
        assert ece(found(images).exp().numpy(), labels.numpy()) < 0.05
        assert torch.equal(found(images).argmax(1), network(images).argmax(1))


def test_a_fit_is_deterministic_and_leaves_the_network_as_it_was(network, splits):
    state = {name: value.clone() for name, value in network.state_dict().items()}
    once, twice = (distance_aware(network.train(), splits)[0] for _ in range(2))
    assert torch.equal(once.weights, twice.weights)
    assert network.training
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    network.eval()


def test_flips_have_equal_weight_and_distances_are_those_of_the_images(network, splits):
    """By the methods that average them, which see the validation images only."""
    names = ("softmax_augmented_flip", "slova_distance", "slova_mirror")
    both, plain, flipped = (methods()[name].adapt(network, splits) for name in names)
    images, _ = pictures(50, seed=6)
    with torch.no_grad():
        torch.testing.assert_close(both(images), (network(images) + network(images.flip(-1))) / 2)
        torch.testing.assert_close(both(images.flip(-1)), both(images))
        torch.testing.assert_close(flipped[0].read(images), (both(images), plain[0].read(images)[1]))
        assert torch.equal(flipped(images).argmax(1), both(images).argmax(1))
