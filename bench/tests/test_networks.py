"""Networks have the sizes of the papers, take any image size, and fall into features and classifier."""

from functools import partial

import pytest
import torch
from slova_bench.layers import AlwaysDropout, BayesianConv2d
from slova_bench.networks import digits_net, last_linear, preact_resnet, resnet20, with_last
from torch import nn

NETWORKS = {
    "resnet20": (resnet20, (3, 32, 32)),
    "resnet20_dropout": (partial(resnet20, dropout=0.1), (3, 32, 32)),
    "resnet20_bayesian": (partial(resnet20, bayesian=True), (3, 32, 32)),
    "resnet20_large_images": (resnet20, (3, 224, 224)),
    "preact": (preact_resnet, (3, 32, 32)),
    "preact_large_images": (preact_resnet, (3, 224, 224)),
    "digits": (digits_net, (1, 8, 8)),
    "digits_dropout": (partial(digits_net, dropout=0.1), (1, 8, 8)),
    "digits_bayesian": (partial(digits_net, bayesian=True), (1, 8, 8)),
}
every = pytest.mark.parametrize("name", NETWORKS)


def made(name, classes=7):
    make, shape = NETWORKS[name]
    torch.manual_seed(0)
    return make(classes).eval(), torch.rand(2, *shape)


def of_type(network, kind):
    return [layer for layer in network.modules() if isinstance(layer, kind)]


def numbers(network):
    return sum(value.numel() for value in network.state_dict().values() if value.is_floating_point())


def test_resnet_20_has_the_274442_numbers_of_the_keras_one():
    assert numbers(resnet20(10)) == 274_442


def test_the_preactivation_resnet_has_the_weights_that_its_paper_lists():
    stages, width = 3 * 16 * 9, 16
    norms = []
    for filters in (16, 32, 64):
        for _ in range(3):
            stages += 9 * filters * (width + filters)
            norms += [width, filters]
            width = filters
    norms.append(64)
    assert sum(parameter.numel() for parameter in preact_resnet(10).parameters()) == stages + 2 * sum(norms) + 650


def test_the_preactivation_resnet_has_no_biases_in_convolutions_and_nothing_to_learn_in_shortcuts():
    convolutions = of_type(preact_resnet(10), nn.Conv2d)
    assert len(convolutions) == 19
    assert all(conv.bias is None and conv.kernel_size == (3, 3) for conv in convolutions)


@pytest.mark.parametrize("first", [True, False])
def test_a_preactivation_shortcut_pools_and_adds_zero_channels(first):
    unit = preact_resnet(10).eval()[4 if first else 5]  # of the second stage
    width = 16 if first else 32
    nn.init.zeros_(unit.body[-1].weight)
    nn.init.constant_(unit.before[0].bias, 0.2)
    images = torch.randn(2, width, 8, 8)
    if not first:
        assert torch.equal(unit(images), images)
        return
    found = unit(images)
    assert torch.equal(found[:, 8:24], nn.functional.avg_pool2d(unit.before(images), 2))
    assert found[:, :8].abs().sum() == found[:, 24:].abs().sum() == 0
    assert found.shape == (2, 32, 4, 4)


@every
def test_a_network_is_its_features_and_then_its_classifier(name):
    network, images = made(name)
    assert isinstance(network, nn.Sequential)
    with torch.no_grad():
        torch.manual_seed(1)
        whole = network(images)
        torch.manual_seed(1)
        features = network[:-1](images)
        assert torch.equal(network[-1](features), whole)
    assert features.shape == (2, last_linear(network).in_features)
    assert whole.shape == (2, 7)
    assert whole.isfinite().all()


@every
def test_only_stochastic_networks_have_random_outputs(name):
    network, images = made(name)
    with torch.no_grad():
        same = torch.equal(network(images), network(images))
    assert same == ("dropout" not in name and "bayesian" not in name)


@every
def test_every_parameter_of_a_network_takes_part_in_its_logits(name):
    network, images = made(name)
    network.train()(images).square().sum().backward()
    idle = [key for key, parameter in network.named_parameters() if parameter.grad is None]
    assert [key for key in idle if not key.endswith("prior_mean")] == []


@pytest.mark.parametrize("make", [resnet20, digits_net])
def test_pixels_are_normalised_inside_the_network(make):
    network = make(10)
    normalise, channels = network[0], 3 if make is resnet20 else 1
    mean, std = normalise.mean.view(1, channels, 1, 1), normalise.std.view(1, channels, 1, 1)
    torch.manual_seed(0)
    images = mean + std * torch.randn(64, channels, 32, 32)
    torch.testing.assert_close(normalise(images).mean(), torch.tensor(0.0), atol=0.02, rtol=0)
    torch.testing.assert_close(normalise(images).std(), torch.tensor(1.0), atol=0.02, rtol=0)
    assert not any(key.startswith("0.") for key in network.state_dict()), "a constant is no weight"


def test_dropout_stands_before_every_convolution_but_the_first_and_before_the_classifier():
    convolutions = of_type(resnet20(10, dropout=0.1), nn.Conv2d)
    assert len(of_type(resnet20(10, dropout=0.1), AlwaysDropout)) == len(convolutions) - 1 + 1
    for block in resnet20(10, dropout=0.1)[4:13]:
        pairs = [layer for layer in block.modules() if isinstance(layer, nn.Sequential) and len(layer) == 2]
        assert all(isinstance(dropout, AlwaysDropout) and isinstance(conv, nn.Conv2d) for dropout, conv in pairs)
        assert len(pairs) == len(of_type(block, nn.Conv2d))


def test_the_bayesian_resnet_has_145152_weights_with_a_distribution_selu_and_no_batch_norm_behind_them():
    network = resnet20(10, bayesian=True)
    random = of_type(network, BayesianConv2d)
    assert (len(random), sum(layer.mean.numel() for layer in random)) == (9, 145_152)
    assert len(of_type(network, nn.BatchNorm2d)) == 10
    assert of_type(network, nn.ReLU) == []
    assert len(of_type(network, nn.SELU)) == 19


@every
def test_logits_start_at_a_sensible_size(name):
    network, images = made(name)
    with torch.no_grad():
        spread = float(network.train()(images).std())
    assert 0.01 < spread < 30


def test_the_last_layer_can_be_replaced_by_several():
    network, images = made("digits")
    longer = with_last(network, AlwaysDropout(0.0), network[-1])
    with torch.no_grad():
        assert torch.equal(longer(images), network(images))


def test_a_network_without_a_linear_classifier_is_named_in_the_error():
    with pytest.raises(TypeError, match="must end in a linear layer, got Flatten"):
        last_linear(digits_net(10)[:7])
