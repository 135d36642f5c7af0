"""Without the logits: the loss, its gradients and the answers are those of the dense form, in a fraction of the
memory."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.autograd import grad, gradcheck

from slova import AffineCalibration, ExponentialCalibration, Scorer, extreme, ova_loss
from slova.calibration import BetaCalibration, TemperatureScaling
from slova.extreme import chunks
from slova.heads import NONE, SLOVA, SOFTMAX
from slova.metrics import ece

MAP = ExponentialCalibration([0.2, 3.0], [0.6, 0.3])
SCORER = Scorer(
    classes=83,
    before=AffineCalibration(0.7, -0.3),
    calibrator=MAP,
    none_calibrator=ExponentialCalibration([0.5], [1.0]),
)
SCORERS = {
    "calibrated none": SCORER,
    "evidence of none": Scorer(classes=83, calibrator=MAP),
    "raw": Scorer(classes=83),
    "a little confidence": Scorer(classes=83, calibrator=ExponentialCalibration([0.2], [0.002])),
}


def layer_of(*batch, classes=83, width=7, dtype=torch.float64):
    """Features, matrix, bias and labels, NONE among them."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((*batch, width), (classes, width), (classes,))
    features, matrix, bias = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    labels = torch.randint(NONE, classes, batch, generator=generator)
    return features.to(dtype), matrix.to(dtype), (bias - 3).to(dtype), labels


def assert_same(found, wanted):
    for left, right in zip((*found, found.top), (*wanted, wanted.top), strict=True):
        torch.testing.assert_close(left, right, equal_nan=True, atol=1e-6, rtol=1e-5)


@pytest.fixture(params=[1, 16, 82, 83, 1000], ids=lambda width: f"{width}-at-a-time")
def width(request, monkeypatch):
    monkeypatch.setattr(chunks, "_width", lambda rows, device: request.param)


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(chunks, "_width", lambda rows, device: 16)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_gradients_are_the_dense_ones(reduction, dtype, close, weighted):
    features, matrix, bias, labels = layer_of(40, dtype=dtype)
    weight = torch.rand(40, dtype=dtype) if weighted else None
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    exact = [part.detach().double().requires_grad_() for part in parts]
    ours = extreme.ova_loss(features, matrix, labels, bias=bias, weight=weight, reduction=reduction)
    dense = ova_loss(exact[0] @ exact[1].T + exact[2], labels, weight=weight, reduction=reduction)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours.double(), dense, rtol=close, atol=0)
    for found, wanted in zip(grad(ours.square().sum(), parts), grad(dense.square().sum(), exact), strict=True):
        assert (found - wanted).norm() <= close * wanted.norm()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_derivatives_are_right_those_of_the_weights_too(reduction):
    features, matrix, bias, labels = layer_of(5, classes=20, width=3)
    weight = torch.rand(5, dtype=torch.float64)

    def loss(features, matrix, bias, weight):
        return extreme.ova_loss(features, matrix, labels, bias=bias, weight=weight, reduction=reduction)

    parts = [part.requires_grad_() for part in (features, matrix, bias, weight)]
    assert gradcheck(loss, parts)
    assert gradcheck(lambda *some: loss(*some, weight.detach()), parts[:3])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("batch", [(), (0,), (3,), (2, 3)])
def test_any_batch_shape_with_and_without_bias(batch):
    features, matrix, bias, labels = layer_of(*batch)
    for offset in (bias, None):
        logits = features @ matrix.T + (0 if offset is None else offset)
        for reduction in ("none", "sum"):
            found = extreme.ova_loss(features, matrix, labels, bias=offset, reduction=reduction)
            torch.testing.assert_close(found, ova_loss(logits, labels, reduction=reduction))
        assert_same(extreme.predict(SCORER, features, matrix, bias=offset), SCORER.predict(logits))


def test_the_gradients_of_no_rows_are_zero_as_in_the_dense_form():
    features, matrix, bias, labels = layer_of(0)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    found = grad(extreme.ova_loss(features, matrix, labels, bias=bias), parts)
    for ours, dense in zip(found, grad(ova_loss(features @ matrix.T + bias, labels), parts), strict=True):
        assert torch.equal(ours, dense)
    assert not found[1].any()


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)])
def test_only_the_gradients_that_are_needed_are_computed(wanted):
    *parts, labels = layer_of(9)
    for number in wanted:
        parts[number].requires_grad_()
    extreme.ova_loss(*parts[:2], labels, bias=parts[2]).backward()
    assert [number for number, part in enumerate(parts) if part.grad is not None] == list(wanted)


