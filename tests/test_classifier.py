import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from slova import (
    NONE,
    BetaCalibration,
    Classifier,
    HistogramBinning,
    Scorer,
    artifact,
    init_bias,
    ova_loss,
)
from slova.artifact import ArtifactError
from slova.classifier import SoftmaxNetworkWarning
from slova.heads import SOFTMAX

CLASSES = 4


def blobs(rows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Four overlapping clouds in the plane."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (rows,), generator=generator)
    centres = torch.tensor([[2.0, 2.0], [-2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]])
    return centres[labels] + 1.3 * torch.randn(rows, 2, generator=generator), labels


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Dropout(0.1), nn.Linear(32, CLASSES))


def train(loss) -> nn.Sequential:
    torch.manual_seed(0)
    network, (points, labels) = mlp(), blobs(600, 0)
    init_bias(network[-1])
    optimiser = torch.optim.Adam(network.parameters(), 0.02)
    for _ in range(60):
        optimiser.zero_grad()
        loss(network(points), labels).backward()
        optimiser.step()
    return network.eval()


@pytest.fixture(scope="module")
def network() -> nn.Sequential:
    return train(ova_loss)


@pytest.fixture(scope="module")
def classifier(network) -> Classifier:
    return Classifier.fit(network, blobs(1000, 1))


class Named(nn.Module):
    """Takes its input by name and returns something with logits, as Hugging Face models do."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: torch.Tensor):
        return {"logits": self.network(points), "loss": None}


class Stream(IterableDataset):
    def __iter__(self):
        points, labels = blobs(1000, 1)
        for first in range(0, 1000, 300):
            yield points[first : first + 300], labels[first : first + 300]


def same_map(left: Classifier, right: Classifier) -> bool:
    return np.allclose(left.scorer.calibrator.exponents, right.scorer.calibrator.exponents, rtol=1e-4) and np.allclose(
        left.scorer.calibrator.weights, right.scorer.calibrator.weights, rtol=1e-4
    )


def test_five_lines_give_label_confidence_none_and_several(network, tmp_path):
    classifier = Classifier.fit(network, blobs(1000, 1))
    points, labels = blobs(2000, 2)
    label, confidence, none, several = classifier.predict(points, reject=0.5)
    answered = label != NONE
    assert (label[answered] == labels[answered]).float().mean() > (
        classifier.predict(points).label == labels
    ).float().mean()
    assert ((confidence < 0.5) == (label == NONE)).all()
    assert ((none >= 0) & (none <= 1) & (several >= 0) & (several <= 1)).all()
    classifier.save(tmp_path / "model.slova")
    again = Classifier.load(tmp_path / "model.slova", mlp())
    for left, right in zip(classifier.predict(points), again.predict(points), strict=True):
        assert torch.equal(left, right)


def test_calibration_brings_confidence_to_accuracy(network, classifier):
    points, labels = blobs(5000, 3)
    raw = Classifier(network, Scorer(classes=CLASSES)).predict(points)
    calibrated = classifier.predict(points)
    accuracy = (calibrated.label == labels).float().mean()
    assert abs(calibrated.confidence.mean() - accuracy) < 0.02
    assert abs(calibrated.confidence.mean() - accuracy) < abs(raw.confidence.mean() - accuracy)


@pytest.mark.parametrize(
    "source",
    [
        lambda: DataLoader(TensorDataset(*blobs(1000, 1)), batch_size=170),
        lambda: TensorDataset(*blobs(1000, 1)),
        Stream,
        lambda: [tuple(part[i : i + 250] for part in blobs(1000, 1)) for i in range(0, 1000, 250)],
    ],
    ids=["loader", "dataset", "stream", "list of batches"],
)
def test_every_kind_of_source_gives_the_same_map_and_predictions(network, classifier, source):
    assert same_map(Classifier.fit(network, source()), classifier)
    assert torch.allclose(classifier.predict(source()).confidence, classifier.predict(blobs(1000, 1)[0]).confidence)


@pytest.mark.parametrize("key", ["labels", "label"])
def test_dicts_are_passed_by_name_and_logits_found_in_outputs(network, classifier, key):
    points, labels = blobs(1000, 1)
    named = Classifier.fit(Named(network), {"points": points, key: labels})
    assert same_map(named, classifier)
    assert torch.allclose(named.predict({"points": points}).confidence, classifier.predict(points).confidence)
    assert torch.allclose(named(points=points).log_probs, classifier(points).log_probs)


class Both(nn.Module):
    """Takes two inputs, the second of which decides which features count."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: torch.Tensor, mask: torch.Tensor | None = None):
        return self.network(points if mask is None else points * mask)


