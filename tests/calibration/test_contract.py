"""What every calibration map keeps to; a map that joins CALIBRATORS without an example below fails here."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import artifact
from slova.calibration import (
    CALIBRATORS,
    AffineCalibration,
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    TemperatureScaling,
)
from slova.calibration.module import CalibratorModule
from slova.heads import NONE, log_slova

FITS = {
    "exponential": ExponentialCalibration.fit,
    "exponential, likelihood": lambda *rows: ExponentialCalibration.fit(*rows, loss="likelihood"),
    "exponential, at most one": lambda *rows: ExponentialCalibration.fit(*rows, which="top", at_most_one=True),
    "exponential, by hand": lambda *_: ExponentialCalibration([2e-9, 0.5, 1.0, 1.0, 4e8], [0.2, 0.1, 0.3, 0.2, 0.2]),
    "exponential, paper": lambda *rows: ExponentialCalibration.fit_paper(*rows, points=200),
    "temperature": TemperatureScaling.fit,
    "isotonic": IsotonicCalibration.fit,
    "isotonic, one knot": lambda *_: IsotonicCalibration([0.5], [0.3]),
    "isotonic, close knots": lambda *_: IsotonicCalibration([0.1, 0.5, 0.5 + 1e-12], [0.05, 0.2, 0.8]),
    "beta": BetaCalibration.fit,
    "beta, b = 0": lambda *_: BetaCalibration(0.7, 0.0, -0.3),
    "histogram": HistogramBinning.fit,
    "histogram, one bin": lambda *rows: HistogramBinning.fit(*rows, bins=1),
    "histogram, widths": lambda *rows: HistogramBinning.fit(*rows, binning="width", bins=10),
    "affine": AffineCalibration.fit,
}


def rows_of(seed=0, rows=400, classes=5):
    generator = np.random.default_rng(seed)
    labels = generator.integers(NONE, classes, rows)
    logits = generator.normal(-1, 2, (rows, classes))
    logits[np.arange(rows), labels] += np.where(labels == NONE, 0.0, 3.0)
    return log_slova(logits), labels


FITTED = {name: fit(*rows_of()) for name, fit in FITS.items()}
ENDS = np.array([[0.0, -np.inf, -1.0, -1e-9, -700.0], [-1.0, -2.0, -3.0, -4.0, -1e5]])


@pytest.fixture(params=FITTED)
def map(request):
    return FITTED[request.param]


def on_logits(map):
    return isinstance(map, AffineCalibration)


def test_every_map_has_an_example_here():
    assert {type(map).__name__ for map in FITTED.values()} == set(CALIBRATORS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_torch_and_the_module_are_one_function(map, dtype):
    seen = rows_of(1 if isinstance(map, IsotonicCalibration) else 0)[
        0
    ]  # on the steps of an isotonic map rounding shows
    for log_probs in (rows_of(1)[0], seen, ENDS):
        log_probs = log_probs.astype(dtype)
        ours, tensor = map(log_probs), torch.as_tensor(log_probs)
        theirs, module = map(tensor), CalibratorModule(map)(tensor)
        assert ours.dtype == theirs.numpy().dtype == module.numpy().dtype == dtype
        probs = np.exp(np.minimum(ours, 0))
        np.testing.assert_allclose(np.exp(np.minimum(theirs.numpy(), 0)), probs, atol=1e-6)
        np.testing.assert_allclose(np.exp(np.minimum(module.numpy(), 0)), probs, atol=1e-6)
        np.testing.assert_allclose(theirs.numpy(), ours, rtol=1e-3, atol=1e-6)


def test_float32_says_the_same_as_float64(map):
    """Away from the jumps of a histogram and the steps of an isotonic map."""
    log_probs = rows_of(0)[0]
    difference = np.abs(np.exp(map(log_probs.astype(np.float32))) - np.exp(map(log_probs)))
    assert np.all(difference <= 1e-5 * np.maximum(1, np.exp(map(log_probs)))) or not map.order_preserving
    assert np.mean(difference > 1e-4) < 0.01


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_map_keeps_the_shape(map, shape):
    log_probs = -np.random.default_rng(0).exponential(size=(*shape, 5))
    assert map(log_probs).shape == log_probs.shape
    assert map(torch.as_tensor(log_probs)).shape == log_probs.shape


def test_half_precision_comes_out_in_float32(map):
    log_probs = torch.as_tensor(rows_of()[0]).half()
    assert CalibratorModule(map)(log_probs).dtype == torch.float32
    assert torch.equal(map(log_probs), map(log_probs.float()))


@pytest.mark.parametrize("cast", ["half", "bfloat16", "float", "double"])
def test_casting_the_module_does_not_spoil_its_numbers(map, cast):
    log_probs = torch.as_tensor(rows_of(1)[0])
    cast_module = getattr(torch.nn.Sequential(CalibratorModule(map)), cast)()
    assert torch.equal(cast_module(log_probs), CalibratorModule(map)(log_probs))


def test_a_state_dict_carries_the_map(map, tmp_path):
    log_probs = torch.as_tensor(rows_of(1)[0])
    state = CalibratorModule(map).state_dict()
    assert state
    torch.save(state, tmp_path / "state.pt")
    other = CalibratorModule(map)
    for buffer in other.buffers():
        buffer.fill_(0.25)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert torch.equal(other(log_probs), CalibratorModule(map)(log_probs))


def test_copies_pickles_and_files_are_the_same_map(map, tmp_path):
    log_probs = rows_of(1)[0]
    tensors, meta = artifact.pack(map, "m")
    artifact.save(tmp_path / "map.slova", "map", tensors, {"m": meta})
    tensors, meta = artifact.load(tmp_path / "map.slova", "map")
    loaded = artifact.unpack(tensors, meta["m"], "m", CALIBRATORS)
    module = pickle.loads(pickle.dumps(CalibratorModule(map)))
    for same in (copy.copy(map), copy.deepcopy(map), pickle.loads(pickle.dumps(map)), loaded, module.value):
        assert type(same) is type(map)
        np.testing.assert_array_equal(same(log_probs), map(log_probs))
    assert getattr(loaded, "report", None) == getattr(map, "report", None)


def test_a_map_is_a_value_that_cannot_change_and_compares_without_an_error(map):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(map, dataclasses.fields(map)[0].name, 1.0)
    assert isinstance(map == copy.deepcopy(map), bool)
    assert isinstance(hash(map), int)


def test_nothing_becomes_more_than_certain(map):
    if not on_logits(map):
        for log_probs in (rows_of(1)[0], ENDS):
            assert map(log_probs).max() <= 0
            assert map(log_probs.astype(np.float32)).max() <= 0


def test_the_ends_zero_and_one_are_mapped_without_nan(map):
    assert not np.isnan(map(ENDS)).any()
    assert not np.isnan(map(ENDS.astype(np.float32))).any()
    if map.order_preserving and not on_logits(map):
        assert np.isneginf(map(ENDS)[0, 1])
    if isinstance(map, BetaCalibration) and map.b > 0:
        assert map(ENDS)[0, 0] == 0


def test_nan_stays_nan(map):
    rows = np.array([[np.nan, -1.0], [-1.0, -2.0]])
    for found in (map(rows), map(torch.as_tensor(rows)).numpy()):
        if not isinstance(map, IsotonicCalibration) or len(map.knots) > 1:
            assert np.isnan(found[0, 0])
        assert np.isfinite(found[1]).all()


@given(st.lists(st.floats(-600, -1e-6), min_size=2, max_size=6), st.sampled_from(list(FITTED)))
@settings(max_examples=200, deadline=None)
def test_the_order_is_kept_where_a_map_says_so(values, name):
    map = FITTED[name]
    log_probs = np.sort(np.array(values))
    found = map(log_probs)
    if map.order_preserving:
        assert np.all(np.diff(found) >= 0)
        if name not in ("exponential, by hand",):  # its flat stretches are flatter than a float
            clear = (np.diff(log_probs) > 1e-3 * np.abs(log_probs[1:])) & (found[1:] > -500) & (found[1:] < -1e-9)
            assert np.all(np.diff(found)[clear] > 0) or np.diff(np.exp(found))[clear].max() < 1e-9
    if map.elementwise:
        np.testing.assert_array_equal(found, [map(log_probs[[i]])[0] for i in range(len(log_probs))])


def test_gradients_flow_through_every_smooth_map(map):
    if not map.order_preserving:
        return
    log_probs = torch.tensor([[-1e-9, -0.3, -1.0, -40.0, -700.0]], dtype=torch.float32, requires_grad=True)
    map(log_probs).sum().backward()
    assert log_probs.grad.isfinite().all()
