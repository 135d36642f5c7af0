"""A network and its calibration as one module: the numbers it gives, and what stays as it was."""

import threading

import pytest
import torch
from torch import nn

from slova import NONE, Classifier, Scorer, ova_loss
from slova.heads import log_slova


def test_five_lines_give_label_confidence_none_and_ambiguous(network, tmp_path, blobs, mlp):
    classifier = Classifier.fit(network, *blobs(1000, 1))
    points, labels = blobs(2000, 2)
    label, confidence, none, ambiguous = classifier.predict(points, reject=0.5)
    answered = label != NONE
    assert (label[answered] == labels[answered]).float().mean() > (
        classifier.predict(points).label == labels
    ).float().mean()
    assert ((confidence < 0.5) == (label == NONE)).all()
    assert torch.allclose(confidence + none + ambiguous, torch.ones(2000))
    assert min(none.min(), ambiguous.min()) >= 0
    classifier.save(tmp_path / "model.slova")
    again = Classifier.load(tmp_path / "model.slova", mlp())
    for left, right in zip(classifier.predict(points), again.predict(points), strict=True):
        assert torch.equal(left, right)


def test_calibration_brings_confidence_to_accuracy(network, classifier, blobs):
    points, labels = blobs(5000, 3)
    raw = Classifier(network, Scorer(classes=4)).predict(points)
    calibrated = classifier.predict(points)
    accuracy = (calibrated.label == labels).float().mean()
    assert abs(calibrated.confidence.mean() - accuracy) < 0.02
    assert abs(calibrated.confidence.mean() - accuracy) < abs(raw.confidence.mean() - accuracy)


def test_no_noise_is_added_unless_asked_and_none_is_calibrated_only_then(network, classifier, blobs, same_calibrator):
    assert classifier.scorer.none == "evidence"
    far = 0.3 * torch.randn(400, 2, generator=torch.Generator().manual_seed(6))  # from all of the classes
    with_none = Classifier.fit(network, blobs(1000, 1), none_inputs=far)
    assert with_none.scorer.none == "calibrated"
    assert with_none.scorer.report.none_rows == 400
    assert with_none.scorer.calibrator.none_share == 0.05
    assert with_none.scorer.validation.count.sum() == 1000  # synthetic rows are no draws of the inputs to come
    points, labels = blobs(1000, 1)
    rows = torch.cat([points, far]), torch.cat([labels, torch.full((400,), NONE)])
    by_label = Classifier.fit(network, *rows, none_share=0.05)
    assert same_calibrator(by_label, with_none)
    by_share = Classifier.fit(network, *rows)
    assert by_share.scorer.calibrator.none_share == pytest.approx(400 / 1400)
    assert by_share.scorer.validation.count.sum() == 1400
    assert with_none.predict(far).none.mean() > 5 * with_none.predict(points).none.mean()


def test_a_softmax_network_is_recognised_and_as_well_calibrated_as_by_a_temperature(blobs, train):
    softmax = train(nn.CrossEntropyLoss())
    with torch.no_grad():
        softmax[-1].bias += 3.0  # softmax ignores a shift
    ours = Classifier.fit(softmax, *blobs(1000, 1))
    theirs = Classifier.fit(softmax, *blobs(1000, 1), head="softmax", calibration="temperature")
    assert repr(ours).startswith("Classifier(4 classes, softmax, posterior calibration on 1,000 rows, ECE 0.0")
    fresh = blobs(5000, 2)
    assert ours.evaluate(*fresh).nll.value < theirs.evaluate(*fresh).nll.value + 0.01
    assert ours.evaluate(*fresh).ece.value < 0.03


def test_names_are_returned_for_labels_and_none_for_rejected_ones(network, blobs):
    classifier = Classifier.fit(network, blobs(1000, 1), names=["a", "b", "c", "d"])
    points = blobs(200, 7)[0]
    plain = Classifier(network, classifier.scorer).predict(points, reject=0.7).label
    named = classifier.predict(points, reject=0.7).label
    assert all(name is NONE for name, label in zip(named, plain, strict=True) if label == NONE)
    assert [("abcd"[i] if i >= 0 else NONE) for i in plain] == list(named)
    assert {NONE, "a"} < set(named)


def test_forward_is_the_calibrated_readout_and_differentiable(classifier, blobs):
    points = blobs(50, 4)[0].requires_grad_()
    readout = classifier(points)
    assert readout.log_probs.shape == (50, 4)
    assert readout.log_none.shape == (50,)
    readout.log_probs.max(-1).values.sum().backward()
    assert points.grad.abs().sum() > 0
    assert torch.allclose(
        readout.log_probs.max(-1).values.exp(), classifier.predict(points.detach()).confidence, atol=1e-6
    )


def test_fit_and_predict_leave_the_modes_of_the_network_as_they_were(network, blobs):
    network.train()
    network[3].eval()
    classifier = Classifier.fit(network, blobs(1000, 1))
    classifier.predict(blobs(10, 5)[0])
    assert network.training
    assert not network[3].training
    network.eval()


def test_it_can_be_exported_and_compiled(classifier, blobs):
    points = blobs(8, 11)[0]
    exported = torch.export.export(classifier, (points,))
    assert torch.allclose(exported.module()(points).log_probs, classifier(points).log_probs)
    compiled = torch.compile(classifier, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(points).log_none, classifier(points).log_none)


class Waiting(nn.Module):
    """Passes its input on when two threads have met twice."""

    def __init__(self, barrier: threading.Barrier) -> None:
        super().__init__()
        self.barrier, self.entered, self.modes = barrier, threading.Event(), []

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        self.entered.set()
        for _ in range(2):
            self.barrier.wait(timeout=60)
            self.modes.append(self.training)
        return points


def test_threads_share_a_network_in_training_mode(train, blobs):
    """The thread that came first leaves while the other is still at work."""
    both = threading.Barrier(2)
    waiting, network, points, found = Waiting(both), train(ova_loss), blobs(200, 3)[0], {}
    wanted = log_slova(network(points)).max(-1).values.exp()
    classifier = Classifier(nn.Sequential(waiting, network), Scorer(classes=4)).train()

    def predict(name: str, batch_size: int) -> None:
        found[name] = classifier.predict(points, batch_size=batch_size, progress=False).confidence

    def leave_early() -> None:
        predict("first", 200)
        both.wait(timeout=60)
        both.wait(timeout=60)

    threads = [threading.Thread(target=leave_early), threading.Thread(target=predict, args=("second", 100))]
    threads[0].start()
    waiting.entered.wait(timeout=60)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert not any(waiting.modes)
    assert waiting.training
    assert network.training
    for confidence in found.values():
        assert torch.allclose(confidence, wanted, atol=1e-6)
