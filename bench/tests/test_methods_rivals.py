"""Rivals from outside follow their publications: LogitNorm, RotPred, AugMix, PixMix; and views and neighbours."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from slova_bench import data
from slova_bench.calibrate import class_temperature
from slova_bench.distances import with_distances
from slova_bench.method import CalibrationRows
from slova_bench.methods import augmix, logitnorm, methods, rotpred
from slova_bench.methods.augmix import changed, posterize
from slova_bench.methods.pixmix import mixed
from slova_bench.neighbours import posterior_with_neighbours, with_neighbours
from slova_bench.networks import digits_net
from slova_bench.train import seeded
from torch import nn
from torch.nn import functional

from slova.heads import SOFTMAX

CPU = torch.device("cpu")


def network(outputs=10):
    with seeded(CPU, 0):
        return digits_net(outputs).eval()


def photographs(count=12, size=32):
    """Smooth colours with a little noise, of 256 levels."""
    generator = torch.Generator().manual_seed(0)
    smooth = functional.interpolate(torch.rand(count, 3, 4, 4, generator=generator), size=size, mode="bicubic")
    return (200 * smooth + 40 * torch.rand(count, 3, size, size, generator=generator)).clamp(0, 255).round() / 255


# LogitNorm and RotPred.


def test_logitnorm_ignores_the_norm_of_logits_in_training_and_ranks_by_them_as_they_are():
    logits, labels = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 5
    found = [logitnorm.loss(nn.Identity(), factor * logits, labels, 6) for factor in (1, 10)]
    torch.testing.assert_close(found[0], found[1])
    unit = logits / logits.norm(dim=1, keepdim=True)
    torch.testing.assert_close(found[0], functional.cross_entropy(unit / 0.04, labels))
    wanted = logits.softmax(1).amax(1).numpy()
    np.testing.assert_allclose(methods()["logitnorm"].score(logits.numpy()[None]), wanted, rtol=1e-6)


def test_the_loss_of_rotpred_is_that_of_the_classes_and_of_the_four_turns():
    images, labels, model = torch.rand(4, 1, 8, 8), torch.tensor([3, 1, 9, 1]), network(14)
    wanted = functional.cross_entropy(model(images)[:, :10], labels)
    for turn in range(4):
        outputs = model(torch.rot90(images, turn, (2, 3)))
        wanted = wanted + functional.cross_entropy(outputs[:, 10:], torch.full((4,), turn)) / 4
    torch.testing.assert_close(rotpred.loss(model, images, labels, 4), wanted)


def test_rotpred_scores_by_the_divergence_from_uniform_and_the_turns():
    images, model = torch.rand(4, 1, 8, 8), network(14)
    with torch.no_grad():
        logits, losses = rotpred.turn_losses(model, images)
        outputs = rotpred.with_turns(model, SimpleNamespace())(images)
    assert outputs.shape == (4, 11)
    uniform = torch.full_like(logits, 0.1)
    divergence = (uniform * (uniform.log() - logits.log_softmax(1))).sum(1)
    wanted = (divergence - losses.mean(0)).numpy() + math.log(10)
    np.testing.assert_allclose(rotpred.score(outputs.numpy()[None]), wanted, rtol=1e-5)


def test_the_temperature_of_a_network_with_further_outputs_is_that_of_its_logits():
    generator = np.random.default_rng(0)
    outputs, labels = 4 * generator.normal(size=(1, 200, 4)), generator.integers(0, 3, 200)
    rows = CalibrationRows(outputs, labels, np.ones(200), np.ones(200), np.arange(200), 3)
    found = class_temperature(rows)(outputs).log_probs
    assert found.shape == (200, 3)
    changed = outputs.copy()
    changed[..., 3] += 5
    np.testing.assert_array_equal(class_temperature(rows._replace(outputs=changed))(changed).log_probs, found)
    assert found.max(axis=1).mean() < SOFTMAX(outputs[0, :, :3]).log_probs.max(axis=1).mean(), "labels are at chance"


# AugMix and PixMix.


def test_posterising_is_that_of_pillow():
    images, strength = photographs(), torch.linspace(0.02, 0.299, 12)
    found = 255 * posterize(images, strength)
    for image, made, amount in zip(images, found, strength, strict=True):
        picture = Image.fromarray(image.permute(1, 2, 0).mul(255).byte().numpy())
        wanted = torch.from_numpy(np.array(ImageOps.posterize(picture, 4 - int(4 * amount)))).permute(2, 0, 1)
        assert (made - wanted).abs().max() < 0.01


def test_one_in_nine_published_operations_posterises():
    images = photographs(2000, 8)
    with seeded(CPU, 0):
        levels = (255 * changed(images)).round().long()
    assert float((levels % 16 == 0).flatten(1).all(1).float().mean()) == pytest.approx(1 / 9, abs=0.02)


def test_the_divergence_of_augmix_is_that_of_three_distributions():
    logits = list(torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)))
    probs = torch.stack(logits).softmax(-1).double().numpy()
    entropy = -(probs * np.log(probs)).sum(-1).mean(0)
    middle = probs.mean(0)
    wanted = (-(middle * np.log(middle)).sum(-1) - entropy).mean()
    assert float(augmix.divergence(logits)) == pytest.approx(wanted, rel=1e-5)
    assert float(augmix.divergence([logits[0]] * 3)) == pytest.approx(0, abs=1e-6)


def test_augmix_shows_an_image_and_two_mixtures_of_it_and_labels_only_the_image():
    images, labels, shown = photographs(6), torch.arange(6), []

    def known(batch):
        shown.append(batch)
        return torch.eye(6).repeat(3, 1) * 9

    with seeded(CPU, 0):
        value = augmix.loss(known, images, labels, 6)
    torch.testing.assert_close(value, functional.cross_entropy(torch.eye(6) * 9, labels))
    first, *mixtures = shown[0].split(6)
    assert torch.equal(first, images)
    for one in mixtures:
        assert (one - images).abs().mean() > 0.005
        assert 0 <= one.min() <= one.max() <= 1
    assert not torch.equal(*mixtures)


def test_the_image_recipe_with_mixing_has_as_many_outliers_as_without():
    labelled = []

    class Linear(nn.Module):
        def forward(self, images):
            labelled.append(len(images))
            return images.flatten(1)[:, :10]

    images = photographs(16)
    ours = [methods()[name].loss for name in ("slova_image", "slova_image_mixed", "softmax_mixed")]
    for loss in ours:
        assert loss(Linear(), images, torch.arange(16) % 10, 16).isfinite()
    assert labelled == [24, 24, 16], "softmax has none"


@pytest.mark.parametrize("make", [augmix.mixture, mixed])
def test_mixing_reads_no_values_so_that_a_step_can_be_captured(make):
    """Tensors without values raise where one is read, and where one on another device is used."""
    assert make(torch.empty(8, 3, 32, 32, device="meta")).shape == (8, 3, 32, 32)


# Views and neighbours.


@pytest.mark.parametrize(("views", "count"), [("flip", 2), ("turns", 4)])
def test_views_average_logits_and_keep_the_distances_of_the_image(views, count):
    model, split = network(), data.load("digits-val")
    plain = with_distances(model, SimpleNamespace(validation=split))
    adapted = methods()[f"slova_image_{views}"].adapt(model, SimpleNamespace(validation=split))
    images = split.images[:20].float() / 255
    shown = [images, images.flip(-1)] if count == 2 else [images.rot90(turn, (2, 3)) for turn in range(4)]
    with torch.no_grad():
        wanted = torch.stack([model(view) for view in shown]).mean(0)
        torch.testing.assert_close(adapted(images), torch.cat([wanted, plain(images)[:, 10:]], dim=1))


def test_neighbours_are_found_in_each_half_of_the_validation_images():
    model, split = network(), data.load("digits-val")
    adapted = with_neighbours(model, SimpleNamespace(validation=split))
    images = split.images.float() / 255
    with torch.no_grad():
        found = adapted(images)[:, -2:].numpy()
        features = functional.normalize(model[:-1](images), dim=1).numpy()
    away = np.linalg.norm(features[:, None] - features[None], axis=2)
    tenth = np.stack([np.sort(away[:, half::2], axis=1)[:, 9] for half in range(2)], axis=1)
    other = np.where(np.arange(len(away)) % 2, tenth[:, 0], tenth[:, 1])
    np.testing.assert_allclose(found, np.log1p(tenth**2 / np.mean(other**2)), rtol=2e-3, atol=1e-4)


def test_a_row_of_a_fit_is_compared_with_the_half_without_its_image(monkeypatch):
    seen = []
    monkeypatch.setattr("slova_bench.neighbours.posterior", lambda rows, head: seen.append(rows.outputs) or seen.append)
    outputs = np.arange(20.0).reshape(1, 4, 5)
    groups = np.array([0, 1, 0, 1])
    rows = CalibrationRows(outputs, np.zeros(4), np.ones(4), np.ones(4), groups, 2)
    readout = posterior_with_neighbours(rows, head="slova")
    np.testing.assert_array_equal(seen[0][0], outputs[0][:, [0, 1, 2, 4]] - [[0, 0, 0, group] for group in groups])
    readout(outputs)
    np.testing.assert_array_equal(seen[1], outputs[..., :4])
