"""Random layers have the mean, the variance and the KL of their definition, and distances are distances."""

import pytest
import torch
from slova_bench import layers
from slova_bench.layers import AlwaysDropout, BayesianConv2d, BayesianLinear, DistanceLinear
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

DRAWS = 4000


def wide(layer, seed=0):
    """The layer with numbers that are nowhere near their starting values."""
    torch.manual_seed(seed)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def conv():
    return wide(BayesianConv2d(2, 3, stride=2, prior_scale=0.3))


def linear():
    return wide(BayesianLinear(5, 3, prior_scale=0.3))


def batch_for(layer, rows, seed=1):
    torch.manual_seed(seed)
    return torch.randn(rows, 2, 5, 5) if isinstance(layer, BayesianConv2d) else torch.randn(rows, 5)


def draws(layer, batch, count=DRAWS):
    torch.manual_seed(2)
    with torch.no_grad():
        return torch.stack([layer(batch) for _ in range(count)]).double()


def moments(layer, batch):
    """Mean and variance of the output in closed form: the variance is a sum of sigma^2 x^2."""
    if isinstance(layer, BayesianConv2d):
        mean = functional.conv2d(batch, layer.mean, layer.bias, layer.stride, layer.padding)
        return mean, functional.conv2d(batch**2, layer.sigma**2, None, layer.stride, layer.padding)
    return functional.linear(batch, layer.mean, layer.bias), functional.linear(batch**2, layer.sigma**2)


both = pytest.mark.parametrize("make", [conv, linear])


@both
def test_the_kl_is_that_of_torch_distributions(make):
    layer = make()
    wanted = kl_divergence(Normal(layer.mean, layer.sigma), Normal(layer.prior_mean, layer.prior_scale)).sum()
    torch.testing.assert_close(layer.kl(), wanted)


@both
def test_the_kl_is_zero_when_the_posterior_is_the_prior(make):
    layer = make()
    with torch.no_grad():
        layer.prior_mean.copy_(layer.mean)
        layer.scale.fill_(torch.tensor(layer.prior_scale).expm1().log())
    assert float(layer.kl().detach()) == pytest.approx(0, abs=1e-4)


def test_the_kl_of_a_network_is_the_sum_over_its_layers():
    first, second = conv(), linear()
    network = nn.Sequential(first, nn.Sequential(nn.ReLU(), nn.Linear(2, 2), second))
    torch.testing.assert_close(layers.kl_divergence(network), first.kl() + second.kl())


@both
def test_random_weights_give_outputs_of_the_mean_and_variance_of_the_closed_form(make):
    layer = make()
    batch = batch_for(layer, 3)
    with torch.no_grad():
        mean, variance = (moment.double() for moment in moments(layer, batch))
    found = draws(layer, batch)
    error = (variance / DRAWS).sqrt()
    assert ((found.mean(0) - mean).abs() < 5 * error).all()
    torch.testing.assert_close(found.var(0), variance, rtol=0.15, atol=1e-6)


def correlations(outputs):
    """Between rows of the same batch, over draws (D, N, ...), by output."""
    spread = (outputs - outputs.mean(0)).flatten(2)
    spread = spread / spread.std(0)
    return [(spread[:, i] * spread[:, j]).mean(0).abs().max() for i in range(3) for j in range(i)]


def test_flipout_decorrelates_the_images_of_a_batch_though_they_are_equal():
    layer = conv()
    batch = batch_for(layer, 1).expand(3, -1, -1, -1)
    assert max(correlations(draws(layer, batch))) < 0.1


def test_a_bayesian_linear_layer_gives_equal_rows_of_a_batch_the_same_output():
    layer = linear()
    first, second = layer(batch_for(layer, 1).expand(2, -1))
    assert torch.equal(first, second)


@both
def test_random_weights_are_drawn_in_evaluation_mode_too(make):
    layer = make().eval()
    batch = batch_for(layer, 2)
    assert not torch.equal(layer(batch), layer(batch))


@both
def test_loss_and_kl_together_have_a_gradient_for_every_number_of_the_layer(make):
    layer = make()
    (layer(batch_for(layer, 2)).square().sum() + layer.kl()).backward()
    assert all((parameter.grad != 0).all() for parameter in layer.parameters())


def test_parameters_with_a_prior_are_those_of_bayesian_layers_and_no_others():
    bayesian, plain = linear(), nn.Linear(3, 3)
    assert layers.with_prior(nn.Sequential(plain, nn.Sequential(bayesian))) == set(bayesian.parameters())


def test_always_dropout_drops_its_share_and_keeps_the_mean_in_evaluation_mode():
    torch.manual_seed(0)
    ones = AlwaysDropout(0.3).eval()(torch.ones(100_000))
    assert float((ones == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(ones.mean()) == pytest.approx(1, abs=0.01)
    assert ones.unique().numel() == 2


@pytest.mark.parametrize("root", [False, True])
def test_distance_logits_are_minus_the_distance_or_its_root(root):
    layer = wide(DistanceLinear(6, 4, root=root))
    features = torch.randn(9, 6)
    distance = torch.cdist(features, layer.centres, compute_mode="donot_use_mm_for_euclid_dist")
    torch.testing.assert_close(layer(features), -(distance.sqrt() if root else distance))


@pytest.mark.parametrize("root", [False, True])
def test_the_gradient_of_a_distance_is_finite_at_the_centre_itself(root):
    layer = wide(DistanceLinear(6, 4, root=root))
    features = layer.centres.detach().clone().requires_grad_()
    layer(features).sum().backward()
    assert features.grad.isfinite().all()
    assert layer.centres.grad.isfinite().all()


def test_distances_of_half_precision_features_are_computed_in_single():
    layer = wide(DistanceLinear(6, 4))
    features = torch.randn(9, 6).half()
    torch.testing.assert_close(layer(features), layer(features.float()), rtol=0, atol=0)
