"""What every metric keeps to; the dictionary of metrics is in conftest.py."""

import functools
import operator
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import metrics


def test_the_order_of_rows_does_not_matter(metric, batch):
    probs, labels = batch(0)
    order = np.random.default_rng(1).permutation(len(labels))
    shuffled = metric.function(*metric.arguments(probs[order], labels[order]))
    assert shuffled == pytest.approx(metric.function(*metric.arguments(probs, labels)), abs=metric.rounding)


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 89), max_size=6, unique=True))
@settings(max_examples=25, deadline=None)
def test_merged_batches_give_the_value_of_all_rows_within_the_bound_they_report(metric, seed, cuts, batch):
    probs, labels = batch(seed)
    parts = np.split(np.random.default_rng(seed).permutation(len(labels)), sorted(cuts))
    states = [metric.state(*metric.arguments(probs[part], labels[part])) for part in parts]
    merged = metric.read(functools.reduce(operator.add, states))
    found, bound = merged if isinstance(merged, metrics.Estimate) else (merged, 0.0)
    assert abs(found - metric.function(*metric.arguments(probs, labels))) <= bound + metric.rounding


def test_merging_is_associative_and_commutative(metric, batch):
    a, b, c = (metric.state(*metric.arguments(*batch(seed))) for seed in range(3))
    for name in [field.name for field in fields(a)]:
        left, right, turned = (getattr(s, name) for s in ((a + b) + c, a + (b + c), c + b + a))
        np.testing.assert_allclose(left, right, rtol=1e-12)
        np.testing.assert_allclose(left, turned, rtol=1e-12)


def test_a_state_has_a_fixed_size_and_holds_only_what_can_be_saved(metric, batch):
    probs, labels = batch(0)
    small, large = (metric.state(*metric.arguments(probs[:n], labels[:n])) for n in (10, len(labels)))
    for field in fields(small):
        ours, theirs = getattr(small, field.name), getattr(large, field.name)
        assert isinstance(ours, np.ndarray | int | float | str)
        assert np.shape(ours) == np.shape(theirs)
        assert np.asarray(ours).dtype.kind in "if"


def test_a_state_comes_back_from_a_file_and_merges_as_before(metric, batch, tmp_path):
    state, more = (metric.state(*metric.arguments(*batch(seed))) for seed in (0, 1))
    state.save(tmp_path / "state.slova")
    loaded = type(state).load(tmp_path / "state.slova")
    for field in fields(state):
        np.testing.assert_array_equal(getattr(loaded + more, field.name), getattr(state + more, field.name))


def test_a_file_of_another_state_is_refused(tmp_path):
    metrics.Mmc.of(np.array([[0.5, 0.5]])).save(tmp_path / "state.slova")
    with pytest.raises(ValueError, match="is of type 'Mmc', expected one of Nll"):
        metrics.Nll.load(tmp_path / "state.slova")


def test_an_infinite_sum_survives_a_file(tmp_path):
    state = metrics.Nll.of(np.array([[0.0, -np.inf]]), np.array([1]))
    state.save(tmp_path / "state.slova")
    assert metrics.Nll.load(tmp_path / "state.slova").value == np.inf


def test_states_of_another_metric_are_refused(metric, batch):
    class Other:
        pass

    state = metric.state(*metric.arguments(*batch(0)))
    with pytest.raises(TypeError, match="unsupported operand"):
        state + Other()


@pytest.mark.parametrize("kind", ["float32", "torch float64", "torch float32", "torch with gradient", "lists"])
def test_every_kind_of_array_gives_the_same_value(metric, kind, batch):
    def cast(array):
        if kind == "lists":
            return array.tolist()
        array = array.astype(np.float32) if "float32" in kind and array.dtype.kind == "f" else array
        if "torch" not in kind:
            return array
        tensor = pytest.importorskip("torch").from_numpy(array)
        return tensor.requires_grad_() if "gradient" in kind and array.dtype.kind == "f" else tensor

    arguments = metric.arguments(*batch(2))
    found = metric.function(*map(cast, arguments))
    assert found == pytest.approx(metric.function(*arguments), abs=1e-6)
    assert type(found) is float


def test_rows_that_do_not_sum_to_one_are_not_renormalised(metric, batch):
    probs, labels = batch(3)
    shrunk = probs * np.random.default_rng(0).uniform(0.1, 0.9, size=(len(labels), 1))
    whole, less = (metric.function(*metric.arguments(p, labels)) for p in (probs, shrunk))
    assert (whole == less) == (metric.function is metrics.accuracy)


def test_rows_may_sum_to_more_than_one(labelled):
    assert np.isfinite(labelled.function(*labelled.arguments(np.full((3, 4), 0.9), np.arange(3))))


def test_the_public_names_are_sorted_and_there():
    assert metrics.__all__ == sorted(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)


def test_half_precision_is_taken_as_it_is():
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float16):
        assert metrics.mmc(torch.tensor([[0.75, 0.25]], dtype=dtype)) == 0.75
    assert metrics.mmc(np.array([[0.75, 0.25]], dtype=np.float16)) == 0.75