def test_without_gradients_none_are_found(monkeypatch):
    features, matrix, bias, labels = layer_of(9)
    matrix.requires_grad_()
    monkeypatch.setattr(torch, "empty_like", lambda *_, **__: pytest.fail("room for a gradient"))
    with torch.no_grad():
        loss = extreme.ova_loss(features, matrix, labels, bias=bias)
    assert not loss.requires_grad


def test_a_second_backward_pass_gives_the_same_and_a_second_derivative_an_error():
    features, matrix, bias, labels = layer_of(9)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    loss = extreme.ova_loss(features, matrix, labels, bias=bias)
    first, second = grad(3 * loss, parts, retain_graph=True), grad(3 * loss, parts, retain_graph=True)
    for left, right in zip(first, second, strict=True):
        torch.testing.assert_close(left, right)
    with pytest.raises(NotImplementedError, match="no second derivatives"):
        grad(loss, features, create_graph=True)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("autocast", [False, True])
def test_half_precision_and_autocast_are_added_up_in_float32(dtype, autocast):
    features, matrix, bias, labels = layer_of(40, dtype=dtype)
    exact = [part.double().requires_grad_() for part in (features, matrix, bias)]
    dense = ova_loss(exact[0] @ exact[1].T + exact[2], labels)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        ours = extreme.ova_loss(features, matrix, labels, bias=bias)
        answer = extreme.top(features, matrix, bias=bias)
    assert ours.dtype == answer.log_none.dtype == torch.float32
    assert ours.item() == pytest.approx(dense.item(), rel=1e-5)
    for found, wanted in zip(grad(ours, parts), grad(dense, exact), strict=True):
        assert found.dtype == dtype
        assert (found - wanted).norm() <= max(1e-5, 4 * torch.finfo(dtype).eps) * wanted.norm()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_labels_can_be_any_integers(dtype, monkeypatch):
    monkeypatch.setattr(chunks, "_width", lambda rows, device: 50)
    features, matrix, bias, labels = layer_of(30)
    found = extreme.ova_loss(features, matrix, labels.clamp(min=0).to(dtype), bias=bias)
    assert found == extreme.ova_loss(features, matrix, labels.clamp(min=0), bias=bias)


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_answers_are_those_of_the_dense_form(dtype):
    features, matrix, bias, _ = layer_of(60, dtype=dtype)
    logits = features @ matrix.T + bias
    for found, wanted in zip(extreme.top(features, matrix, bias=bias), SLOVA.top(logits), strict=True):
        torch.testing.assert_close(found, wanted)
    for scorer in SCORERS.values():
        answers = extreme.predict(scorer, features, matrix, bias=bias, reject=0.1)
        assert_same(answers, scorer.predict(logits, reject=0.1))


@pytest.mark.usefixtures("narrow")
def test_extreme_logits_ties_and_nan_answer_as_they_do_in_the_dense_form():
    inf, nan = float("inf"), float("nan")
    rows = torch.zeros(9, 40)
    rows[1], rows[2], rows[3], rows[4, [3, 30]], rows[5, 30] = 1e4, -1e4, -inf, inf, inf
    rows[6, 3], rows[7, 20:], rows[8] = nan, nan, nan
    for row in rows:  # the bias is the row of logits
        parts = (torch.ones(1, 1), torch.zeros(40, 1))
        for found, wanted in zip(extreme.top(*parts, bias=row), SLOVA.top(row[None]), strict=True):
            torch.testing.assert_close(found, wanted, equal_nan=True)
        scorer = Scorer(classes=40)
        assert_same(extreme.predict(scorer, *parts, bias=row), scorer.predict(row[None]))


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_scores_are_those_of_a_prediction_and_add_up(kind, dtype, scorer):
    logits = kind(np.random.default_rng(0).normal(-2, 3, (4, 50, 83)).astype(dtype))
    found, wanted = extreme.score(scorer, logits, reject=0.2), scorer.predict(logits, reject=0.2)
    for ours, dense in zip((*found, found.top), (*wanted, wanted.top), strict=True):
        assert type(ours) is type(dense)
        np.testing.assert_allclose(ours, dense, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.confidence + found.none + found.ambiguous, 1, atol=1e-6)


def test_a_scorer_that_needs_the_whole_row_is_refused():
    features, matrix, bias, _ = layer_of(4)
    whole = [Scorer(classes=83, head=SOFTMAX), Scorer(classes=83, calibrator=TemperatureScaling(1.5))]
    for scorer in whole:
        with pytest.raises(ValueError, match="SLOVA head and an elementwise calibrator"):
            extreme.predict(scorer, features, matrix, bias=bias)
    with pytest.raises(ValueError, match="has 5 classes, the matrix has 83"):
        extreme.predict(Scorer(classes=5), features, matrix, bias=bias)
    with pytest.raises(ValueError, match="has 5 classes, the matrix has 3"):
        extreme.score(Scorer(classes=5), np.zeros((2, 3)))
    beta = Scorer(classes=83, calibrator=BetaCalibration.fit(np.log([[0.2], [0.5], [0.9]]), np.array([-1, 0, 0])))
    assert extreme.predict(beta, features, matrix, bias=bias).confidence.shape == (4,)


