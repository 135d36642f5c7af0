"""A scorer gives one distribution over the classes and NONE, the same for numpy, torch and files."""

import itertools

import numpy as np
import pytest
import torch

from slova import _backend
from slova.calibration import CALIBRATORS
from slova.heads import NONE
from slova.scorer import Scorer

CALIBRATIONS = {"none": None} | {name: name for name, kind in CALIBRATORS.items() if kind.takes != "logits"}


def test_the_answer_adds_up(case):
    scorer, values, given = case
    answer, probs = scorer.predict(values, **given), scorer.predict_proba(values, **given)
    total = answer.confidence + answer.none + answer.ambiguous
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-12)
    assert min(part.min() for part in (answer.confidence, answer.none, answer.ambiguous)) >= 0
    assert probs.shape == (len(values), scorer.classes + 1)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert probs.min() >= 0
    np.testing.assert_allclose(probs[np.arange(len(values)), answer.top], answer.confidence, rtol=0, atol=1e-12)
    np.testing.assert_allclose(probs[:, -1], answer.none, rtol=0, atol=1e-12)
    if scorer.calibrator is not None:
        others = probs[:, :-1].max(axis=1) - answer.confidence
        assert others.max() <= 1e-12
    log_probs, log_none = scorer(values, given.get("distances"))
    np.testing.assert_allclose(np.exp(np.column_stack([log_probs, log_none])), probs, rtol=0, atol=1e-12)


def test_what_is_known_of_none_is_said_and_true(case):
    scorer, values, given = case
    with_none = scorer.report.none_rows > 0
    one_vs_all = scorer.head.log_none is not None
    assert scorer.none == ("calibrated" if with_none else "evidence" if one_vs_all else "absent")
    none = scorer.predict(values, **given).none
    assert (none > 0).any() == (scorer.none != "absent")
    assert f"NONE {scorer.none}" in repr(scorer)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_get_the_same_answer(case, dtype):
    scorer, values, given = case
    values = values.astype(dtype)
    ours, theirs = scorer.predict(values, **given), scorer.predict(torch.as_tensor(values), **given)
    assert np.mean(ours.top == theirs.top.numpy()) > 0.99
    for name in ("confidence", "none", "ambiguous"):
        left, right = getattr(ours, name), getattr(theirs, name).numpy()
        assert left.dtype == right.dtype == dtype
        assert np.mean(np.abs(left - right) > 1e-5) < 0.01  # a step of a histogram may fall between


def test_float32_gives_nearly_the_same_as_float64(case):
    scorer, values, given = case
    single, double = (scorer.predict(values.astype(dtype), **given) for dtype in (np.float32, np.float64))
    for name in ("confidence", "none", "ambiguous"):
        assert np.mean(np.abs(getattr(single, name) - getattr(double, name)) > 1e-4) < 0.01
    total = single.confidence + single.none + single.ambiguous
    np.testing.assert_allclose(total, 1, rtol=0, atol=1e-6)


def test_chunks_change_nothing(case, monkeypatch):
    scorer, values, given = case
    whole = scorer.predict(values, **given)
    monkeypatch.setattr(_backend, "CHUNK", 100)
    parts = scorer.predict(values, **given)
    for name in ("label", "confidence", "none", "ambiguous", "top"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=0, atol=1e-12)


def test_rejecting_changes_labels_only(case):
    scorer, values, given = case
    everything, answer = scorer.predict(values, **given), scorer.predict(values, **given, reject=0.6)
    assert np.all(everything.label == everything.top)
    np.testing.assert_array_equal(answer.label, np.where(everything.confidence >= 0.6, everything.top, NONE))
    for name in ("confidence", "none", "ambiguous", "top"):
        np.testing.assert_array_equal(getattr(answer, name), getattr(everything, name))


def test_a_file_brings_back_the_same_scorer(case, tmp_path):
    scorer, values, given = case
    scorer.save(tmp_path / "s.slova")
    loaded = Scorer.load(tmp_path / "s.slova")
    for left, right in zip(loaded.predict(values, **given), scorer.predict(values, **given), strict=True):
        np.testing.assert_array_equal(left, right)
    assert loaded.threshold(coverage=0.7) == scorer.threshold(coverage=0.7)
    assert (loaded.none, loaded.report, repr(loaded)) == (scorer.none, scorer.report, repr(scorer))
    if not given:
        np.testing.assert_array_equal(loaded.predict_set(values[:50]), scorer.predict_set(values[:50]))


@pytest.mark.parametrize("head", ["slova", "softmax"])
@pytest.mark.parametrize("name", ["posterior", "temperature", "isotonic", "none"])
def test_any_batch_shape_is_answered_row_by_row(drawn, fitted, head, name):
    scorer = fitted(head, name)
    for batch, kind in itertools.product([(), (0,), (2, 3)], (np.asarray, torch.as_tensor)):
        values = drawn(head, rows=6)[0][: int(np.prod(batch))].reshape(*batch, 6)
        answer = scorer.predict(kind(values))
        assert all(tuple(np.shape(part)) == batch for part in answer)
        assert tuple(scorer.predict_proba(kind(values)).shape) == (*batch, 7)


@pytest.mark.parametrize("name", [name for name in CALIBRATIONS if name != "posterior"])
def test_a_calibrator_that_keeps_the_order_keeps_the_top_class(fitted, rows_of, name):
    scorer = fitted("slova", name)
    logits, _ = rows_of(1)
    np.testing.assert_array_equal(scorer.predict(logits).top, scorer.raw(logits).log_probs.argmax(axis=1))


def test_the_validation_rows_are_remembered_as_a_fit_that_did_not_see_them_answers(rows_of):
    logits, labels = rows_of()
    scorer = Scorer.fit(logits, labels)
    curve = scorer.validation.risk_coverage
    assert curve.risk[-1] == pytest.approx(np.mean(scorer.predict(logits).top != labels), abs=0.01)
    answered = scorer.predict(logits).confidence >= scorer.threshold(coverage=0.5, delta=None)
    assert np.mean(answered) == pytest.approx(0.5, abs=0.02)
    assert len(scorer.conformity.scores) == len(labels)


def test_nan_is_answered_with_none(rows_of):
    logits = np.array([[np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]])
    scorer = Scorer.fit(*rows_of())
    for kind in (np.asarray, torch.as_tensor):
        answer = scorer.predict(kind(logits))
        assert answer.label[0] == NONE
        assert np.isnan(float(answer.confidence[0]))


def test_many_rows_are_answered_as_few(rows_of):
    logits = rows_of(rows=1000)[0].repeat(200, axis=0)
    scorer = Scorer.fit(*rows_of())
    few = scorer.predict(logits[::200])
    for whole, part in zip(scorer.predict(logits), few, strict=True):
        np.testing.assert_array_equal(whole[::200], part)