def test_a_tuple_of_tensors_is_all_inputs_and_batches_may_bring_labels(network):
    points, labels = blobs(1000, 1)
    mask = torch.ones_like(points)
    mask[::3, 0] = 0
    wanted = network(points * mask).softmax(-1)
    unknown = Classifier(Both(network), Scorer(classes=CLASSES, head=SOFTMAX))
    fitted = Classifier.fit(Both(network), (points, mask, labels), head="softmax", calibration=None)
    for classifier in (unknown, fitted):
        assert torch.allclose(classifier.predict((points, mask)).confidence, wanted.max(-1).values)
        with_labels = TensorDataset(points, mask, labels)
        for source in (with_labels, DataLoader(with_labels, batch_size=170)):
            assert torch.allclose(classifier.predict(source).confidence, wanted.max(-1).values)
    without = DataLoader(TensorDataset(points, mask), batch_size=170)
    assert torch.allclose(fitted.predict(without).confidence, wanted.max(-1).values)  # two inputs, as in the fit
    by_name = Classifier.fit(Both(network), {"points": points, "mask": mask, "label": labels})
    assert torch.equal(by_name.predict(with_labels).label, fitted.predict(with_labels).label)


def test_none_inputs_are_all_inputs_too(network):
    points, labels = blobs(1000, 1)
    mask, far = torch.ones_like(points), 12 * torch.randn(400, 2, generator=torch.Generator().manual_seed(6))
    plain = Classifier.fit(network, (points, labels), none_inputs=far)
    halved = (2 * far, 0.5 * torch.ones_like(far))
    for none_inputs in (halved, TensorDataset(*halved), TensorDataset(*halved, torch.zeros(400))):
        assert same_map(Classifier.fit(Both(network), (points, mask, labels), none_inputs=none_inputs), plain)


def test_numpy_arrays_do_for_tensors(network, classifier):
    points, labels = (part.numpy() for part in blobs(1000, 1))
    points = points.astype(np.float64)
    for backwards in (points[::-1], np.broadcast_to(points[:1], (5, 2))):  # neither can be shared with torch
        assert torch.equal(
            classifier.predict(backwards).label, classifier.predict(torch.tensor(backwards.copy()).float()).label
        )
    assert same_map(Classifier.fit(network, (points, labels)), classifier)
    named = Classifier.fit(Named(network), {"points": points, "labels": labels})
    assert torch.equal(named.predict({"points": points}).confidence, classifier.predict(points).confidence)


def test_a_file_keeps_what_the_network_takes(network, tmp_path):
    points, labels = blobs(300, 1)
    words = torch.randint(0, 2, (300, 2))
    sources = [(points, words, labels), {"points": points, "mask": words, "labels": labels}]
    for source in sources:
        fitted = Classifier.fit(Both(network), source)
        fitted.save(tmp_path / "model.slova")
        again = Classifier.load(tmp_path / "model.slova", Both(mlp())).example
        found, wanted = ([(None, part) for part in example[0]] + list(example[1].items())
                         for example in (again, fitted.example))  # fmt: skip
        assert [(name, part.shape, part.dtype) for name, part in found] == [
            (name, part.shape, part.dtype) for name, part in wanted
        ]


def test_a_file_of_before_or_of_a_classifier_that_was_not_fitted_has_no_example(classifier, tmp_path):
    classifier.save(tmp_path / "model.slova")
    tensors, meta = artifact.load(tmp_path / "model.slova", "classifier", framework="torch")
    del meta["example"]
    artifact.save(tmp_path / "old.slova", "classifier", tensors, meta)
    Classifier(mlp(), Scorer(classes=CLASSES)).save(tmp_path / "bare.slova")
    for name in ("old.slova", "bare.slova"):
        assert Classifier.load(tmp_path / name, mlp()).example is None
    artifact.save(tmp_path / "odd.slova", "classifier", tensors, meta | {"example": [[None, "nn", [0]]]})
    with pytest.raises(ArtifactError, match="the inputs of its network are unreadable"):
        Classifier.load(tmp_path / "odd.slova", mlp())


def test_forward_is_the_calibrated_readout_and_differentiable(classifier):
    points = blobs(50, 4)[0].requires_grad_()
    readout = classifier(points)
    assert readout.log_probs.shape == (50, CLASSES)
    assert readout.log_none.shape == (50,)
    readout.log_probs.max(-1).values.sum().backward()
    assert points.grad.abs().sum() > 0
    assert torch.allclose(
        readout.log_probs.max(-1).values.exp(), classifier.predict(points.detach()).confidence, atol=1e-6
    )


