"""`Classifier.export`: the file computes the same as `Classifier.predict`, or is not written."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from slova import NONE, Classifier, Ensemble, ExponentialCalibration, Scorer, TemperatureScaling
from slova.export import OUTPUTS, ExportError, metadata
from slova.retrofit import OneVsAll


def images(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def convolution() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(288, 4)
    )


def run(path, **inputs) -> dict[str, np.ndarray]:
    if path.suffix == ".pt2":
        tensors = {name: torch.as_tensor(value) for name, value in inputs.items()}
        found = torch.export.load(path).module()(*tensors.values())
        return {name: value.detach().numpy() for name, value in zip(OUTPUTS, found, strict=True)}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip(OUTPUTS, session.run(None, inputs), strict=True))


def assert_like_predict(found, classifier: Classifier, inputs, *, within: float = 1e-5) -> None:
    wanted = classifier.predict(inputs)
    for name, value in zip(OUTPUTS, wanted, strict=False):
        np.testing.assert_allclose(found[name], value, rtol=0, atol=within, err_msg=name)


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_a_network_in_training_is_exported_as_it_predicts(suffix, tmp_path):
    classifier = Classifier(convolution().train(), Scorer(classes=4, calibrator=TemperatureScaling(0.5)), reject=0.3)
    parity = classifier.export(tmp_path / f"model{suffix}", images(20))
    assert parity.rows == 20
    assert classifier.network.training
    assert classifier.network[3].training
    found = run(tmp_path / f"model{suffix}", input=images(33, 1).numpy())
    assert_like_predict(found, classifier, images(33, 1))
    assert {NONE} < set(found["label"].tolist())


@pytest.mark.parametrize("wrapped", [lambda network: Ensemble([network, network]), OneVsAll])
def test_the_only_input_of_a_network_that_takes_any_is_called_input(wrapped, tmp_path):
    classifier = Classifier(wrapped(nn.Sequential(nn.Flatten(), nn.Linear(192, 4))).eval(), Scorer(classes=4))
    classifier.export(tmp_path / "model.onnx", images(5))
    assert_like_predict(run(tmp_path / "model.onnx", input=images(9, 1).numpy()), classifier, images(9, 1))


def test_several_inputs_of_a_network_that_takes_any_are_counted(tmp_path):
    class Sum(nn.Module):
        def forward(self, *inputs):
            return sum(inputs)

    left, right = torch.randn(2, 6, 4)
    classifier = Classifier(Ensemble([Sum()]), Scorer(classes=4))
    classifier.export(tmp_path / "model.onnx", (left, right))
    found = run(tmp_path / "model.onnx", input_0=left.numpy(), input_1=right.numpy())
    assert_like_predict(found, classifier, (left, right))


def test_after_a_fit_no_inputs_are_needed(tmp_path):
    rows = images(90).sigmoid()
    classifier = Classifier.fit(convolution(), (rows, torch.arange(90) % 4), names=list("abcd"), rescale=True)
    assert [part.shape for part in classifier.example[0]] == [(0, 3, 8, 8)]
    classifier.export(tmp_path / "model.onnx", reject=0.2)
    found = metadata(tmp_path / "model.onnx")
    assert (found.names, found.reject, sum(found.validation.counts)) == (("a", "b", "c", "d"), 0.2, 90)
    answers = classifier.predict(rows, reject=0.2)
    table = np.array([*"abcd", NONE], dtype=object)
    assert (table[run(tmp_path / "model.onnx", input=rows.numpy())["label"]] == answers.label).all()


def test_a_network_that_begins_with_a_linear_layer_needs_none_either(tmp_path):
    classifier = Classifier(nn.Sequential(nn.Linear(6, 3)), Scorer(classes=3))
    classifier.export(tmp_path / "model.onnx")
    rows = torch.randn(5, 6)
    assert_like_predict(run(tmp_path / "model.onnx", input=rows.numpy()), classifier, rows)


class Two(nn.Module):
    """Takes two inputs and gives a dict, as language models do."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(9, 8), nn.Linear(8, 3)

    def forward(self, words: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"logits": self.output((self.embedding(words) * mask[..., None]).mean(1))}


def test_inputs_by_name_keep_their_names(tmp_path):
    torch.manual_seed(0)
    classifier = Classifier(Two(), Scorer(classes=3, calibrator=TemperatureScaling(0.3)))
    named = {"mask": torch.rand(12, 5).round(), "words": torch.randint(0, 9, (12, 5))}
    classifier.export(tmp_path / "model.onnx", named)
    rows = {"words": torch.randint(0, 9, (4, 5)), "mask": torch.rand(4, 5).round()}
    found = run(tmp_path / "model.onnx", **{name: value.numpy() for name, value in rows.items()})
    assert_like_predict(found, classifier, rows)
    classifier.export(tmp_path / "model.pt2", TensorDataset(*rows.values(), torch.zeros(4)))  # labels are left out
    assert_like_predict(run(tmp_path / "model.pt2", **rows), classifier, rows)


def test_a_loaded_classifier_exports_the_same_graph(tmp_path):
    torch.manual_seed(0)
    words, mask, labels = torch.randint(0, 9, (90, 5)), torch.rand(90, 5).round(), torch.arange(90) % 3
    fitted = Classifier.fit(Two(), (words, mask, labels), rescale=True)
    fitted.save(tmp_path / "model.slova")
    fitted.export(tmp_path / "fitted.onnx")
    Classifier.load(tmp_path / "model.slova", Two()).export(tmp_path / "loaded.onnx")
    inputs = [[(one.name, one.shape, one.type) for one in onnxruntime.InferenceSession(tmp_path / name).get_inputs()]
              for name in ("fitted.onnx", "loaded.onnx")]  # fmt: skip
    assert inputs[0] == inputs[1]
    assert [name for name, *_ in inputs[1]] == ["words", "mask"]


