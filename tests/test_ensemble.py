"""An ensemble is the mean of its members, calibrated, saved and exported like any network."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import slova

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


class LogProbs(nn.Module):
    returns_log_probs = True

    def __init__(self, seed):
        super().__init__()
        self.layer = layer(seed)

    def forward(self, points):
        return self.layer(points).log_softmax(-1)


def test_the_mean_of_log_probabilities_is_normalised_and_recognised():
    points, labels = inputs()
    ensemble = slova.Ensemble([LogProbs(seed) for seed in range(2)])
    wanted = torch.stack([member(points) for member in ensemble.members]).mean(0).log_softmax(-1)
    torch.testing.assert_close(ensemble(points), wanted)
    classifier = slova.Classifier.fit(ensemble, points, labels, calibration=None)
    assert classifier.scorer.report.found == "the rows are log-probabilities"
    torch.testing.assert_close(classifier(points).log_probs, wanted)


def test_a_classifier_of_it_is_fitted_saved_loaded_and_exported(ensemble, tmp_path):
    classifier = slova.Classifier.fit(ensemble, inputs())
    points, _ = inputs(seed=1)
    before = classifier.predict(points)
    classifier.save(tmp_path / "ensemble.slova")
    again = slova.Classifier.load(tmp_path / "ensemble.slova", slova.Ensemble(layer(9) for _ in range(3)))
    assert torch.equal(again.predict(points).confidence, before.confidence)
    assert classifier.export(tmp_path / "model.onnx", points).confidence < 1e-5


def pictures(count=120):
    images = torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    labels = image_network(0)(images).argmax(1)
    labels[::4] = torch.arange(count // 4) % CLASSES
    return images, labels


@pytest.mark.filterwarnings("ignore::slova.CalibrationWarning")
def test_the_distances_of_an_image_are_the_means_over_the_members(tmp_path):
    images, labels = pictures()
    members = [image_network(seed) for seed in range(2)]
    classifier = slova.Classifier.fit(slova.Ensemble(members), images, labels, progress=False)
    assert "distances in members.*.1, with" in str(classifier.scorer.report)
    assert classifier.scorer.distances == 1
    alone = [slova.Classifier.fit(member, images, labels, progress=False) for member in members]
    batch = (images,), {}
    found = [one.passes(one.network, batch, lambda given, one=one: one.network(*given[0]))[1] for one in alone]
    _, mean = classifier.passes(classifier.network, batch, lambda given: classifier.network(*given[0]))
    torch.testing.assert_close(mean, torch.stack(found).mean(0))
    classifier.save(tmp_path / "ensemble.slova")
    again = slova.Classifier.load(tmp_path / "ensemble.slova", slova.Ensemble(image_network(9) for _ in range(2)))
    torch.testing.assert_close(again.predict_proba(images), classifier.predict_proba(images))


@pytest.mark.filterwarnings("ignore::slova.CalibrationWarning")
def test_members_with_other_numbers_of_layers_have_distances_of_their_own():
    images, labels = pictures()
    longer = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(3, 4, 2), nn.ReLU(), nn.Conv2d(4, 4, 2), nn.Flatten())
    members = [image_network(0), nn.Sequential(*longer, nn.Linear(16, CLASSES)).eval()]
    classifier = slova.Classifier.fit(slova.Ensemble(members), images, labels, progress=False)
    assert classifier.scorer.report.layers == ("members.0.1", "members.1.2", "members.1.3")
    assert classifier.scorer.distances == 3


@pytest.mark.filterwarnings("ignore::slova.CalibrationWarning")
def test_a_network_that_is_a_member_twice_is_measured_once():
    images, labels = pictures()
    network = image_network(0)
    classifier = slova.Classifier.fit(slova.Ensemble([network, network]), images, labels, progress=False)
    assert classifier.passes.layers == ("members.0.1",)
