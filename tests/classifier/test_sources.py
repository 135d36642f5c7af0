"""Inputs and labels in every form give the same calibrator and the same predictions."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from slova import Classifier, Scorer
from slova.heads import SOFTMAX


class Named(nn.Module):
    """Takes its input by name and returns something with logits, as Hugging Face models do."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: torch.Tensor):
        return {"logits": self.network(points), "loss": None}


class Stream(IterableDataset):
    def __init__(self, points, labels):
        self.parts = points, labels

    def __iter__(self):
        points, labels = self.parts
        for first in range(0, 1000, 300):
            yield points[first : first + 300], labels[first : first + 300]


@pytest.mark.parametrize(
    "source",
    [
        lambda *pair: DataLoader(TensorDataset(*pair), batch_size=170),
        TensorDataset,
        Stream,
        lambda *pair: [tuple(part[i : i + 250] for part in pair) for i in range(0, 1000, 250)],
    ],
    ids=["loader", "dataset", "stream", "list of batches"],
)
def test_every_source_gives_the_same_calibrator_and_predictions(network, classifier, source, blobs, same_calibrator):
    points, labels = blobs(1000, 1)
    assert same_calibrator(Classifier.fit(network, source(points, labels)), classifier)
    found = classifier.predict(source(points, labels))
    assert torch.allclose(found.confidence, classifier.predict(points).confidence)


@pytest.mark.parametrize("key", ["labels", "label"])
def test_dicts_are_passed_by_name_and_logits_found_in_outputs(network, classifier, key, blobs, same_calibrator):
    points, labels = blobs(1000, 1)
    named = Classifier.fit(Named(network), {"points": points, key: labels})
    assert same_calibrator(named, classifier)
    assert torch.allclose(named.predict({"points": points}).confidence, classifier.predict(points).confidence)
    assert torch.allclose(named(points=points).log_probs, classifier(points).log_probs)


def test_a_tuple_of_tensors_is_all_inputs_and_batches_may_bring_labels(network, blobs, two_inputs):
    points, labels = blobs(1000, 1)
    mask = torch.ones_like(points)
    mask[::3, 0] = 0
    wanted = network(points * mask).softmax(-1)
    unknown = Classifier(two_inputs(network), Scorer(classes=4, head=SOFTMAX))
    fitted = Classifier.fit(two_inputs(network), (points, mask, labels), head="softmax", calibration=None)
    for classifier in (unknown, fitted):
        assert torch.allclose(classifier.predict((points, mask)).confidence, wanted.max(-1).values)
        with_labels = TensorDataset(points, mask, labels)
        for source in (with_labels, DataLoader(with_labels, batch_size=170)):
            assert torch.allclose(classifier.predict(source).confidence, wanted.max(-1).values)
    without = DataLoader(TensorDataset(points, mask), batch_size=170)
    assert torch.allclose(fitted.predict(without).confidence, wanted.max(-1).values)  # two inputs, as in the fit
    named = {"points": points, "mask": mask, "label": labels}
    by_name = Classifier.fit(two_inputs(network), named, head="softmax", calibration=None)
    assert torch.equal(by_name.predict(with_labels).label, fitted.predict(with_labels).label)


def test_inputs_that_the_fit_had_must_not_be_missing(network, blobs, two_inputs):
    points, labels = blobs(1000, 1)
    named = {"points": points, "mask": torch.ones_like(points)}
    classifier = Classifier.fit(two_inputs(network), named, labels, head="softmax", calibration=None)
    for wrong in ({"points": points}, DataLoader([{"points": row} for row in points[:9]])):
        with pytest.raises(ValueError, match="the inputs are points; expected points, mask, as in the fit"):
            classifier.predict(wrong)
    with pytest.raises(ValueError, match="the inputs are 1 without names; expected points, mask"):
        classifier.predict_proba(points)
    turned = {name: named[name] for name in ("mask", "points")}
    assert torch.equal(classifier.predict(turned).label, classifier.predict(named).label)


def test_shapes_are_compared_with_those_of_the_fit():
    """Not the height and the width, which a convolutional network takes as they are."""
    torch.manual_seed(0)
    pooled = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    images, labels = torch.rand(80, 3, 8, 8), torch.arange(80) % 4
    classifier = Classifier.fit(pooled, images, labels, head="softmax", calibration=None, shift_aware=False)
    assert len(classifier.predict(torch.rand(5, 3, 9, 12)).label) == 5
    for wrong, message in [
        (images[0], r"got a batch of shape \(3, 8, 8\) instead of \(N, 3, 8, 8\), as in the fit; a single row must be"),
        (images[:5, :1], r"cannot be run on a batch of shape \(5, 1, 8, 8\) instead of \(N, 3, 8, 8\), as in the fit"),
    ]:
        for ask in (classifier.predict, classifier.predict_proba):
            with pytest.raises(ValueError, match=message):
                ask(wrong)


def test_a_fault_of_the_network_is_raised_as_it_is(classifier, monkeypatch):
    def fails(*_):
        raise RuntimeError("a fault")

    monkeypatch.setattr(classifier.network, "forward", fails)
    with pytest.raises(RuntimeError, match="a fault"):
        classifier.predict(torch.zeros(3, 2))


def test_none_inputs_are_all_inputs_too(network, blobs, same_calibrator, two_inputs):
    points, labels = blobs(1000, 1)
    mask, far = torch.ones_like(points), 12 * torch.randn(400, 2, generator=torch.Generator().manual_seed(6))
    plain = Classifier.fit(network, (points, labels), none_inputs=far)
    halved = (2 * far, 0.5 * torch.ones_like(far))
    for none_inputs in (halved, TensorDataset(*halved), TensorDataset(*halved, torch.zeros(400))):
        assert same_calibrator(
            Classifier.fit(two_inputs(network), (points, mask, labels), none_inputs=none_inputs), plain
        )


def test_numpy_arrays_do_for_tensors(network, classifier, blobs, same_calibrator):
    points, labels = (part.numpy() for part in blobs(1000, 1))
    points = points.astype(np.float64)
    swapped = points.astype(points.dtype.newbyteorder())
    for backwards in (points[::-1], np.broadcast_to(points[:1], (5, 2)), swapped):  # none can be shared with torch
        assert torch.equal(
            classifier.predict(backwards).label, classifier.predict(torch.tensor(backwards.astype(np.float32))).label
        )
    assert same_calibrator(Classifier.fit(network, (points, labels)), classifier)
    named = Classifier.fit(Named(network), {"points": points, "labels": labels})
    assert torch.equal(named.predict({"points": points}).confidence, classifier.predict(points).confidence)


def test_progress_goes_to_standard_error_when_asked_for_and_else_only_to_a_terminal(network, capsys, blobs):
    Classifier.fit(network, blobs(1000, 1), progress=True)
    assert "fit" in capsys.readouterr().err
    Classifier.fit(network, blobs(1000, 1))
    assert capsys.readouterr() == ("", "")
