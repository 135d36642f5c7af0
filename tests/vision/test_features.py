"""Activations and their statistics: which layers stand for a resolution, what is recorded of them, and distances."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from slova.vision import FeatureStatistics, last_layer_per_resolution, record_activations


def test_a_distance_is_that_of_mahalanobis():
    """Without the ridge, which is a thousandth."""
    generator = np.random.default_rng(0)
    channels = generator.normal(size=(500, 3)) @ generator.normal(size=(3, 3))
    statistics, row = FeatureStatistics.of(channels), generator.normal(size=3)
    off = row - channels.mean(0)
    wanted = off @ np.linalg.inv(np.cov(channels.T, bias=True)) @ off
    assert 3 * statistics.square(row) == pytest.approx(wanted, rel=0.05)


def test_without_a_layer_with_positions_the_layers_must_be_named():
    with pytest.raises(ValueError, match="name the layers"):
        last_layer_per_resolution(nn.Sequential(nn.Linear(3, 2)), torch.zeros(1, 3))


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
    """One activation for layers of two resolutions, and for the features."""

    def __init__(self, *, features):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 5, 3, stride=2, padding=1)
        self.last, self.relu, self.features = nn.Linear(80, 4), nn.ReLU(), features

    def forward(self, images):
        features = self.relu(self.second(self.relu(self.first(images)))).flatten(1)
        return self.last(self.relu(features) if self.features else features)


@pytest.mark.parametrize(("features", "wanted"), [(False, ("first", "relu")), (True, ("first", "second"))])
def test_a_module_of_several_places_stands_where_it_was_passed_last(features, wanted):
    images, network = torch.rand(4, 1, 8, 8), Shared(features=features)
    assert last_layer_per_resolution(network, images) == wanted
    with record_activations(network, wanted) as activations:
        network(images)
    assert [activations[name].shape[1] for name in wanted] == [3, 5]


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm, self.unused, self.pair = nn.Conv2d(3, 8, 3, 3), nn.LayerNorm(8), nn.Linear(8, 8), Pair()

    def forward(self, images):
        return self.pair(self.norm(self.patch(images).flatten(2).mT))[0].mean(1)


class Pair(nn.Module):
    def forward(self, tokens):
        return tokens, -tokens


def test_tokens_are_averaged_and_not_their_channels_and_of_several_outputs_the_first_counts():
    images, network = torch.rand(5, 3, 9, 9), Transformer()
    with record_activations(network, ["norm", "pair"]) as activations:
        wanted = network(images)
    torch.testing.assert_close(activations["norm"], wanted)
    torch.testing.assert_close(activations["pair"], wanted)
    assert not any(module._forward_hooks for module in network.modules())


def test_a_layer_that_is_not_used_is_refused():
    network = Transformer()
    with (
        pytest.raises(ValueError, match="the network does not use its layer unused"),
        record_activations(network, ["unused"]),
    ):
        network(torch.rand(5, 3, 9, 9))


def test_threads_do_not_see_each_others_layers():
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    batches = [torch.rand(count, 1, 8, 8) for count in range(4, 44)]

    def channels(images):
        with torch.no_grad(), record_activations(network, ["1"]) as activations:
            network(images)
        return activations["1"]

    wanted = [channels(images) for images in batches]
    with ThreadPoolExecutor(4) as pool:
        for number, found in enumerate(pool.map(channels, 10 * batches)):
            torch.testing.assert_close(found, wanted[number % len(batches)])