def test_a_fit_is_that_of_the_top_classes():
    features, matrix, bias, _ = layer_of(3000, dtype=torch.float32)
    logits = features @ matrix.T + bias
    chance = torch.cat([logits, torch.full((3000, 1), 3.0)], 1).softmax(1)  # the last one: none
    labels = torch.multinomial(chance, 1, generator=torch.Generator().manual_seed(0))[:, 0]
    labels = torch.where(labels == 83, NONE, labels)
    scorer = extreme.fit(features, matrix, labels, bias=bias)
    log_probs = SLOVA.top(logits).log_confidence.numpy()[:, None]
    hits = np.where(SLOVA.top(logits).label == labels, 0, NONE)
    wanted = ExponentialCalibration.fit(log_probs, hits, at_most_one=True)
    np.testing.assert_allclose(scorer.calibrator(log_probs), wanted(log_probs), rtol=1e-4)
    answers = extreme.predict(scorer, features, matrix, bias=bias)
    raw = extreme.predict(Scorer(classes=83), features, matrix, bias=bias)
    error, before = (ece(one.confidence.numpy()[:, None], hits) for one in (answers, raw))
    assert error < 0.03 < 0.1 < before
    assert abs(float(answers.none.mean()) - float((labels == NONE).float().mean())) < 0.01
    assert scorer.threshold(coverage=0.5) == pytest.approx(float(answers.confidence.median()), abs=0.01)
    assert extreme.fit(features, matrix, labels, bias=bias, calibration=None).calibrator is None
    with pytest.raises(ValueError, match="calibration must act on single probabilities"):
        extreme.fit(features, matrix, labels, bias=bias, calibration="posterior")
    with pytest.raises(ValueError, match="labels must lie in"):
        extreme.fit(features, matrix, labels + 1, bias=bias)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"features": np.zeros((4, 7))}, TypeError, "features must be a floating point tensor, got float64"),
        ({"matrix": torch.zeros(83, 7, dtype=torch.int64)}, TypeError, "matrix must be a floating point tensor"),
        ({"bias": [0.0]}, TypeError, "bias must be a floating point tensor, got list"),
        ({"matrix": torch.zeros(7)}, ValueError, r"the matrix must be \(classes, features\).*got \(7,\)"),
        ({"matrix": torch.zeros(0, 7)}, ValueError, r"at least one of each, got \(0, 7\)"),
        ({"features": torch.zeros(4, 6)}, ValueError, r"features \(4, 6\) do not match the matrix \(83, 7\)"),
        ({"bias": torch.zeros(82)}, ValueError, r"the bias \(82,\) does not match the matrix \(83, 7\)"),
        ({"labels": torch.zeros(3, dtype=torch.int64)}, ValueError, r"labels \(3,\) do not match logits \(4, 83\)"),
        ({"labels": torch.zeros(4)}, TypeError, "labels must be integers"),
        ({"labels": torch.tensor([0, 1, 83, -1])}, ValueError, r"labels must lie in \[-1, 83\), got .* from -1 to 83"),
        ({"weight": torch.ones(3)}, ValueError, r"weight \(3,\) does not match the rows \(4,\)"),
        ({"reduction": "max"}, ValueError, "reduction must be 'mean', 'sum' or 'none', got 'max'"),
    ],
)
def test_errors_name_what_was_given_and_what_is_expected(change, error, message):
    features, matrix, bias, labels = layer_of(4)
    given = {"features": features, "matrix": matrix, "labels": labels, "bias": bias} | change
    with pytest.raises(error, match=message):
        extreme.ova_loss(**given)


MEMORY = """
import torch
from slova import extreme

def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024

rows, classes, width = 2048, 100_000, 32
features = torch.empty(rows, width).normal_().requires_grad_()
matrix = torch.empty(classes, width).normal_(0, 0.1).requires_grad_()
labels = torch.randint(0, classes, (rows,))
small = torch.zeros(4, width, requires_grad=True)
extreme.ova_loss(small, matrix[:300].detach().requires_grad_(), labels[:4] % 300).backward()
before = peak()
extreme.ova_loss(features, matrix, labels).backward()
extreme.top(features, matrix)
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
def test_the_logits_are_never_all_in_memory():
    done = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True)
    gradients, logits = 4 * 32 * (2048 + 100_000), 4 * 2048 * 100_000
    assert gradients / 2 < int(done.stdout) < gradients + logits / 10
