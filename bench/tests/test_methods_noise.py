"""CEDA and ACET: what they train on, and how noise is attacked."""

import pytest
import torch
from slova_bench.methods import acet, ceda, methods
from slova_bench.networks import digits_net
from slova_bench.train import seeded

from slova.vision.outliers import low_pass

CPU = torch.device("cpu")


def built(name):
    with seeded(CPU, 0):
        return methods()[name].network(digits_net, 10), torch.rand(4, 1, 8, 8)


def test_ceda_weighs_cross_entropy_and_confidence_in_noise_alike():
    network, images = built("ceda")
    noise, labels = torch.rand_like(images), torch.tensor([3, 1, 9, 1])
    log_probs = network.train()(torch.cat([images, noise])).log_softmax(1)
    network, _ = built("ceda")
    wanted = (-log_probs[range(4), labels].sum() + log_probs[4:].max(1).values.sum()) / 8
    torch.testing.assert_close(ceda.together(network.train(), images, labels, noise), wanted)


class Watched(torch.nn.Module):
    """A network that remembers the images it was shown and how sure it was of them."""

    def __init__(self, network):
        super().__init__()
        self.network, self.shown, self.sure = network, [], []

    def forward(self, images):
        logits = self.network(images)
        self.shown.append(images.detach().clone())
        self.sure.append(ceda.confidence(logits).detach())
        return logits


def attacked(steps=40):
    network = Watched(built("acet")[0].train())
    with seeded(CPU, 2):
        network.network(torch.rand(64, 1, 8, 8))  # statistics of its own
        noise = low_pass(torch.rand(32, 1, 8, 8))
        before = {name: value.clone() for name, value in network.state_dict().items()}
        found = acet.attack(network, noise, steps)
    return network, noise, found, before


def test_the_attack_keeps_the_image_of_highest_confidence_it_has_seen():
    network, noise, found, _ = attacked()
    network.eval()
    assert torch.equal(network.shown[0], noise)
    highest = torch.stack(network.sure).max(0).values
    torch.testing.assert_close(ceda.confidence(network.network(found)), highest)
    assert (highest >= network.sure[0]).all()
    assert highest.mean() > network.sure[0].mean() + 0.1


def test_the_confidence_kept_grows_with_the_number_of_looks():
    network, *_ = attacked()
    kept = torch.stack(network.sure).cummax(0).values.mean(1)
    assert (kept[20] > kept[2]) & (kept[-1] > kept[20])


def test_the_attack_stays_within_epsilon_of_the_noise_and_within_the_pixels():
    network, noise, found, _ = attacked()
    for images in (*network.shown, found):
        assert (images - noise).abs().max() <= acet.EPSILON + 1e-6
        assert images.min() >= 0
        assert images.max() <= 1


def test_the_attack_takes_forty_signed_steps_from_a_random_start():
    network, noise, *_ = attacked()
    _, start, *path = network.shown
    assert len(path) == 40
    moved = (path[0] - start).abs()
    assert moved.max() == pytest.approx(0.3 / 40, rel=1e-3)
    far = (start - noise).abs().amax((1, 2, 3))
    assert 0 < far.min() < 0.1
    assert 0.2 < far.max() <= 0.3


@pytest.mark.parametrize("training", [True, False])
def test_the_attack_leaves_network_statistics_mode_and_gradients_as_they_were(training):
    network, _, found, before = attacked(3)
    assert network.training
    assert network.network[2].training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert not found.requires_grad
    assert all(parameter.grad is None and parameter.requires_grad for parameter in network.parameters())
    acet.attack(network.train(training), torch.rand(4, 1, 8, 8), 2)
    assert network.training == network.network[2].training == training


class Failing(torch.nn.Module):
    """A network that goes wrong in the midst of an attack; its norm stays in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.norm, self.last, self.left = torch.nn.BatchNorm2d(1).eval(), torch.nn.Linear(64, 10), 3

    def forward(self, images):
        self.left -= 1
        if not self.left:
            raise RuntimeError("out of memory")
        return self.last(self.norm(images).flatten(1))


def test_an_attack_that_fails_leaves_modes_and_gradients_as_they_were():
    network = Failing()
    with pytest.raises(RuntimeError, match="out of memory"):
        acet.attack(network, torch.rand(4, 1, 8, 8), 5)
    assert (network.training, network.last.training, network.norm.training) == (True, True, False)
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(("name", "steps"), [("acet", 40), ("acet_short", 8)])
def test_acet_trains_on_the_attacked_noise_in_one_batch_with_the_images(name, steps):
    network = Watched(built(name)[0])
    images = torch.rand(12, 1, 8, 8)
    methods()[name].loss(network, images, torch.zeros(12, dtype=torch.long), 100)
    assert len(network.shown) == 1 + (steps + 1) + 1
    assert torch.equal(network.shown[-1][:12], images)
    _, best = torch.stack(network.sure[:-1]).max(0)
    assert torch.equal(network.shown[-1][12:], torch.stack(network.shown[:-1])[best, range(3)])
