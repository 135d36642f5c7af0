"""A head is a value: a name, the readout of all classes, and the top class alone, which is the same number."""

import pickle

import numpy as np
import pytest
import torch

from slova import NONE, Scorer, _backend
from slova.heads import HEADS, OVA, SLOVA, SOFTMAX, Head, find_head, log_none, log_ova, log_slova, log_softmax

PARTS = {"slova": log_slova, "ova": log_ova, "softmax": log_softmax}


LOGITS = [name for name, head in HEADS.items() if head.to_logits is None]


@pytest.fixture(params=LOGITS)
def head(request):
    return HEADS[request.param]


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    ("name", "values", "base", "logits"),
    [
        ("probabilities", [[0.75, 0.25], [1.0, 0.0]], SOFTMAX, np.log([[3.0, 1.0], [1e300, 1e-300]])),
        ("ova_probabilities", [[0.75, 0.25], [0.5, 0.1]], SLOVA, np.log([[3.0, 1 / 3], [1.0, 1 / 9]])),
        ("binary", [[2.0], [-1.0]], SOFTMAX, [[0.0, 2.0], [0.0, -1.0]]),
        ("binary", [2.0, -1.0], SOFTMAX, [[0.0, 2.0], [0.0, -1.0]]),
        ("binary_probabilities", [0.75, 0.1], SOFTMAX, np.log([[1.0, 3.0], [9.0, 1.0]])),
        ("binary", [np.inf, -np.inf], SOFTMAX, [[-800.0, 800.0], [800.0, -800.0]]),
    ],
)
def test_values_of_another_kind_are_read_as_their_logits(name, values, base, logits, kind):
    found, wanted = HEADS[name](kind(np.array(values))), base(np.array(logits))
    for left, right in zip(found, wanted, strict=True):
        assert np.exp(np.asarray(left)) == pytest.approx(np.exp(right), abs=1e-12)
    assert np.array_equal(HEADS[name].top(kind(np.array(values))).label, base.top(np.array(logits)).label)


def test_log_odds_of_softmax_keep_their_digits_near_one():
    found = SOFTMAX.log_odds(np.array([[0.0, -50.0, -51.0], [0.0, 0.0, 0.0]]), _backend.NUMPY)
    assert found[0] == pytest.approx([50 - np.log1p(np.exp(-1)), -50, -51])
    assert found[1] == pytest.approx(np.full(3, -np.log(2)))
    assert SLOVA.log_odds(found, _backend.NUMPY) is found


@pytest.fixture(params=[np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def kind(request):
    return request.param


@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_a_readout_is_the_classes_and_one_none_per_row(head, batch, kind):
    logits = kind(np.random.default_rng(0).normal(0, 3, (*batch, 5)).astype(np.float32))
    readout = head(logits)
    assert np.array_equal(readout.log_probs, PARTS[head.name](logits))
    wanted = np.full(batch, -np.inf) if head is SOFTMAX else np.asarray(log_none(logits))
    assert np.array_equal(readout.log_none, wanted)
    assert readout.log_none.dtype == readout.log_probs.dtype


@pytest.mark.parametrize("shape", [(7,), (5, 1), (40, 10), (3, 4, 6), (0, 3)])
def test_the_top_class_is_that_of_the_whole_readout(head, kind, shape):
    logits = kind(np.random.default_rng(0).normal(0, 5, shape).astype(np.float32))
    label, log_confidence, none = head.top(logits)
    log_probs, log_none = (np.asarray(part) for part in head(logits))
    assert np.array_equal(label, np.asarray(logits).argmax(-1))
    assert np.allclose(log_confidence, log_probs.max(-1), rtol=1e-6)
    assert np.allclose(none, log_none, rtol=1e-6)
    assert type(log_confidence) is type(logits) or not shape[:-1]


def test_chunks_change_nothing(kind, monkeypatch):
    logits = kind(np.random.default_rng(1).normal(0, 5, (50, 3, 4)))
    labels = np.random.default_rng(2).integers(0, 4, 50)
    scorer = Scorer.fit(logits[:, 0], labels)
    whole, answers = SLOVA.top(logits), scorer.predict(logits)
    monkeypatch.setattr(_backend, "CHUNK", 13)
    for left, right in zip((*whole, *answers), (*SLOVA.top(logits), *scorer.predict(logits)), strict=True):
        assert left.shape == right.shape == (50, 3)
        assert np.array_equal(left, right)


def test_the_top_class_is_exact_at_extreme_logits():
    top = SLOVA.top(np.array([[1e4, -1e4], [1e4, 9e3], [-1e4, -1e4]], np.float32))
    assert top.log_confidence.tolist() == [0.0, -9000.0, -10000.0]
    assert top.log_none.tolist() == [-10000.0, -19000.0, 0.0]


def test_gradients_pass_through_the_top_class(head):
    logits = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    parts = slice(1, 2 if head is SOFTMAX else 3)
    assert torch.autograd.gradcheck(lambda f: head.top(f)[parts], logits)


def test_the_largest_logit_is_the_label_even_where_rounding_ties_probabilities():
    logits = np.array([[200.0, 201.0, -40.0]], np.float32)
    assert OVA(logits).log_probs.argmax() == 0
    assert OVA.top(logits).label.tolist() == [1]


@pytest.mark.parametrize("head", HEADS.values(), ids=list(HEADS))
def test_a_head_is_found_by_its_name_and_survives_a_pickle(head):
    assert find_head(head.name) is find_head(head) is head
    assert pickle.loads(pickle.dumps(head)) == head
    with pytest.raises(ValueError, match=r"head must be a Head or one of auto, slova, .* got 'none'"):
        find_head("none")


def least(logits, ops):
    return -ops.softplus(logits)


def test_a_head_of_ones_own_is_a_name_and_a_formula():
    """The most probable class of this one is that of the least logit; there is no evidence of NONE."""
    scorer = Scorer(classes=3, head=Head(name="least", log_probs=least))
    answer = scorer.predict(np.array([[3.0, -3.0, 0.0], [-1.0, 2.0, 2.0]]))
    assert answer.label.tolist() == [1, 0]
    assert answer.confidence == pytest.approx(1 / (1 + np.exp([-3.0, -1.0])))
    assert answer.none.tolist() == [0.0, 0.0]
    assert answer.ambiguous == pytest.approx(1 - answer.confidence)
    assert scorer.predict(np.array([0.0, 0.0, 0.0]), reject=0.6).label == NONE


def test_a_head_can_be_compiled(head):
    logits = torch.randn(4, 3)
    for function in (head, head.top):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        assert all(torch.equal(left, right) for left, right in zip(compiled(logits), function(logits), strict=True))


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", "<f8"])
def test_the_byte_order_of_an_array_does_not_matter(head, dtype):
    logits, labels = np.random.default_rng(0).normal(size=(90, 3)), np.random.default_rng(1).integers(0, 3, 90)
    other, native = logits.astype(dtype), logits.astype(dtype[1:])
    for left, right in zip(head(other), head(native), strict=True):
        assert np.array_equal(left, right)
        assert left.dtype.isnative
    one, two = (Scorer.fit(rows, labels.astype(kind), head=head) for rows, kind in ((other, ">i4"), (native, "i4")))
    assert np.array_equal(one.predict(other).confidence, two.predict(native).confidence)
