"""A distance-aware network: confidence decreases with distance, and it saves, loads and exports like any network."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from slova_bench.distance_aware import DistanceAware, FlipAveraged
from slova_bench.distance_calibration import DistanceCalibration
from slova_bench.networks import digits_net, resnet20
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import slova
from slova.heads import log_softmax
from slova.metrics import ece
from slova.vision import FeatureStatistics, last_layer_per_resolution

CLASSES = 4


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
def distance_aware(network):
    return DistanceAware.fit(network, pictures())


def confidence(network, images):
    with torch.no_grad():
        return network(images).softmax(-1).amax(-1)


def test_a_distance_is_that_of_mahalanobis(network):
    """Without the ridge, which is a thousandth."""
    generator = np.random.default_rng(0)
    channels = generator.normal(size=(500, 3)) @ generator.normal(size=(3, 3))
    statistics, row = FeatureStatistics.of(channels), generator.normal(size=3)
    off = row - channels.mean(0)
    wanted = off @ np.linalg.inv(np.cov(channels.T, bias=True)) @ off
    assert (((row - statistics.mean) @ statistics.whiten) ** 2).sum() == pytest.approx(wanted, rel=0.05)


def test_the_last_module_of_each_resolution_is_looked_at(network, distance_aware):
    assert last_layer_per_resolution(network, pictures(4)[0]) == distance_aware.layers == ("1", "4")
    with pytest.raises(ValueError, match="name the layers"):
        last_layer_per_resolution(nn.Sequential(nn.Linear(3, 2)), torch.zeros(1, 3))


@pytest.mark.parametrize(("network", "side", "wanted"), [(resnet20, 32, ("6", "9", "12")), (digits_net, 8, ("3", "4"))])
def test_the_layers_of_the_comparisons_networks_are_the_last_blocks(network, side, wanted):
    images = torch.rand(2, 3 if side == 32 else 1, side, side)
    assert last_layer_per_resolution(network(10), images) == wanted
    inside = tuple(f"0.network.{name}" for name in wanted)
    assert last_layer_per_resolution(nn.Sequential(FlipAveraged(network(10))), images) == inside


@pytest.mark.parametrize("pool", [nn.AvgPool2d(2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.AdaptiveMaxPool2d(2)])
def test_what_only_pools_a_layer_is_no_layer(pool):
    conv, other = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 3, 1)
    for last in (pool, nn.Sequential(pool, nn.Identity())):
        assert last_layer_per_resolution(nn.Sequential(conv, last), torch.rand(2, 1, 4, 4)) == ("0",)
        assert last_layer_per_resolution(nn.Sequential(conv, last, other), torch.rand(2, 1, 4, 4)) == ("0", "2")
    with pytest.raises(ValueError, match="name the layers"):
        last_layer_per_resolution(nn.Sequential(pool), torch.rand(2, 1, 4, 4))


class Inverted(nn.Sequential):
    """A block that widens the channels before its stride, and pads by a module, as in EfficientNet."""

    def __init__(self, stride):
        before = [nn.Conv2d(3, 9, 1), nn.ZeroPad2d(1), nn.Conv2d(9, 9, 3, stride, groups=9)]
        super().__init__(*before, nn.Conv2d(9, 3, 1))


@pytest.mark.parametrize("trunk", [False, True])
def test_a_resolution_ends_before_the_block_that_changes_it(trunk):
    blocks = [nn.Upsample(scale_factor=2), Inverted(1), Inverted(2), Inverted(1), Inverted(2)]
    network = nn.Sequential(nn.Sequential(*blocks)) if trunk else nn.Sequential(*blocks)
    wanted = ("0.1", "0.3", "0") if trunk else ("1", "3", "4")
    assert last_layer_per_resolution(network, torch.rand(2, 3, 8, 8)) == wanted


class Shared(nn.Module):
    """One activation for layers of two last_layer_per_resolution, and for the features."""

    def __init__(self, *, features):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 5, 3, stride=2, padding=1)
        self.last, self.relu, self.features = nn.Linear(80, CLASSES), nn.ReLU(), features

    def forward(self, images):
        features = self.relu(self.second(self.relu(self.first(images)))).flatten(1)
        return self.last(self.relu(features) if self.features else features)


@pytest.mark.parametrize(("features", "wanted"), [(False, ("first", "relu")), (True, ("first", "second"))])
def test_a_module_of_several_places_stands_where_it_was_passed_last(features, wanted):
    images, _ = pictures(4)
    network = Shared(features=features)
    assert last_layer_per_resolution(network, images) == wanted
    found = DistanceAware.identity(network, images)
    assert [len(found.mean0), len(found.mean1)] == [3, 5]


def test_validation_images_are_at_log_2_and_others_further_away(distance_aware):
    images, _ = pictures()
    near, far = (distance_aware.distances(one) for one in (images, 1 - images))
    assert near.shape == (600, 2)
    assert (near.exp().mean(0) - 2).abs().max() < 0.3
    assert (far.mean(0) > near.mean(0)).all()


def test_it_is_the_calibration_of_the_networks_logits_and_these_distances(network, distance_aware):
    images, _ = pictures(50, seed=2)
    with torch.no_grad():
        found, logits, distances = distance_aware(images), network(images), distance_aware.distances(images)
    torch.testing.assert_close(found, distance_aware.calibration(logits, distances))
    assert torch.equal(found.argmax(1), logits.argmax(1))
    torch.testing.assert_close(found.exp().sum(1), torch.ones(50))


def test_confidence_decreases_with_distance_and_is_calibrated_near_the_validation_images(network, distance_aware):
    images, labels = pictures(seed=3)
    noise = torch.rand(600, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    assert confidence(distance_aware, noise).mean() < confidence(network, noise).mean() - 0.1
    assert confidence(distance_aware, 100 * noise).max() < 0.5
    assert ece(distance_aware(images).exp().detach().numpy(), labels.numpy()) < 0.05


def test_a_larger_weight_of_clean_images_raises_the_confidence_on_such_images(network):
    images, _ = pictures(seed=3)
    sure = [
        confidence(DistanceAware.fit(network, pictures(), clean_weight=weight), images).mean()
        for weight in (0.1, 1.0, 100.0)
    ]
    assert sure[0] < sure[1] < sure[2]


def test_a_fit_is_deterministic_and_leaves_the_network_as_it_was(network):
    other = copy.deepcopy(network).train()
    state = copy.deepcopy(other.state_dict())
    once, twice = (DistanceAware.fit(other, pictures()) for _ in range(2))
    assert torch.equal(once.positive_weights, twice.positive_weights)
    assert other.training
    assert all(torch.equal(value, state[name]) for name, value in other.state_dict().items())
    assert not any(module._forward_hooks for module in other.modules())


def test_batches_of_a_loader_are_as_good_as_tensors(network):
    pair = pictures()
    loader = DataLoader(TensorDataset(*pair), batch_size=256)
    assert torch.equal(
        DistanceAware.fit(network, loader).positive_weights, DistanceAware.fit(network, pair).positive_weights
    )
    with pytest.raises(ValueError, match="at least one image"):
        DistanceAware.fit(network, DataLoader(TensorDataset(*(part[:0] for part in pair))))


def test_named_layers_and_another_degradation_are_used(network):
    seen = []

    def darker(images, *, seed):
        seen.append(seed)
        return images / 2

    found = DistanceAware.fit(network, pictures(), layers=["5"], degrade=darker, batch_size=200)
    assert (found.layers, found.mean0.shape, seen) == (("5",), (128,), [0, 1, 2])


def test_a_string_is_one_layer(network):
    assert DistanceAware.fit(FlipAveraged(network), pictures(), layers="network.4").layers == ("network.4",)
    assert DistanceAware.identity(FlipAveraged(network), pictures(4)[0], layers="network.4").layers == ("network.4",)


def test_a_layer_that_is_not_there_is_named_with_those_that_are(network):
    sentence = "the network has no layer 'conv1'; its layers are 0, 1, 2, 3, 4, 5, 6"
    for layers in ("conv1", ["1", "conv1"]):
        with pytest.raises(ValueError, match=sentence):
            DistanceAware.fit(network, pictures(), layers=layers)
        with pytest.raises(ValueError, match=sentence):
            DistanceAware.identity(network, pictures(4)[0], layers=layers)


class ByName(nn.Module):
    """A network that takes its images by name."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *, pixels, scale):
        return self.network(pixels) * scale[:, None]


