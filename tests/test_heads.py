"""Heads are their definitions, in every dtype, shape and size; a new `log_...` joins by giving its definition below."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from slova import _backend, heads
from slova.heads import NONE, log_none, log_ova, log_several, log_slova, log_softmax

INF = math.inf
HEADS = {name: getattr(heads, name) for name in heads.__all__ if name.startswith("log_")}
CLASSWISE = {"log_softmax", "log_ova", "log_slova"}  # (..., K) to (..., K); the others give one number per row

logit_rows = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(-40, 40))


def yes(row):
    return 1 / (1 + np.exp(-row))


def no(row):
    return 1 / (1 + np.exp(row))


def slova_of(row):
    return np.stack([yes(row[k]) * np.prod(no(np.delete(row, k))) for k in range(len(row))])


def several_of(row):
    none, one, several = (np.longdouble(number) for number in (1, 0, 0))
    for logit in row:
        none, one, several = none * no(logit), one * no(logit) + none * yes(logit), several + one * yes(logit)
    return several


DEFINITIONS = {  # of one row in extended precision, as a probability
    "log_softmax": lambda row: np.exp(row - row.max()) / np.exp(row - row.max()).sum(),
    "log_ova": yes,
    "log_slova": slova_of,
    "log_none": lambda row: np.prod(no(row)),
    "log_several": several_of,
    "log_multilabel": lambda row: np.prod(np.maximum(yes(row), no(row))),
}


def softplus(number):
    return max(number, 0.0) + math.log1p(math.exp(-abs(number)))


def softmax_exactly(row):
    top = max(row)
    rest = math.log(math.fsum(math.exp(logit - top) for logit in row))
    return [logit - top - rest for logit in row]


def slova_exactly(row):
    top = row.index(max(row))
    terms = [softplus(-logit if k == top else logit) for k, logit in enumerate(row)]
    total = math.fsum(terms)
    return [logit - row[top] - total for logit in row]


EXACTLY = {  # of one row of Python floats in log space, sums exactly rounded; several has a test of its own
    "log_softmax": softmax_exactly,
    "log_ova": lambda row: [-softplus(-logit) for logit in row],
    "log_slova": slova_exactly,
    "log_none": lambda row: -math.fsum(map(softplus, row)),
    "log_multilabel": lambda row: -math.fsum(softplus(-abs(logit)) for logit in row),
}


@pytest.fixture(params=HEADS)
def name(request):
    return request.param


@pytest.fixture
def head(name):
    return HEADS[name]


def drawn(*shape, scale=3.0, seed=0):
    return np.random.default_rng(seed).normal(scale=scale, size=shape)


@pytest.mark.parametrize("scale", [0.1, 3, 30])
@pytest.mark.parametrize("classes", [1, 2, 3, 10, 50])
def test_a_head_is_its_definition(name, head, classes, scale):
    logits = drawn(20, classes, scale=scale)
    with np.errstate(divide="ignore"):  # one class alone is never several
        wanted = np.array([np.log(DEFINITIONS[name](row)) for row in logits.astype(np.longdouble)])
    np.testing.assert_allclose(head(logits), wanted.astype(float), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", EXACTLY)
@pytest.mark.parametrize("classes", [1, 2, 10, 1000, 100_000])
@pytest.mark.parametrize("scale", [0.1, 3, 1e4])
def test_a_head_is_right_to_float32_rounding_at_any_size(name, classes, scale):
    logits = np.clip(drawn(2, classes, scale=scale), -1e4, 1e4).astype(np.float32)
    wanted = np.array([EXACTLY[name](row) for row in logits.astype(float).tolist()])
    # 1e-37: float32 ends there; softmax is the log of a sum near one, and as good as torch.log_softmax
    absolute = 2e-6 if name == "log_softmax" else 1e-37
    for kind in (np.asarray, np.asfortranarray, torch.as_tensor):
        found = np.asarray(HEADS[name](kind(logits)))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=5e-7, atol=absolute)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("classes", [2, 1000, 100_000])
@pytest.mark.parametrize("expected", [1e-4, 0.5, 5.0])
def test_several_is_right_where_it_is_rare_and_where_it_is_not(classes, expected, kind):
    """Of K equal classes with odds o: sum_{n >= 2} (K over n) o^n / (1 + o)^K."""
    logit = np.float32(math.log(expected / classes))
    odds = math.exp(logit)
    terms = (math.comb(classes, n) * odds**n for n in range(2, min(classes, 60) + 1))
    wanted = math.log(math.fsum(terms)) - classes * math.log1p(odds)
    found = log_several(kind(np.full((1, classes), logit, np.float32)))
    np.testing.assert_allclose(np.asarray(found), [wanted], rtol=5e-7, atol=1e-6)


@pytest.mark.parametrize("classes", [1, 2, 5, 50])
def test_one_none_and_several_sum_to_one(classes):
    logits = drawn(200, classes)
    total = np.exp(log_slova(logits)).sum(-1) + np.exp(log_none(logits)) + np.exp(log_several(logits))
    np.testing.assert_allclose(total, 1, rtol=1e-13)


@pytest.mark.parametrize("classes", [1, 3, 8])
def test_multilabel_confidence_is_that_of_the_likeliest_of_all_sets_of_labels(classes):
    for row in drawn(20, classes):
        sets = itertools.product([False, True], repeat=classes)
        best = max(np.prod(np.where(labels, yes(row), no(row))) for labels in sets)
        assert heads.log_multilabel(row) == pytest.approx(np.log(best), rel=1e-12)


def test_equal_rows_can_have_a_different_none():
    left, right = np.array([2.0, -1.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(log_slova(left), log_slova(right), rtol=1e-15)
    assert log_none(right) == pytest.approx(log_none(left) + 1.0)


def test_slova_given_exactly_one_is_softmax():
    logits = drawn(100, 7, scale=10)
    one = np.logaddexp.reduce(log_slova(logits), axis=-1, keepdims=True)
    np.testing.assert_allclose(log_slova(logits) - one, log_softmax(logits), atol=1e-12)


@pytest.mark.parametrize("kind", [np.array, lambda row: torch.tensor(row, dtype=torch.float64)])
@pytest.mark.parametrize(
    ("row", "slova", "none", "several", "softmax"),
    [
        ([INF, -INF], [1, 0], 0, 0, [1, 0]),
        ([INF, 0.0], [0.5, 0], 0, 0.5, [1, 0]),
        ([INF, INF], [0, 0], 0, 1, [0.5, 0.5]),
        ([INF, INF, 0.0], [0, 0, 0], 0, 1, [0.5, 0.5, 0]),
        ([-INF, 0.0], [0, 0.5], 0.5, 0, [0, 1]),
        ([-INF, -INF], [0, 0], 1, 0, [0.5, 0.5]),
        ([INF], [1], 0, 0, [1]),
        ([-INF], [0], 1, 0, [1]),
        ([1e4, -1e4], [1, 0], 0, 0, [1, 0]),
        ([0.0, 0.0], [0.25, 0.25], 0.25, 0.25, [0.5, 0.5]),
    ],
)
def test_infinite_logits_give_the_right_numbers(kind, row, slova, none, several, softmax):
    logits = kind(row)
    for head, wanted in ((log_slova, slova), (log_none, none), (log_several, several), (log_softmax, softmax)):
        np.testing.assert_allclose(np.exp(np.asarray(head(logits))), wanted, atol=1e-15)
    np.testing.assert_allclose(np.exp(np.asarray(log_ova(logits))), yes(np.clip(row, -700, 700)), atol=1e-15)


def test_numpy_and_torch_agree_and_return_the_kind_they_were_given(name, head):
    for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
        logits = drawn(50, 20, scale=5).astype(dtype)
        ours, theirs = head(logits), head(torch.as_tensor(logits))
        assert isinstance(ours, np.ndarray)
        assert isinstance(theirs, torch.Tensor)
        assert ours.dtype == theirs.numpy().dtype == dtype
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_and_returned_in_float32(name, head, dtype):
    logits = torch.as_tensor(drawn(8, 300)).to(dtype)
    assert head(logits).dtype == torch.float32
    assert torch.equal(head(logits), head(logits.float()))
    if dtype == torch.float16:
        assert head(logits.numpy()).dtype == np.float32


@pytest.mark.parametrize("batch", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_a_head_takes_any_batch_shape(name, head, batch, kind):
    logits = drawn(*batch, 5)
    found = head(kind(logits))
    assert tuple(found.shape) == (*batch, 5) if name in CLASSWISE else tuple(found.shape) == batch
    rows = [np.asarray(head(row)) for row in logits.reshape(-1, 5)]
    np.testing.assert_allclose(np.asarray(found).ravel(), np.ravel(rows), rtol=1e-13)


def test_lists_are_taken_as_numpy(head):
    assert isinstance(head([[1.0, 2.0]]), np.ndarray)


@pytest.mark.parametrize(
    "row", [[0.3, -1.2, 2.0], [1.5, 1.5, -2.0], [0.0, 0.0, 0.0], [-3.0, -3.0, -3.0], [1.0, 0.0]], ids=str
)
def test_the_derivative_is_right_with_ties_and_zeros_too(head, row):
    assert torch.autograd.gradcheck(head, torch.tensor([row], dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "row", [[1e4, -1e4], [1e4, 1e4], [-1e4, -1e4], [1e4], [-1e4], [1e4, 0.0, 0.0], [1e4, 1e4, -1e4]], ids=str
)
def test_gradients_are_finite_at_extreme_logits(head, row, dtype):
    logits = torch.tensor(row, dtype=dtype, requires_grad=True)
    head(logits).sum().backward()
    assert logits.grad.isfinite().all()
    assert logits.grad.abs().max() <= len(row) ** 2


def test_nan_stays_in_its_row(head):
    for kind in (np.asarray, torch.as_tensor):
        found = np.asarray(head(kind(np.array([[np.nan, 1.0], [0.5, 1.0]]))))
        assert np.isnan(found[0]).any()
        assert np.isfinite(found[1]).all()


@given(logit_rows, st.floats(-30, 30))
@settings(max_examples=50, deadline=None)
def test_a_common_shift_is_lost_on_softmax_and_seen_by_slova(logits, shift):
    np.testing.assert_allclose(log_softmax(logits + shift), log_softmax(logits), atol=1e-12)
    moved = log_slova(logits + shift) - log_slova(logits)
    wanted = shift - (np.logaddexp(0, logits + shift) - np.logaddexp(0, logits)).sum(-1, keepdims=True)
    np.testing.assert_allclose(moved, np.broadcast_to(wanted, moved.shape), atol=1e-10)
    assert np.all(np.sign(log_none(logits + shift) - log_none(logits)) * np.sign(shift) <= 0)


@given(logit_rows, st.randoms())
@settings(max_examples=50, deadline=None)
def test_classes_can_be_renamed(logits, random):
    order = random.sample(range(logits.shape[-1]), logits.shape[-1])
    for name, head in HEADS.items():
        renamed = head(logits[:, order])
        np.testing.assert_allclose(
            renamed, head(logits)[:, order] if name in CLASSWISE else head(logits), rtol=1e-12, atol=1e-14
        )


@given(logit_rows, st.floats(0.01, 10), st.data())
@settings(max_examples=50, deadline=None)
def test_a_larger_logit_helps_its_class_and_several_and_hurts_the_others_and_none(logits, more, data):
    k = data.draw(st.integers(0, logits.shape[-1] - 1))
    raised = logits.copy()
    raised[:, k] += more
    change = log_slova(raised) - log_slova(logits)
    slack = 1e-12 * np.abs(log_slova(raised))
    assert np.all(change[:, k] >= -slack[:, k])
    assert np.all(np.delete(change - slack, k, axis=1) <= 0)
    assert np.all(log_none(raised) <= log_none(logits))
    assert np.all(log_several(raised) >= log_several(logits) * (1 + 1e-12) - 1e-14)


@given(logit_rows)
@settings(max_examples=50, deadline=None)
def test_slova_keeps_the_order_of_the_logits_and_is_below_ova(logits):
    order = np.argsort(logits, axis=-1)
    assert np.all(np.diff(np.take_along_axis(log_slova(logits), order, -1)) >= 0)
    assert np.all(log_slova(logits) <= log_ova(logits) * (1 - 1e-13) + 1e-13)


def test_none_is_a_label():
    assert NONE == -1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (4,), (2, 2)])
def test_log1mexp_keeps_dtype_and_shape_and_is_accurate_on_both_sides(dtype, shape):
    values = np.resize(np.array([-1e-6, -0.5, -3.0, -40.0], dtype), shape)
    found = _backend.NUMPY.log1mexp(values)
    assert (found.dtype, found.shape) == (dtype, shape)
    exact = values.astype(np.longdouble)
    expected = np.where(exact > -0.7, np.log(-np.expm1(exact)), np.log1p(-np.exp(exact)))
    np.testing.assert_allclose(found, expected.astype(float), rtol=4 * np.finfo(dtype).eps)
    assert _backend.NUMPY.log1mexp(np.zeros(shape, dtype)).max() == -np.inf
