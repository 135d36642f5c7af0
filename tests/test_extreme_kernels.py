"""The kernels give the results of the plain torch forms: on a GPU, or on a CPU under TRITON_INTERPRET=1."""

import importlib.util
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from slova import AffineCalibration, ExponentialCalibration, Scorer, extreme, ova_loss
from slova.extreme import chunks, kernels, losses, readout, scoring
from slova.extreme.kernels import Tile, tile_for
from slova.heads import NONE, SLOVA
from slova.prediction import Prediction

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

CLASSES = [1, 2, 3, 10, 16, 17, 31, 64, 100, 101, 120, 121, 128, 257, 1000]
INF = float("inf")
MAP = ExponentialCalibration([0.05, 0.7, 40.0], [0.3, 0.5, 0.1])


def rows_of(classes, rows=37, seed=0):
    """Rows like a network's, and after them those that go wrong most easily."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, classes, generator=generator) - np.log(classes)
    logits[torch.arange(rows), torch.randint(0, classes, (rows,), generator=generator)] += 8
    odd = torch.zeros(9, classes)
    odd[1], odd[2], odd[3], odd[4, :2], odd[5, 0] = 1e4, -1e4, -INF, INF, -INF
    odd[6, -1], odd[7, classes // 2], odd[8] = INF, float("nan"), float("nan")
    return torch.cat([logits, odd]).to(DEVICE)


def assert_same(found, wanted, rtol=1e-5, atol=1e-6):
    torch.testing.assert_close(found.cpu(), wanted.cpu(), rtol=rtol, atol=atol, equal_nan=True)


def assert_answers(found, wanted):
    """All five; the top class of a row with NaN may be any."""
    for ours, right in zip(found, wanted, strict=True):
        assert_same(ours, right)
    known = ~wanted.confidence.isnan()
    assert torch.equal(found.top.cpu()[known], wanted.top[known])


def tiles(classes):
    return {tile_for(classes), Tile(32, 1, 1), Tile(16, 4, 2), Tile(2, 128, 2), Tile(1, 64, 1)}


@pytest.mark.parametrize("classes", CLASSES)
def test_every_tile_gives_the_answers_of_the_vectorised_path(classes):
    logits = rows_of(classes)
    wanted, no_map = extreme.score(Scorer(classes=classes), logits.cpu()), torch.empty(2, 0, device=DEVICE)
    for tile in tiles(classes):
        assert_answers(Prediction(*kernels.score_rows(logits, (no_map, no_map), (1.0, 0.0), 0.0, tile)), wanted)


@pytest.mark.parametrize("classes", [10, 100, 257])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_maps_and_thresholds_are_applied_in_the_kernel(classes, dtype):
    logits = rows_of(classes).clamp(-6e4, 6e4).to(dtype)
    scorer = Scorer(classes=classes, before=AffineCalibration(0.7, -0.5), calibrator=MAP)
    for none_calibrator in (ExponentialCalibration([0.4], [0.9]), None):
        for reject in (0.0, 0.3):
            both = replace(scorer, none_calibrator=none_calibrator)
            wanted = extreme.score(both, logits.cpu(), reject=reject)
            assert_answers(Prediction(*scoring._exponential(both, logits, reject)), wanted)
            assert (wanted.label == NONE).any()


@pytest.mark.parametrize("classes", [2, 100, 1000, 5000])
def test_top_and_rest_are_those_of_a_row(classes):
    logits = rows_of(classes)[:-2]  # without NaN
    top, index, rest = kernels.top_and_rest(logits)
    wanted = SLOVA.top(logits.cpu().double())
    assert torch.equal(index.cpu(), wanted.label)
    assert_same(-rest.double() - torch.nn.functional.softplus(-top.double()), wanted.log_confidence, atol=1e-7)
    assert_same(-rest.double() - torch.nn.functional.softplus(top.double()), wanted.log_none, atol=1e-7)


@pytest.mark.parametrize("classes", [1, 5, 4096, 5000])
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.bfloat16])
def test_the_loss_and_its_slope_are_those_of_plain_torch(classes, dtype):
    logits = rows_of(classes)[:-6]
    labels = torch.randint(-3, classes + 3, (len(logits),), device=DEVICE)  # some belong to other chunks
    wanted = losses._loss_and_slope(logits.cpu().clone(), labels.cpu(), dtype)
    slope = None if dtype is None else torch.empty_like(logits, dtype=dtype)
    assert_same(kernels.loss_and_slope(logits, labels, slope), wanted[0].double(), atol=1e-6)
    if slope is not None:
        assert_same(slope.float(), wanted[1].float(), rtol=1e-5 if dtype == torch.float32 else 1e-2)


def test_the_loss_through_the_kernels_is_the_dense_one(monkeypatch):
    monkeypatch.setattr(losses, "fused", lambda logits: True)
    monkeypatch.setattr(readout, "fused", lambda logits: True)
    monkeypatch.setattr(chunks, "_width", lambda rows, device: 64)
    features, matrix, bias, labels = layer_of(20, 150, 8)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    ours, dense = extreme.ova_loss(features, matrix, labels, bias=bias), ova_loss(features @ matrix.T + bias, labels)
    assert_same(ours, dense)
    for found, wanted in zip(torch.autograd.grad(ours, parts), torch.autograd.grad(dense, parts), strict=True):
        assert_same(found, wanted)
    scorer, logits = Scorer(classes=150, calibrator=MAP), (features @ matrix.T + bias).detach()
    assert_answers(extreme.predict(scorer, features, matrix, bias=bias), scorer.predict(logits.cpu()))


def layer_of(rows, classes, width):
    generator = torch.Generator().manual_seed(0)
    features, matrix = (torch.randn(n, width, generator=generator).to(DEVICE) for n in (rows, classes))
    labels = torch.randint(NONE, classes, (rows,), generator=generator).to(DEVICE)
    return features, matrix / width**0.5, torch.full((classes,), -np.log(classes), device=DEVICE), labels


@on_gpu
@pytest.mark.parametrize("classes", [1000, 70_000])
def test_on_a_gpu_the_loss_and_its_gradients_are_exact(classes):
    features, matrix, bias, labels = layer_of(512, classes, 128)
    exact = [part.double().requires_grad_() for part in (features, matrix, bias)]
    dense = ova_loss(exact[0] @ exact[1].T + exact[2], labels)
    wanted = torch.autograd.grad(dense, exact)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    ours = extreme.ova_loss(features, matrix, labels, bias=bias)
    assert ours.item() == pytest.approx(dense.item(), rel=1e-5)
    for found, right in zip(torch.autograd.grad(ours, parts), wanted, strict=True):
        assert (found - right).norm() <= 1e-5 * right.norm()


@on_gpu
@pytest.mark.parametrize("autocast", [False, True])
def test_on_a_gpu_bfloat16_is_added_up_in_float32(autocast):
    features, matrix, bias, labels = layer_of(512, 20_000, 128)
    features, matrix = features.bfloat16().float(), matrix.bfloat16().float()
    exact = [part.double().requires_grad_() for part in (features, matrix, bias)]
    dense = ova_loss(exact[0] @ exact[1].T + exact[2], labels)
    wanted = torch.autograd.grad(dense, exact)
    half = (features, matrix) if autocast else (features.bfloat16(), matrix.bfloat16())
    parts = [part.detach().requires_grad_() for part in (*half, bias)]
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        ours = extreme.ova_loss(parts[0], parts[1], labels, bias=parts[2])
    assert ours.dtype == torch.float32
    assert ours.item() == pytest.approx(dense.item(), rel=1e-5)
    for found, right, part in zip(torch.autograd.grad(ours, parts), wanted, parts, strict=True):
        assert found.dtype == part.dtype
        assert (found - right).norm() <= 1e-2 * right.norm()


@on_gpu
def test_on_a_gpu_the_logits_are_never_all_there():
    features, matrix, bias, labels = layer_of(4096, 200_000, 64)
    parts = [part.requires_grad_() for part in (features, matrix, bias)]
    held = 2 * sum(part.numel() * 4 for part in parts)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    extreme.ova_loss(features, matrix, labels, bias=bias).backward()
    extreme.top(features, matrix, bias=bias)
    peak = torch.cuda.max_memory_allocated() - before + held / 2
    assert peak < held + 3 * 4 * chunks.ON_GPU
    assert peak < 4096 * 200_000 * 4 / 3


@on_gpu
@pytest.mark.parametrize("classes", [10, 1000])
def test_on_a_gpu_score_takes_the_kernel_and_gives_the_answers_of_the_cpu(classes):
    logits = rows_of(classes, rows=4000)
    scorer = Scorer(classes=classes, calibrator=MAP)
    found = extreme.score(scorer, logits.reshape(-1, 1, classes), reject=0.2)
    assert_answers(found[:, 0], extreme.score(scorer, logits.cpu(), reject=0.2))