class Late(nn.Module):
    """Answers in another way where a row begins with a large number, but not while it is traced."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            return rows * 1.0
        return torch.where(rows[:, :1] > 50, -rows, rows)


def test_all_rows_are_compared_and_not_only_the_first(tmp_path):
    rows = torch.randn(700, 3, generator=torch.Generator().manual_seed(0))
    classifier = Classifier(Late(), Scorer(classes=3))
    loader = DataLoader(TensorDataset(rows, torch.zeros(700)), batch_size=90)
    for suffix, inputs in ((".onnx", rows.numpy()), (".pt2", iter(loader))):
        assert classifier.export(tmp_path / f"model{suffix}", inputs).rows == 700
        (tmp_path / f"model{suffix}").unlink()
    rows[650, 0] = 99.0
    for suffix, inputs in ((".onnx", loader), (".pt2", rows)):
        with pytest.raises(ExportError, match=r"rows from row \d+ on, such as row 650, "):
            classifier.export(tmp_path / f"model{suffix}", inputs)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_different_shapes_are_refused(tmp_path):
    torch.manual_seed(0)
    batches = [{"words": torch.zeros(4, size, dtype=torch.int64), "mask": torch.ones(4, size)} for size in (5, 7)]
    classifier = Classifier(Two(), Scorer(classes=3))
    with pytest.raises(ExportError, match=r"rows of one shape, got {'words': \(5,\), 'mask': \(5,\)} and then"):
        classifier.export(tmp_path / "model.pt2", batches)
    assert list(tmp_path.iterdir()) == []
    turned = dict(reversed(batches[0].items()))
    assert classifier.export(tmp_path / "model.pt2", [batches[0], turned]).rows == 8


def test_the_weights_of_a_torch_program_want_no_gradients_and_those_of_the_network_still_do(tmp_path):
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 4))
    Classifier(network, Scorer(classes=4)).export(tmp_path / "model.pt2", images(8))
    module = torch.export.load(tmp_path / "model.pt2").module()
    assert [weight.requires_grad for weight in module.parameters()] == [False] * 2
    assert not module(images(2))[1].requires_grad
    assert all(weight.requires_grad for weight in network.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_precisions_keep_their_stated_bound(dtype, tmp_path):
    # there is no convolution in float64
    layers = convolution() if dtype == torch.float16 else nn.Sequential(nn.Flatten(), nn.Linear(192, 4))
    classifier = Classifier(layers.to(dtype), Scorer(classes=4, calibrator=TemperatureScaling(0.5)))
    parity = classifier.export(tmp_path / "model.onnx", images(64).to(dtype))
    assert parity.tolerance == (1e-2 if dtype == torch.float16 else 1e-5)
    found = run(tmp_path / "model.onnx", input=images(50, 1).to(dtype).numpy())
    assert found["confidence"].dtype == np.float32
    assert_like_predict(found, classifier, images(50, 1).to(dtype), within=parity.tolerance)


@pytest.mark.slow
def test_half_precision_holds_for_ten_thousand_classes(tmp_path):
    torch.manual_seed(0)
    layer = nn.Linear(32, 10_000)
    with torch.no_grad():
        layer.weight.mul_(25).clamp_(-3, 3)
        layer.bias.fill_(-16)
    classifier = Classifier(
        layer.half(), Scorer(classes=10_000, calibrator=ExponentialCalibration([0.5, 3.0], [0.6, 0.3]))
    )
    rows = 0.1 * layer.weight[torch.arange(0, 10_000, 250)].detach()  # each is the row of one class
    parity = classifier.export(tmp_path / "model.onnx", rows)
    found = run(tmp_path / "model.onnx", input=rows.numpy())
    assert found["confidence"].max() > 0.3
    assert_like_predict(found, classifier, rows, within=parity.tolerance)


class Branches(nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows if rows.sum() > 0 else -rows


class Remembers(nn.Module):
    """Bakes the size of the batch into its program."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.reshape(16, 3) * 1.0


class Random(nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows + torch.rand_like(rows)


@pytest.mark.parametrize(
    ("network", "error"),
    [
        (Branches(), "torch.export cannot trace the network"),
        (Remembers(), "torch.export cannot trace the network"),
        (Random(), "disagrees with the original"),
        (nn.Flatten(0), r"must have shape \(\.\.\., 3\), got \(48,\)"),
        (nn.Linear(3, 4), r"must have shape \(\.\.\., 3\), got \(16, 4\)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_a_network_that_cannot_be_exported_is_an_error_without_a_file(network, error, tmp_path):
    with pytest.raises(ValueError, match=error) as failed:
        Classifier(network, Scorer(classes=3)).export(tmp_path / "model.onnx", torch.randn(16, 3))
    assert "\n" not in str(failed.value)
    assert list(tmp_path.iterdir()) == []


def test_what_the_network_takes_must_be_known(tmp_path):
    with pytest.raises(ExportError, match="pass a few rows, as for predict"):
        Classifier(convolution(), Scorer(classes=4)).export(tmp_path / "model.onnx")
    with pytest.raises(ExportError, match="there are no inputs"):
        Classifier(convolution(), Scorer(classes=4)).export(tmp_path / "model.onnx", [])
