"""A distance-aware network at its edges: far beyond the data of the fit, few images, other layers, wrong input."""

import pytest
import torch
from slova_bench.distance_aware import DistanceAware, FlipAveraged
from torch import nn

import slova
from slova.calibration import SmallValidationWarning

CLASSES = 3


def pictures(count=200, seed=0):
    """Noise with a brighter third, one for each class: floats (N, 3, 9, 9) of [0, 1], and labels."""
    labels = torch.arange(count) % CLASSES
    images = 0.6 * torch.rand(count, 3, 9, 9, generator=torch.Generator().manual_seed(seed))
    for label in range(CLASSES):
        images[labels == label, :, 3 * label : 3 * label + 3] += 0.3
    return images, labels


def network(seed=0):
    torch.manual_seed(seed)
    layers = [nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(324, CLASSES)).eval()


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.norm, self.head = nn.Conv2d(3, 8, 3, 3), nn.LayerNorm(8), nn.Linear(8, CLASSES)
        self.unused, self.pair = nn.Linear(8, 8), Pair()

    def forward(self, images):
        tokens = self.norm(self.patch(images).flatten(2).mT)
        return self.head(self.pair(tokens)[0].mean(1))


class Pair(nn.Module):
    def forward(self, tokens):
        return tokens, tokens


@pytest.mark.parametrize("times", [1e4, -1e4, 1e8])
def test_very_far_away_all_classes_are_alike_however_large_the_logits(times):
    images, labels = pictures()
    found = DistanceAware.fit(network(), (images, labels))
    with torch.no_grad():
        found.negative_weights[1:] = 0  # as it often comes out: b does not fall
        assert (found(times * images).exp() - 1 / CLASSES).abs().max() < 0.01


def test_few_images_for_many_channels_are_warned_of():
    with pytest.warns(SmallValidationWarning, match="11 validation images are few for the 4 channels of layer 3"):
        DistanceAware.fit(network(), pictures(11), layers="3")


def test_a_saved_one_does_not_go_into_other_layers(tmp_path):
    images, labels = pictures()
    found = DistanceAware.fit(network(), (images, labels), layers="1")
    slova.Classifier.fit(found, (images, labels), head="softmax", calibration=None).save(tmp_path / "one.slova")
    with pytest.raises(ValueError, match="was fitted on other layers than 3"):
        slova.Classifier.load(tmp_path / "one.slova", DistanceAware.identity(network(), images, layers="3"))


def test_tokens_are_averaged_and_not_their_channels():
    images, labels = pictures()
    found = DistanceAware.fit(Transformer(), (images, labels), layers="norm")
    assert found.mean0.shape == (8,)
    with torch.no_grad():
        assert found.distances(torch.zeros_like(images)).mean() > 2 * found.distances(images).mean()


def test_arrays_are_as_good_as_tensors():
    images, labels = pictures()
    found = DistanceAware.fit(network(), (images.numpy(), labels.numpy()))
    assert torch.equal(found.positive_weights, DistanceAware.fit(network(), (images, labels)).positive_weights)


def test_flips_of_named_inputs():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network()

        def forward(self, *, pixels):
            return self.inner(pixels)

    images, labels = pictures()
    named = DistanceAware.fit(FlipAveraged(Named()), {"pixels": images, "labels": labels})
    plain = DistanceAware.fit(FlipAveraged(network()), (images, labels))
    torch.testing.assert_close(named(pixels=images), plain(images))


def test_a_layer_that_is_not_used_is_refused_and_of_several_outputs_the_first_counts():
    with pytest.raises(ValueError, match="the network does not use its layer unused"):
        DistanceAware.fit(Transformer(), pictures(), layers="unused")
    assert DistanceAware.fit(Transformer(), pictures(), layers="pair").layers == ("pair",)


def test_labels_of_another_shape_and_degradations_that_lose_images_are_refused():
    images, labels = pictures()
    with pytest.raises(ValueError, match=r"labels \(200, 3\) do not match 200 images"):
        DistanceAware.fit(network(), (images, torch.eye(CLASSES)[labels]))
    with pytest.raises(ValueError, match="must keep the number of images, got 7 for 200"):
        DistanceAware.fit(network(), (images, labels), degrade=lambda images, *, seed: images[:7])


def test_its_log_probabilities_and_those_of_an_ensemble_are_recognised():
    images, labels = pictures()
    networks = [DistanceAware.fit(network(seed), (images, labels)) for seed in range(2)]
    for given in (networks[0], slova.Ensemble(networks)):
        classifier = slova.Classifier.fit(given, (images, labels), calibration=None)
        assert classifier.scorer.report.found == "the rows are log-probabilities"
        torch.testing.assert_close(classifier(images).log_probs, given(images))
        assert not classifier.predict(images).none.any()
