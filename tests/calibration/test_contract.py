"""What every calibrator keeps to; one that joins CALIBRATORS without an example below fails here."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import artifact
from slova.calibration import (
    CALIBRATORS,
    BetaCalibration,
    Calibrator,
    ExponentialCalibration,
    IsotonicCalibration,
    TemperatureScaling,
    resolve,
)
from slova.calibration.module import CalibratorModule
from slova.heads import NONE, log_slova

BY_HAND = {
    "exponential, by hand": ExponentialCalibration([2e-9, 0.5, 1.0, 1.0, 4e8], [0.2, 0.1, 0.3, 0.2, 0.2]),
    "isotonic, one knot": IsotonicCalibration([0.5], [0.3]),
    "isotonic, close knots": IsotonicCalibration([0.1, 0.5, 0.5 + 1e-12], [0.05, 0.2, 0.8]),
    "beta, b = 0": BetaCalibration(0.7, 0.0, -0.3),
}
OPTIONS = {  # of the calibrators that have any
    "exponential, at most one": ("exponential", {"which": "top", "at_most_one": True}),
    "histogram, one bin": ("histogram", {"bins": 1}),
    "histogram, widths": ("histogram", {"binning": "width", "bins": 10}),
    "isotonic, top": ("isotonic", {"which": "top"}),
    "beta, top": ("beta", {"which": "top"}),
}
CASES = {**{word: (word, {}) for word in CALIBRATORS}, **OPTIONS}


def rows_of(seed=0, rows=400, classes=5):
    generator = np.random.default_rng(seed)
    labels = generator.integers(NONE, classes, rows)
    logits = generator.normal(-1, 2, (rows, classes))
    logits[np.arange(rows), labels] += np.where(labels == NONE, 0.0, 3.0)
    return log_slova(logits), labels


def fit(name, log_probs, labels, **options):
    word, own = CASES[name]
    return CALIBRATORS[word].fit(log_probs, labels, **own, **options)


FITTED = {**{name: fit(name, *rows_of()) for name in CASES}, **BY_HAND}
ENDS = np.array([[0.0, -np.inf, -1.0, -1e-9, -700.0], [-1.0, -2.0, -3.0, -4.0, -1e5]])


@pytest.fixture(params=FITTED)
def calibrator(request):
    return FITTED[request.param]


def test_every_calibrator_has_an_example_here_and_a_name_that_is_its_key():
    assert {type(calibrator).name: type(calibrator) for calibrator in FITTED.values()} == CALIBRATORS


@pytest.mark.parametrize("word", CALIBRATORS)
def test_every_calibrator_has_the_one_signature_of_fit(word):
    parameters = list(inspect.signature(CALIBRATORS[word].fit).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == [CALIBRATORS[word].takes, "labels"]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[2:])
    assert next(parameter.default for parameter in parameters if parameter.name == "weight") is None
    assert isinstance(FITTED[word], Calibrator)


def test_a_word_a_class_and_a_fit_function_resolve_to_a_fit():
    for calibration in ("beta", BetaCalibration, BetaCalibration.fit):
        assert resolve(calibration) == BetaCalibration.fit
    assert resolve(None) is None
    for word in ("beat", "affine", "BetaCalibration"):
        with pytest.raises(
            ValueError, match="one of posterior, exponential, temperature, beta, isotonic, histogram, got"
        ):
            resolve(word)
    for value in (BetaCalibration(1, 1, 0), 3, dict):
        with pytest.raises(TypeError, match="a word, a calibrator class, a fit function or None, got"):
            resolve(value)


@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
@pytest.mark.parametrize("name", CASES)
def test_weights_of_whole_numbers_are_like_repeated_rows_and_zero_leaves_rows_out(name):
    log_probs, labels = rows_of(rows=600)
    weight = np.arange(600) % 3
    rows = np.repeat(np.arange(600), weight)
    weighted, repeated = fit(name, log_probs, labels, weight=weight), fit(name, log_probs[rows], labels[rows])
    share = 0.02 if name.startswith("exponential") else 2e-4  # its moving averages span whole numbers of pairs
    np.testing.assert_allclose(np.exp(weighted(log_probs)), np.exp(repeated(log_probs)), atol=share)


@pytest.mark.parametrize("scale", [1e-9, 1 / 600, 2**70, 1e300])
@pytest.mark.parametrize("name", [name for name in CASES if name != "posterior"])  # its penalties count rows
def test_the_scale_of_weights_has_no_effect_and_equal_weights_are_none(name, scale):
    log_probs, labels = rows_of(rows=600)
    assert (labels == NONE).any()
    weight = 1.0 + np.arange(600) % 3
    one, other = fit(name, log_probs, labels, weight=weight), fit(name, log_probs, labels, weight=scale * weight)
    np.testing.assert_allclose(one(log_probs), other(log_probs), rtol=1e-4, atol=1e-6)
    equal = fit(name, log_probs, labels, weight=np.full(600, scale))
    np.testing.assert_allclose(equal(log_probs), fit(name, log_probs, labels)(log_probs), rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_torch_rows_and_float32_rows_give_the_same_fit(name):
    log_probs, labels = rows_of()
    tensors = torch.as_tensor(log_probs), torch.as_tensor(labels)
    np.testing.assert_array_equal(fit(name, *tensors)(log_probs), FITTED[name](log_probs))
    single = fit(name, log_probs.astype(np.float32), labels)
    difference = np.abs(np.exp(single(log_probs)) - np.exp(FITTED[name](log_probs)))
    assert np.mean(difference > 1e-3 * np.maximum(1, np.exp(single(log_probs)))) < 0.01


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("temperature", "posterior")])
def test_none_rows_lower_the_confidence(name):
    log_probs, labels = rows_of()
    more = fit(name, np.vstack([log_probs, log_probs]), np.r_[labels, np.full(400, NONE)])
    confidence, before = (np.exp(found(log_probs)).max(axis=1) for found in (more, FITTED[name]))
    assert confidence.mean() < before.mean()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_torch_and_the_module_are_one_function(calibrator, dtype):
    seen = rows_of(1 if isinstance(calibrator, IsotonicCalibration) else 0)[0]  # on isotonic steps rounding shows
    for log_probs in (rows_of(1)[0], seen, ENDS):
        log_probs = log_probs.astype(dtype)
        ours, tensor = calibrator(log_probs), torch.as_tensor(log_probs)
        theirs, module = calibrator(tensor), CalibratorModule(calibrator)(tensor)
        assert ours.dtype == theirs.numpy().dtype == module.numpy().dtype == dtype
        probs = np.exp(np.minimum(ours, 0))
        np.testing.assert_allclose(np.exp(np.minimum(theirs.numpy(), 0)), probs, atol=1e-6)
        np.testing.assert_allclose(np.exp(np.minimum(module.numpy(), 0)), probs, atol=1e-6)
        np.testing.assert_allclose(theirs.numpy(), ours, rtol=1e-3, atol=1e-6)


def test_float32_gives_the_same_as_float64(calibrator):
    """Away from the jumps of a histogram and the steps of isotonic calibration."""
    log_probs = rows_of(0)[0]
    exact = np.exp(calibrator(log_probs))
    difference = np.abs(np.exp(calibrator(log_probs.astype(np.float32))) - exact)
    assert np.all(difference <= 1e-5 * np.maximum(1, exact)) or not calibrator.order_preserving
    assert np.mean(difference > 1e-4) < 0.01


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_calibrator_keeps_the_shape(calibrator, shape):
    log_probs = -np.random.default_rng(0).exponential(size=(*shape, 5))
    expected = (*shape, 5 + (calibrator.name == "posterior"))  # NONE last
    assert calibrator(log_probs).shape == expected
    assert calibrator(torch.as_tensor(log_probs)).shape == expected


def test_half_precision_comes_out_in_float32(calibrator):
    log_probs = torch.as_tensor(rows_of()[0]).half()
    assert CalibratorModule(calibrator)(log_probs).dtype == torch.float32
    assert torch.equal(calibrator(log_probs), calibrator(log_probs.float()))


@pytest.mark.parametrize("cast", ["half", "bfloat16", "float", "double"])
def test_casting_the_module_does_not_change_its_numbers(calibrator, cast):
    log_probs = torch.as_tensor(rows_of(1)[0])
    cast_module = getattr(torch.nn.Sequential(CalibratorModule(calibrator)), cast)()[0]
    assert torch.equal(cast_module(log_probs), CalibratorModule(calibrator)(log_probs))


def numbers_of(calibrator):
    return {field.name: copy.deepcopy(getattr(calibrator, field.name)) for field in dataclasses.fields(calibrator)}


def assert_same_numbers(calibrator, numbers):
    for name, value in numbers.items():
        assert type(getattr(calibrator, name)) is type(value)
        np.testing.assert_array_equal(getattr(calibrator, name), value)


def test_use_does_not_change_a_calibrator(calibrator):
    before, log_probs = numbers_of(calibrator), rows_of(1)[0]
    module = CalibratorModule(calibrator)
    for user in (calibrator, module, module.float()):
        user(torch.as_tensor(log_probs))
    assert module.calibrator is calibrator
    assert_same_numbers(calibrator, before)


def test_a_module_shares_no_memory_with_its_calibrator_nor_with_its_value(calibrator):
    before, module = numbers_of(calibrator), CalibratorModule(calibrator)
    value = module.value
    for buffer in module.buffers():
        buffer.mul_(0.5)
    assert_same_numbers(calibrator, before)
    assert_same_numbers(value, numbers_of(calibrator))


def test_a_state_dict_carries_the_calibrator(calibrator, tmp_path):
    log_probs = torch.as_tensor(rows_of(1)[0])
    state = CalibratorModule(calibrator).state_dict()
    assert state
    torch.save(state, tmp_path / "state.pt")
    other = CalibratorModule(calibrator)
    for buffer in other.buffers():
        buffer.fill_(0.25)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert torch.equal(other(log_probs), CalibratorModule(calibrator)(log_probs))


def test_copies_pickles_and_files_are_the_same_calibrator(calibrator, tmp_path):
    log_probs = rows_of(1)[0]
    tensors, meta = artifact.pack(calibrator, "m", CALIBRATORS)
    assert meta["type"] == calibrator.name
    artifact.save(tmp_path / "file.slova", "calibrator", tensors, {"m": meta})
    tensors, meta = artifact.load(tmp_path / "file.slova", "calibrator")
    loaded = artifact.unpack(tensors, meta["m"], "m", CALIBRATORS)
    module = pickle.loads(pickle.dumps(CalibratorModule(calibrator)))
    copies = (copy.copy(calibrator), copy.deepcopy(calibrator), pickle.loads(pickle.dumps(calibrator)))
    for same in (*copies, loaded, module.value):
        assert type(same) is type(calibrator)
        np.testing.assert_array_equal(same(log_probs), calibrator(log_probs))
    assert getattr(loaded, "report", None) == getattr(calibrator, "report", None)


def test_a_calibrator_is_a_value_that_cannot_change_and_compares_without_an_error(calibrator):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(calibrator, dataclasses.fields(calibrator)[0].name, 1.0)
    assert isinstance(calibrator == copy.deepcopy(calibrator), bool)
    assert isinstance(hash(calibrator), int)


def test_no_probability_exceeds_one(calibrator):
    if calibrator.name != "affine":
        for log_probs in (rows_of(1)[0], ENDS):
            assert calibrator(log_probs).max() <= 0
            assert calibrator(log_probs.astype(np.float32)).max() <= 0


def test_probabilities_of_zero_and_one_give_no_nan(calibrator):
    assert not np.isnan(calibrator(ENDS)).any()
    assert not np.isnan(calibrator(ENDS.astype(np.float32))).any()
    if isinstance(calibrator, ExponentialCalibration | TemperatureScaling):
        assert np.isneginf(calibrator(ENDS)[0, 1])


def test_nan_stays_nan(calibrator):
    rows = np.array([[np.nan, -1.0, -3.0, -1.0, -2.0], [-1.0, -2.0, -3.0, -1.0, -2.0]])
    for found in (calibrator(rows), calibrator(torch.as_tensor(rows)).numpy()):
        assert np.isnan(found[0, 0])
        assert np.isfinite(found[1, :5]).all()


@given(
    st.lists(st.floats(-600, -1e-6), min_size=2, max_size=6),
    st.sampled_from([name for name in FITTED if name != "posterior"]),
)
@settings(max_examples=200, deadline=None)
def test_the_order_is_kept_by_an_order_preserving_calibrator(values, name):
    calibrator = FITTED[name]
    log_probs = np.sort(np.array(values))
    found = calibrator(log_probs)
    if calibrator.order_preserving:
        assert np.all(np.diff(found) >= 0)
        if name != "exponential, by hand":  # its flat stretches are flatter than a float
            clear = (np.diff(log_probs) > 1e-3 * np.abs(log_probs[1:])) & (found[1:] > -500) & (found[1:] < -1e-9)
            clear &= (log_probs[1:] > -50) | (calibrator.name != "beta")  # its floor
            assert np.all(np.diff(found)[clear] > 0) or np.diff(np.exp(found))[clear].max() < 1e-9
    if calibrator.elementwise:
        np.testing.assert_array_equal(found, [calibrator(log_probs[[i]])[0] for i in range(len(log_probs))])


def test_gradients_flow_through_every_smooth_calibrator(calibrator):
    if not calibrator.order_preserving:
        return
    log_probs = torch.tensor([[-1e-9, -0.3, -1.0, -40.0, -700.0]], dtype=torch.float32, requires_grad=True)
    calibrator(log_probs).sum().backward()
    assert log_probs.grad.isfinite().all()
