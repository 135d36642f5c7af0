"""A scorer answers on a GPU in one kernel like the numpy path: on a GPU, or on a CPU under TRITON_INTERPRET=1."""

import importlib.util
import os

import numpy as np
import pytest
import torch

from slova import NONE, AffineCalibration, ExponentialCalibration, Scorer, TemperatureScaling, _outcomes
from slova._backend import NUMPY
from slova.calibration import BetaCalibration, PosteriorCalibration
from slova.extreme import scoring
from slova.heads import OVA, PROBABILITIES, SLOVA, SOFTMAX

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed"),
    pytest.mark.skipif(
        not INTERPRETED and not torch.cuda.is_available(), reason="no GPU; TRITON_INTERPRET=1 runs the kernels on a CPU"
    ),
    # numpy, behind the interpreter, warns of branches that are not taken
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available() or INTERPRETED, reason="no GPU")

CLASSES = [2, 10, 100, 1000, 4097]
INF = float("inf")


def rows_of(classes, rows=40, seed=0):
    """Rows like a network's, and after them those that go wrong most easily."""
    generator = np.random.default_rng(seed)
    logits = 3 * generator.normal(size=(rows, classes)) - np.log(classes)
    logits[np.arange(rows), generator.integers(0, classes, rows)] += 8
    odd = np.zeros((9, classes))
    odd[1], odd[2], odd[3], odd[4, 0], odd[5, -1] = 1e4, -1e4, -INF, -INF, INF
    odd[6], odd[7, classes // 2], odd[8] = np.linspace(-60, 60, classes), np.nan, np.nan
    return np.vstack([logits, odd]).astype(np.float32)


def posterior(classes, part="classes", *, distances=0, none=False, scale=1.0, smoothing=1e-3):
    """A calibrator by hand with numbers of the size of a fit's."""
    generator = np.random.default_rng(1)
    numbers = [0.2 * generator.normal(size=classes) * (part != "shared") for _ in range(3)]
    pairs = 0.05 * generator.normal(size=(classes, classes)) if part == "pairs" else None
    return PosteriorCalibration(
        [0.7, *[0.1] * distances],
        [0.4, *[0.05] * distances],
        *numbers,
        pairs,
        scale,
        smoothing,
        0.6,
        [2.0] * distances if distances else None,
        [-1.0, 0.3, 0.4, *[0.2] * distances] if none else None,
        0.1 if none else None,
        none_negative=0.5 if none else 0.0,
    )


def assert_same_answers(found, wanted, logits):
    """All five to 1e-5; the label of a row whose confidence is NaN is NONE. The top class of such a row may be any, and
    any of the largest logits where several are equal."""
    label, confidence, none, ambiguous, top = (np.asarray(part.cpu()) for part in found)
    np.testing.assert_allclose(confidence, wanted.confidence, atol=1e-5)
    np.testing.assert_allclose(none, wanted.none, atol=1e-5)
    np.testing.assert_allclose(ambiguous, wanted.ambiguous, atol=1e-5)
    known = ~np.isnan(wanted.confidence)
    clear = known & ((logits == logits.max(axis=1, keepdims=True)).sum(axis=1) == 1)
    np.testing.assert_array_equal(top[clear], wanted.top[clear])
    np.testing.assert_array_equal(label == NONE, wanted.label == NONE)
    np.testing.assert_array_equal(label[label != NONE], top[label != NONE])
    assert (label[~known] == NONE).all()


def check(scorer, logits, distances=None, reject=0.3):
    """The kernel against the numpy path in float64."""
    rows = torch.as_tensor(logits, device=DEVICE)
    given = None if distances is None else torch.as_tensor(distances, device=DEVICE)
    found = scoring._answers(scorer, rows, reject, given)
    assert found is not None, "no kernel"
    exact = rows.double().cpu().numpy()
    assert_same_answers(found, scorer.predict(exact, distances=distances, reject=reject), exact)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("head", [SLOVA, SOFTMAX], ids=lambda head: head.name)
@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
def test_the_default_calibrator_answers_in_one_kernel(classes, head, none):
    for part, smoothing in (("shared", 0.0), ("classes", 1e-3)):
        calibrator = posterior(classes, part, none=none, smoothing=smoothing)
        check(Scorer(classes=classes, head=head, calibrator=calibrator), rows_of(classes))


@pytest.mark.parametrize("classes", [2, 10, 50])
@pytest.mark.parametrize("head", [SLOVA, SOFTMAX], ids=lambda head: head.name)
def test_so_it_does_with_pairs_of_classes(classes, head):
    check(Scorer(classes=classes, head=head, calibrator=posterior(classes, "pairs")), rows_of(classes))


@pytest.mark.parametrize("classes", [10, 4097])
@pytest.mark.parametrize("head", [SLOVA, SOFTMAX], ids=lambda head: head.name)
def test_so_it_does_with_distances_and_a_scale(classes, head):
    logits = rows_of(classes)
    distances = np.random.default_rng(0).gamma(2, 1, (len(logits), 2)).astype(np.float32)
    for none in (False, True):
        calibrator = posterior(classes, distances=2, none=none, scale=0.3)
        check(Scorer(classes=classes, head=head, calibrator=calibrator), logits, distances)


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("head", [SLOVA, SOFTMAX], ids=lambda head: head.name)
def test_temperature_and_calibrators_of_the_top_class_answer_in_a_kernel(classes, head):
    logits = rows_of(classes)
    for calibrator in (TemperatureScaling(1.7), BetaCalibration(0.8, 0.5, 0.1), None):
        check(Scorer(classes=classes, head=head, calibrator=calibrator), logits)


def test_probabilities_are_logits_when_the_kernel_gets_them():
    log_probs = SOFTMAX.log_probs(rows_of(10)[:-2], NUMPY)
    scorer = Scorer(classes=10, head=PROBABILITIES, calibrator=posterior(10))
    found = scoring._answers(scorer, torch.as_tensor(log_probs, device=DEVICE), 0.0, None)
    assert_same_answers(found, scorer.predict(np.exp(log_probs.astype(np.float64))), log_probs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision_and_an_affine_calibrator_are_read_in_the_kernel(dtype):
    logits = torch.as_tensor(rows_of(100)).clamp(-6e4, 6e4).to(dtype)
    for calibrator in (posterior(100), TemperatureScaling(0.6), ExponentialCalibration([0.4], [0.9])):
        check(Scorer(classes=100, before=AffineCalibration(0.7, -0.5), calibrator=calibrator), logits)


def test_other_heads_and_calibrators_take_the_torch_path():
    rows = torch.as_tensor(rows_of(100), device=DEVICE)
    for scorer in (
        Scorer(classes=100, head=OVA, calibrator=TemperatureScaling(2.0)),
        Scorer(classes=100, calibrator=posterior(100, "pairs")),
        Scorer(classes=100, calibrator=posterior(100), none_calibrator=ExponentialCalibration([0.4], [0.9])),
    ):
        assert scoring._answers(scorer, rows, 0.0, None) is None


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("classes", CLASSES)
def test_predict_on_a_gpu_gives_the_answers_of_the_cpu(classes, dtype):
    logits = torch.as_tensor(rows_of(classes)).clamp(-6e4, 6e4).to(dtype)
    for head in (SLOVA, SOFTMAX, OVA):
        for calibrator in (posterior(classes), TemperatureScaling(2.0), ExponentialCalibration([0.4], [0.9])):
            scorer = Scorer(classes=classes, head=head, calibrator=calibrator)
            found = scorer.predict(logits.cuda().reshape(-1, 7, classes), reject=0.3)
            assert found.confidence.shape == (7, 7)
            assert found.confidence.is_cuda
            exact = logits.double().numpy()
            flat = [part.reshape(-1) for part in (*found, found.top)]
            assert_same_answers(flat, scorer.predict(exact, reject=0.3), exact)


@on_gpu
@pytest.mark.parametrize("head", [SLOVA, SOFTMAX], ids=lambda head: head.name)
def test_predict_on_a_gpu_runs_the_kernel_and_never_waits(head, monkeypatch, without_waiting):
    logits = torch.randn(1000, 10, device="cuda")
    distances = torch.rand(1000, 2, device="cuda")
    calibrators = [posterior(10), posterior(10, "pairs", none=True), TemperatureScaling(2.0), None]
    scorers = [Scorer(classes=10, head=head, calibrator=one) for one in calibrators]
    far = Scorer(classes=10, head=head, calibrator=posterior(10, distances=2))
    wanted = [one.predict(logits) for one in scorers] + [far.predict(logits, distances=distances)]  # compiles, sends
    monkeypatch.setattr(_outcomes, "_outcome", None)
    with without_waiting():
        found = [one.predict(logits) for one in scorers] + [far.predict(logits, distances=distances)]
    for ours, right in zip(found, wanted, strict=True):
        assert torch.equal(ours.confidence, right.confidence)


@on_gpu
def test_on_a_gpu_gradients_take_the_torch_path():
    logits = torch.randn(20, 10, device="cuda", requires_grad=True)
    Scorer(classes=10, calibrator=posterior(10)).predict(logits).confidence.sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0


@on_gpu
def test_a_threshold_per_row_is_applied():
    logits = torch.randn(1000, 10, device="cuda")
    scorer = Scorer(classes=10, calibrator=posterior(10))
    reject = torch.rand(1000, device="cuda")
    found = scorer.predict(logits, reject=reject)
    assert torch.equal(found.label == NONE, found.confidence < reject)


@on_gpu
def test_without_triton_the_answers_are_the_same(monkeypatch):
    logits, scorer = torch.randn(1000, 10, device="cuda"), Scorer(classes=10, calibrator=posterior(10))
    fused = scorer.predict(logits)
    monkeypatch.setattr(scoring, "TRITON", False)
    plain = scorer.predict(logits)
    torch.testing.assert_close(fused.confidence, plain.confidence, rtol=0, atol=1e-5)
    assert torch.equal(fused.label, plain.label)