def test_fit_and_predict_leave_the_modes_of_the_network_as_they_were(network):
    network.train()
    network[3].eval()
    classifier = Classifier.fit(network, blobs(1000, 1))
    classifier.predict(blobs(10, 5)[0])
    assert network.training
    assert not network[3].training
    network.eval()


def test_no_noise_is_added_unless_asked_and_none_is_calibrated_only_then(network, classifier):
    assert not classifier.none_is_calibrated
    far = 12 * torch.randn(400, 2, generator=torch.Generator().manual_seed(6))
    with_none = Classifier.fit(network, blobs(1000, 1), none_inputs=far)
    assert with_none.none_is_calibrated
    assert with_none.scorer.validation.count.sum() == 1400
    assert classifier.scorer.validation.count.sum() == 1000
    points, labels = blobs(1000, 1)
    by_label = Classifier.fit(network, (torch.cat([points, far]), torch.cat([labels, torch.full((400,), NONE)])))
    assert same_map(by_label, with_none)


def test_a_softmax_network_is_noticed():
    softmax = train(nn.CrossEntropyLoss())
    with torch.no_grad():
        softmax[-1].bias += 3.0  # softmax ignores a shift
    with pytest.warns(SoftmaxNetworkWarning, match="looks like a softmax network"):
        Classifier.fit(softmax, blobs(1000, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classifier.fit(softmax, blobs(1000, 1), head="softmax", calibration="temperature")
        Classifier.fit(softmax, blobs(1000, 1), rescale=True)


def test_names_are_returned_for_labels_and_none_for_rejected_ones(network):
    classifier = Classifier.fit(network, blobs(1000, 1), names=["a", "b", "c", "d"])
    points = blobs(200, 7)[0]
    plain = Classifier(network, classifier.scorer).predict(points, reject=0.7).label
    named = classifier.predict(points, reject=0.7).label
    assert {None, "a"} < set(named)
    assert [("abcd"[i] if i >= 0 else None) for i in plain] == list(named)


def test_the_reject_threshold_is_part_of_the_classifier_and_its_file(network, tmp_path):
    classifier = Classifier.fit(network, blobs(2000, 1))
    classifier.reject = classifier.threshold(coverage=0.6)
    points, labels = blobs(5000, 8)
    assert (classifier.predict(points).label != NONE).float().mean() == pytest.approx(0.6, abs=0.05)
    classifier.reject = classifier.threshold(risk=0.05)
    label = classifier.predict(points).label
    assert (label != labels)[label != NONE].float().mean() <= 0.05
    classifier.save(tmp_path / "model.slova")
    assert torch.equal(Classifier.load(tmp_path / "model.slova", mlp()).predict(points).label, label)


def test_a_network_in_half_precision_keeps_the_numbers_of_its_map(network, tmp_path):
    classifier = Classifier.fit(network, blobs(1000, 1))
    exponents = classifier.scorer.calibrator.exponents
    half = Classifier(mlp(), classifier.scorer).bfloat16()
    assert np.array_equal(half.scorer.calibrator.exponents, exponents)
    half.save(tmp_path / "half.slova")
    again = Classifier.load(tmp_path / "half.slova", mlp().bfloat16())
    assert again.network[0].weight.dtype == torch.bfloat16
    points = blobs(20, 9)[0].bfloat16()
    assert torch.equal(again.predict(points).confidence, half.predict(points).confidence)
    assert again.predict(points).confidence.dtype == torch.float32


def test_a_file_for_another_network_is_refused_and_leaves_the_network_alone(classifier, tmp_path):
    classifier.save(tmp_path / "model.slova")
    other = nn.Sequential(nn.Linear(2, CLASSES))
    before = other[0].weight.clone()
    with pytest.raises(ArtifactError, match="does not fit this network"):
        Classifier.load(tmp_path / "model.slova", other)
    assert torch.equal(other[0].weight, before)


def test_the_scorer_can_be_read_out_of_a_classifier_file(classifier, network, tmp_path):
    classifier.save(tmp_path / "model.slova")
    points = blobs(100, 10)[0]
    with torch.no_grad():
        logits = network(points)
    scorer = Scorer.load(tmp_path / "model.slova")
    assert np.allclose(scorer.predict(logits.numpy()).confidence, classifier.predict(points).confidence, atol=1e-6)


def test_state_dict_carries_the_map(classifier, network):
    other = Classifier(mlp(), Scorer.fit(np.random.default_rng(0).normal(size=(500, 4)), np.arange(500) % 4))
    shape = classifier.scorer.calibrator.exponents.shape
    other.parts["calibrator"].exponents = torch.ones(shape, dtype=torch.float64)
    other.parts["calibrator"].weights = torch.ones(shape, dtype=torch.float64)
    other.load_state_dict(classifier.state_dict())
    assert np.array_equal(other.scorer.calibrator.exponents, classifier.scorer.calibrator.exponents)


def test_it_can_be_exported_and_compiled(classifier):
    points = blobs(8, 11)[0]
    exported = torch.export.export(classifier, (points,))
    assert torch.allclose(exported.module()(points).log_probs, classifier(points).log_probs)
    compiled = torch.compile(classifier, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(points).log_none, classifier(points).log_none)


def test_progress_goes_to_standard_error_when_asked_for_and_else_only_to_a_terminal(network, capsys):
    Classifier.fit(network, blobs(1000, 1), progress=True)
    assert "fit" in capsys.readouterr().err
    Classifier.fit(network, blobs(1000, 1))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("calibrate", [None, HistogramBinning.fit, BetaCalibration.fit])
def test_any_map_or_none_can_calibrate(network, calibrate, tmp_path):
    classifier = Classifier.fit(network, blobs(1000, 1), calibration=calibrate)
    points = blobs(100, 12)[0]
    classifier.save(tmp_path / "model.slova")
    again = Classifier.load(tmp_path / "model.slova", mlp())
    assert torch.equal(again.predict(points).confidence, classifier.predict(points).confidence)


POINTS, LABELS = blobs(40, 13)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS[:39])), ValueError, r"\(40, 2\), \(39,\)"),
        (lambda c: Classifier.fit(c.network, POINTS), ValueError, "must be inputs and labels"),
        (lambda c: Classifier.fit(c.network, {"points": POINTS}), ValueError, "under 'labels' or 'label'"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS + 1)), ValueError, r"must lie in \[-1, 4\)"),
        (lambda c: Classifier.fit(c.network, (POINTS * np.nan, LABELS)), ValueError, "NaN in 40 of 40 rows"),
        (lambda c: Classifier.fit(c.network, []), ValueError, "no rows to fit on"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS), batch_size=0), ValueError, "at least 1"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS.float())), TypeError, "must be integers"),
        (lambda c: Classifier.fit(nn.Flatten(0), (POINTS, LABELS)), ValueError, "must be"),
        (lambda c: Classifier.fit(nn.Identity(), [("x", LABELS)]), TypeError, "must return a tensor"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS.tolist())), TypeError, "only tensors, got list among"),
        (lambda c: Classifier.fit(c.network, {"points": "x", "labels": LABELS}), TypeError, "got str among them"),
        (lambda c: c.predict([]), ValueError, "no inputs"),
        (lambda c: c.predict(7), TypeError, "expected tensors, a Dataset or batches, got int"),
        (lambda c: c.predict("points.npy"), TypeError, "a Dataset or batches, got str"),
        (lambda c: Classifier(nn.Linear(2, 4), c.scorer).predict(POINTS[0]), ValueError, r"got \(4,\) for .* \(2,\)"),
        (lambda c: c.predict(POINTS, reject=np.nan), ValueError, r"reject must lie in \[0, 1\], got nan"),
        (lambda c: c.predict(POINTS, reject=50), ValueError, r"in \[0, 1\], got 50"),
        (lambda c: Classifier(c.network, c.scorer, reject=5), ValueError, r"in \[0, 1\], got 5"),
        (lambda c: Classifier(c.network, c.scorer, reject=np.nan), ValueError, r"in \[0, 1\], got nan"),
        (lambda c: c.save("nodir/a.slova"), FileNotFoundError, "there is no folder nodir: 'nodir/a.slova'"),
        (lambda c: c.threshold(), ValueError, "either a risk or a coverage"),
        (lambda c: c.threshold(risk=1.5), ValueError, r"in \[0, 1\]"),
        (lambda c: c.threshold(risk=0.0), ValueError, "no threshold promises"),
        (lambda c: Classifier(c.network, c.scorer, names=["one"]), ValueError, "1 names for 4 classes"),
        (lambda c: Classifier(c.network, Scorer(classes=4)).threshold(risk=0.1), ValueError, "not fitted"),
    ],
)
def test_bad_input_gets_a_sentence(classifier, call, error, message):
    with pytest.raises(error, match=message):
        call(classifier)