def test_the_images_of_a_dict_are_degraded(network):
    images, labels = pictures()
    whole = {"scale": torch.ones(len(images)), "pixels": images, "labels": labels}
    found, wanted = DistanceAware.fit(ByName(network), whole), DistanceAware.fit(network, (images, labels))
    assert torch.equal(found.positive_weights, wanted.positive_weights)
    with pytest.raises(ValueError, match=r"one tensor of images \(N, C, H, W\), got 2 among pixels, others; .* tuple"):
        DistanceAware.fit(
            Both(network),
            {"pixels": images, "others": images, "labels": labels},
            degrade=lambda images, *, seed: images,
        )


class Both(nn.Module):
    """A network of two kinds of images."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *, pixels, others):
        return self.network(pixels) + self.network(others)


def test_the_identity_changes_nothing_and_takes_a_state_dict(network, distance_aware):
    images, _ = pictures(20, seed=4)
    blank = DistanceAware.identity(network, images)
    torch.testing.assert_close(blank(images), log_softmax(network(images)))
    blank.load_state_dict(distance_aware.state_dict())
    torch.testing.assert_close(blank(images), distance_aware(images))


def test_a_classifier_of_it_saves_and_loads(network, distance_aware, tmp_path):
    images, labels = pictures(100, seed=5)
    classifier = slova.Classifier.fit(distance_aware, (images, labels), head="softmax", calibration=None)
    classifier.save(tmp_path / "model.slova")
    loaded = slova.Classifier.load(tmp_path / "model.slova", DistanceAware.identity(copy.deepcopy(network), images))
    torch.testing.assert_close(loaded.predict(images).confidence, classifier.predict(images).confidence)
    torch.testing.assert_close(classifier.predict(images).confidence, confidence(distance_aware, images))


@pytest.mark.parametrize("suffix", ["onnx", "pt2"])
def test_a_classifier_of_it_is_exported(distance_aware, tmp_path, suffix):
    pytest.importorskip("onnxruntime")
    images, labels = pictures(100, seed=5)
    classifier = slova.Classifier.fit(distance_aware, (images, labels), head="softmax", calibration=None)
    assert classifier.export(tmp_path / f"model.{suffix}", images).confidence < 1e-5
    assert (tmp_path / f"model.{suffix}").exists()


def test_a_calibration_of_other_distances_is_refused(network):
    with pytest.raises(ValueError, match="a calibration of 2 distances does not match 1 layers"):
        DistanceAware(
            network, {"1": FeatureStatistics(np.zeros(8), np.eye(8))}, DistanceCalibration([1, 0, 0], [1, 0, 0])
        )


def test_gradients_reach_the_network(network, distance_aware):
    images, labels = pictures(8)
    other = copy.deepcopy(distance_aware).train()
    nn.functional.nll_loss(other(images), labels).backward()
    found = [parameter.grad for parameter in other.network.parameters()]
    assert all(slope.isfinite().all() and slope.any() for slope in found)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_it_follows_the_network_into_another_precision(distance_aware, dtype):
    images, _ = pictures(20, seed=7)
    with torch.no_grad():
        found = copy.deepcopy(distance_aware).to(dtype)(images.to(dtype))
        torch.testing.assert_close(found.exp().float(), distance_aware(images).exp(), atol=0.1, rtol=0)


def test_threads_do_not_see_each_others_layers(distance_aware):
    batches = [pictures(count, seed=count)[0] for count in range(4, 44)]
    with torch.no_grad(), ThreadPoolExecutor(4) as pool:
        wanted = [distance_aware(images) for images in batches]
        found = list(pool.map(torch.no_grad()(distance_aware.forward), 10 * batches))
    for number, answer in enumerate(found):
        torch.testing.assert_close(answer, wanted[number % len(batches)])


def test_flips_have_equal_weight_and_distances_are_those_of_the_images(network, distance_aware):
    images, _ = pictures(50, seed=6)
    both = FlipAveraged(network)
    with torch.no_grad():
        torch.testing.assert_close(both(images), (network(images) + network(images.flip(-1))) / 2)
        torch.testing.assert_close(both(images.flip(-1)), both(images))
        found = DistanceAware.fit(both, pictures())
        assert found.layers == ("network.1", "network.4")
        torch.testing.assert_close(found.distances(images), distance_aware.distances(images))
        assert torch.equal(found(images).argmax(1), both(images).argmax(1))
