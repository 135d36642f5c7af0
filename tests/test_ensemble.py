"""An ensemble is the mean of its members, calibrated, saved and exported like any network."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from slova_bench.methods import find
from torch import nn

import slova
from slova.vision import DistanceAware

CLASSES = 3


def inputs(count=300, seed=0):
    """Points around one centre a class, and labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    return torch.eye(CLASSES)[labels] * 2 + torch.randn(count, CLASSES, generator=generator), labels


def layer(seed):
    torch.manual_seed(seed)
    found = nn.Linear(CLASSES, CLASSES)
    with torch.no_grad():
        found.weight += 2 * torch.eye(CLASSES)
    return found


def image_network(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, CLASSES)).eval()


@pytest.fixture
def ensemble():
    return slova.Ensemble(layer(seed) for seed in range(3))


def test_its_output_is_the_mean_of_its_members(ensemble):
    points, _ = inputs()
    wanted = sum(member(points) for member in ensemble.members) / 3
    torch.testing.assert_close(ensemble(points), wanted)


def test_it_states_the_head_that_all_members_state():
    members = [slova.prepare(nn.Linear(4, 3)) for _ in range(2)]
    assert slova.Ensemble(members).slova_head == "slova"
    assert slova.Ensemble([*members, nn.Linear(4, 3)]).slova_head == "auto"


def test_members_may_return_objects_with_logits_in_any_precision_and_take_named_inputs():
    class Named(nn.Module):
        def forward(self, *, points):
            return SimpleNamespace(logits=points.half())

    found = slova.Ensemble([Named(), Named()])(points=torch.ones(2, CLASSES))
    assert torch.equal(found, torch.ones(2, CLASSES))


def test_no_members_and_members_of_other_classes_are_refused(ensemble):
    with pytest.raises(ValueError, match="at least one network"):
        slova.Ensemble([])
    other = slova.Ensemble([*ensemble.members, nn.Linear(CLASSES, 4)])
    with pytest.raises(ValueError, match="the same number of classes, got 3, 3, 3, 4"):
        other(torch.zeros(5, CLASSES))


def test_one_network_is_not_taken_for_its_layers_and_members_are_networks():
    with pytest.raises(TypeError, match="must be a list of networks, got one Sequential"):
        slova.Ensemble(nn.Sequential(layer(0), layer(1)))
    for wrong in (None, "network.pt", torch.sigmoid):
        with pytest.raises(TypeError, match=f"must be torch.nn.Module, got {type(wrong).__name__}"):
            slova.Ensemble([layer(0), wrong])
    assert len(slova.Ensemble(nn.ModuleList([layer(0), layer(1)])).members) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [(torch.float64, torch.float64), (torch.float32, torch.float32), (torch.bfloat16, torch.float32)],
)
def test_only_half_precision_is_raised(given, said):
    points = torch.rand(4, CLASSES, dtype=torch.float64).to(given)
    members = [layer(seed).to(given) for seed in range(2)]
    found = slova.Ensemble(members)(points)
    assert found.dtype == said
    assert torch.equal(found, torch.stack([member(points).to(said) for member in members]).mean(0))


def test_a_classifier_of_it_is_fitted_saved_loaded_and_exported(ensemble, tmp_path):
    classifier = slova.Classifier.fit(ensemble, inputs())
    points, _ = inputs(seed=1)
    before = classifier.predict(points)
    classifier.save(tmp_path / "ensemble.slova")
    again = slova.Classifier.load(tmp_path / "ensemble.slova", slova.Ensemble(layer(9) for _ in range(3)))
    assert torch.equal(again.predict(points).confidence, before.confidence)
    assert classifier.export(tmp_path / "model.onnx", points).confidence < 1e-5


def test_of_distance_aware_networks_it_is_the_ensemble_of_the_benchmark():
    images = torch.rand(90, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    labels = image_network(0)(images).argmax(1)
    labels[::4] = torch.arange(23) % CLASSES
    members = [DistanceAware.fit(image_network(seed), (images, labels)) for seed in range(2)]
    classifier = slova.Classifier.fit(slova.Ensemble(members), (images, labels), calibration="temperature")
    (method,) = find(["slova_distance_ensemble"])
    with torch.no_grad():
        said = np.stack([member(images).numpy() for member in members])
    pooled = method.head(said).log_probs[0]
    wanted = method.calibrate(pooled, labels.numpy())(pooled)
    np.testing.assert_allclose(classifier(images).log_probs.detach().numpy(), wanted, atol=1e-5)
