"""Training depends on what it is given and nothing else, survives being killed, and does the right arithmetic."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from slova_bench import data, schedules
from slova_bench.augment import crop, nothing
from slova_bench.layers import AlwaysDropout, BayesianLinear, kl_divergence
from slova_bench.method import softmax_loss
from slova_bench.train import Checkpoint, Execution, Recipe, seeded, train
from torch import nn
from torch.nn import functional

from slova import artifact
from slova.heads import NONE
from slova.losses import ova_loss

CPU = torch.device("cpu")
RECIPE = Recipe(epochs=4, batch=16, rate=0.1, augment=crop)


def images_and_labels(count=70, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 256, (count, 1, 8, 8), generator=generator, dtype=torch.uint8)
    return images, torch.randint(0, 3, (count,), generator=generator)


def small(seed=0):
    """A network with everything that has a state: weights, batch norm, random masks."""
    with seeded(CPU, seed):
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), AlwaysDropout(0.2), nn.Linear(144, 3)
        )


def linear(seed=0):
    with seeded(CPU, seed):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))


def trained(recipe=RECIPE, seed=0, network=None, loss=softmax_loss, pair=None, **place):
    network = small() if network is None else network
    return train(network, loss, recipe, pair or images_and_labels(), seed, Execution(CPU, **place))


def state(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(left, right):
    left, right = left.state_dict(), right.state_dict()
    assert left.keys() == right.keys()
    return all(torch.equal(left[name], right[name]) for name in left)


def test_equal_seeds_give_bitwise_equal_weights_and_others_do_not():
    assert same(trained(seed=3), trained(seed=3))
    assert not same(trained(seed=3), trained(seed=4))


def test_training_neither_reads_nor_moves_the_global_random_state():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = trained()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(trained(), first)


def test_the_network_is_trained_in_place_and_returned_in_evaluation_mode():
    network = small()
    assert trained(network=network) is network
    assert not network.training


def test_random_layers_draw_something_else_every_epoch():
    drawn = []

    def loss(network, images, labels, rows):
        drawn.append(float(torch.rand(())))
        return softmax_loss(network, images, labels, rows)

    trained(loss=loss)
    assert len(set(drawn)) == len(drawn) == 4 * 4


RECIPES = {
    "sgd": RECIPE,
    "sgd_without_momentum": replace(RECIPE, momentum=0.0),
    "adam": replace(RECIPE, rate=1e-2, adam_eps=1e-6),
    "sgd_averaged": replace(RECIPE, ema=0.9),
    "adam_averaged": replace(RECIPE, rate=1e-2, adam_eps=1e-6, ema=0.9),
}


class Killed(Exception):
    pass


def kill_at(last):
    def progress(epoch, loss):
        if epoch == last:
            raise Killed

    return progress


@pytest.mark.parametrize("epochs", [(1,), (3,), (4,), (1, 2, 3)])
@pytest.mark.parametrize("name", RECIPES)
def test_training_killed_and_resumed_ends_in_the_very_same_weights(name, epochs, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {"seconds": 0.0})
    path = tmp_path / "folder" / "run.checkpoint"
    for epoch in epochs:
        with pytest.raises(Killed):
            trained(RECIPES[name], network=small(seed=epoch), checkpoint=path, progress=kill_at(epoch))
        assert path.exists()
    done = []
    resumed = trained(
        RECIPES[name], network=small(seed=9), checkpoint=path, progress=lambda epoch, loss: done.append(epoch)
    )
    assert done == list(range(epochs[-1] + 1, 5))
    # The network that was killed first began from seed `epochs[0]`.
    assert same(resumed, trained(RECIPES[name], network=small(seed=epochs[0])))
    assert not path.exists()


def test_a_damaged_checkpoint_is_an_error_and_leaves_the_network_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint.__init__, "__kwdefaults__", {"seconds": 0.0})
    path = tmp_path / "run.checkpoint"
    with pytest.raises(Killed):
        trained(checkpoint=path, progress=kill_at(2))
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    network = small(seed=5)
    with pytest.raises(artifact.ArtifactError, match="damaged"):
        trained(network=network, checkpoint=path)
    assert same(network, small(seed=5))
    assert path.read_bytes() == bytes(content)


def one_step(recipe, network):
    """The gradients of the one batch, and the weights before and after."""
    images, labels = images_and_labels(8)
    before = state(network)
    functional.cross_entropy(network(images.float() / 255), labels).backward()
    slopes = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    trained(recipe, network=network, pair=(images, labels))
    return slopes, before, state(network)


STEP = Recipe(epochs=1, batch=8, rate=0.3, weight_decay=0.1, augment=nothing, schedule=schedules.constant)


def test_weight_decay_is_coupled_l2_on_matrices_and_not_on_biases():
    slopes, before, after = one_step(STEP, linear())
    for name, decay in {"1.weight": 0.1, "1.bias": 0.0}.items():
        slope = slopes[name] + decay * before[name]
        torch.testing.assert_close(after[name], before[name] - 0.3 * 1.9 * slope)  # Nesterov's first step


def test_adam_takes_weight_decay_into_its_slopes_and_beta_1_from_the_momentum():
    slopes, before, after = one_step(replace(STEP, adam_eps=0.01), linear())
    for name, decay in {"1.weight": 0.1, "1.bias": 0.0}.items():
        slope = slopes[name] + decay * before[name]
        torch.testing.assert_close(after[name], before[name] - 0.3 * slope / (slope.abs() + 0.01))


def test_batch_norm_is_not_decayed():
    network = nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(64, 3))
    slopes, before, after = one_step(replace(STEP, momentum=0.0), network)
    for name in ("0.weight", "0.bias"):
        torch.testing.assert_close(after[name], before[name] - 0.3 * slopes[name])


def test_weights_with_a_prior_follow_their_kl_and_are_not_decayed():
    def loss(network, images, labels, rows):
        return kl_divergence(network) / rows + 0 * softmax_loss(network, images, labels, rows)

    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 5), BayesianLinear(5, 3))
    before = state(network)
    network[2].kl().backward()
    slopes = {name: parameter.grad / 8 for name, parameter in network[2].named_parameters() if name != "bias"}
    trained(replace(STEP, momentum=0.0), network=network, loss=loss, pair=images_and_labels(8))
    torch.testing.assert_close(network[1].weight.data, 0.97 * before["1.weight"])
    for name, slope in slopes.items():
        torch.testing.assert_close(network[2].state_dict()[name], before[f"2.{name}"] - 0.3 * slope)


def test_the_averaged_weights_are_the_naive_exponential_average():
    path = []

    def loss(network, images, labels, rows):
        path.append(state(network))
        return softmax_loss(network, images, labels, rows)

    recipe = replace(RECIPE, epochs=2, momentum=0.0)
    path.append(state(trained(recipe, loss=loss)))
    mean = path[0]
    for weights in path[1:]:
        mean = {name: 0.8 * mean[name] + 0.2 * weights[name] for name in mean}
    for name, value in trained(replace(recipe, ema=0.8)).state_dict().items():
        torch.testing.assert_close(value, mean[name] if value.is_floating_point() else path[-1][name])


def test_the_learning_rate_follows_the_schedule_step_by_step():
    seen = []

    def loss_of_slope_one(network, images, labels, rows):
        seen.append(float(network[1].bias.detach()[0]))
        return network[1].bias.sum() + 0 * network(images).sum()

    recipe = replace(RECIPE, epochs=3, momentum=0.0, schedule=lambda done: 1 + done)
    network = trained(recipe, network=linear(), loss=loss_of_slope_one)
    seen.append(float(network[1].bias.detach()[0]))
    moved = [before - after for before, after in pairwise(seen)]
    assert moved == pytest.approx([0.1 * (1 + step / 12) for step in range(12)], rel=1e-4)


def test_progress_is_called_with_every_epoch_and_its_mean_loss():
    losses, calls = [], []

    def loss(network, images, labels, rows):
        value = softmax_loss(network, images, labels, rows)
        losses.append(float(value.detach()))
        return value

    trained(loss=loss, progress=lambda epoch, value: calls.append((epoch, value)))
    means = torch.tensor(losses).view(4, 4).mean(1).tolist()
    assert [epoch for epoch, _ in calls] == [1, 2, 3, 4]
    assert [value for _, value in calls] == pytest.approx(means)


@pytest.mark.parametrize("count", [69, 71, 0])
def test_images_and_labels_of_different_number_are_an_error_that_names_both(count):
    images, labels = images_and_labels(71)
    with pytest.raises(ValueError, match=rf"labels \({count},\) do not match images \(70, 1, 8, 8\)"):
        trained(pair=(images[:70], labels[:count]))


def test_images_labelled_none_teach_a_one_vs_all_network_to_reject_them():
    split = data.load("digits-train", limit=400)
    noise = torch.randint(0, 256, (200, 1, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    images = torch.cat([split.images, noise])
    labels = torch.cat([split.labels, torch.full((200,), NONE)])

    def loss(network, images, labels, rows):
        return ova_loss(network(images), labels)

    with seeded(CPU, 0):
        network = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    recipe = Recipe(epochs=30, batch=50, rate=0.2, augment=nothing)
    trained(recipe, network=network, loss=loss, pair=(images, labels))
    with torch.no_grad():
        highest = network(images.float() / 255).sigmoid().max(1).values
    assert float((highest[:400] > 0.5).float().mean()) > 0.95
    assert float((highest[400:] < 0.5).float().mean()) > 0.95
