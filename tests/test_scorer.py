"""A scorer answers the same for numpy, torch and files, by the class on top before calibration."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import extreme
from slova.artifact import ArtifactError
from slova.calibration import ExponentialCalibration
from slova.heads import HEADS, NONE, SLOVA, log_none, log_several, log_slova
from slova.metrics import ece
from slova.prediction import Prediction
from slova.scorer import Scorer

CALIBRATIONS = {"none": None} | {name: name for name in ("exponential", "temperature", "isotonic", "beta", "histogram")}


def rows_of(seed=0, rows=1500, classes=6, none=0.2):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    logits = generator.normal(-3, 2, (rows, classes))
    inside = generator.random(rows) >= none
    logits[np.arange(rows), labels] += np.where(inside, generator.normal(5, 3, rows), 0)
    return logits, np.where(inside, labels, NONE)


@pytest.fixture(params=[(head, name) for head in HEADS for name in CALIBRATIONS], ids="-".join)
def scorer(request):
    head, name = request.param
    logits, labels = rows_of()
    return Scorer.fit(logits, labels, head=head, calibration=CALIBRATIONS[name], rescale=name == "beta")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_and_torch_get_the_same_answer(scorer, dtype):
    logits = rows_of(1)[0].astype(dtype)
    ours, theirs = scorer.predict(logits, reject=0.5), scorer.predict(torch.as_tensor(logits), reject=0.5)
    close = np.abs(ours.confidence - 0.5) > 1e-4
    assert np.mean(close) > 0.8
    np.testing.assert_array_equal(ours.label[close], theirs.label.numpy()[close])
    for name in Prediction._fields[1:]:
        left, right = getattr(ours, name), getattr(theirs, name).numpy()
        assert left.dtype == right.dtype == dtype
        assert np.mean(np.abs(left - right) > 1e-5) < 0.01  # a step of a histogram may fall between


@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_any_batch_shape_is_answered_row_by_row(scorer, batch):
    logits = rows_of(rows=6)[0][: int(np.prod(batch))].reshape(*batch, 6)
    for kind in (np.asarray, torch.as_tensor):
        answer = scorer.predict(kind(logits))
        assert all(tuple(np.shape(part)) == batch for part in answer)


def test_the_label_is_the_top_class_before_calibration_and_the_confidence_is_its_own(scorer):
    logits, _ = rows_of(1)
    answer = scorer.predict(logits)
    raw = scorer.raw(logits).log_probs
    np.testing.assert_array_equal(answer.label, raw.argmax(axis=1))
    calibrated = np.exp(scorer(logits).log_probs)[np.arange(len(logits)), answer.label]
    assert answer.confidence == pytest.approx(calibrated, abs=1e-9)


def test_rows_below_the_threshold_and_only_those_are_rejected(scorer):
    logits, _ = rows_of(1)
    everything = scorer.predict(logits)
    assert np.all(everything.label != NONE)
    answer = scorer.predict(logits, reject=0.6)
    np.testing.assert_array_equal(answer.label, np.where(everything.confidence >= 0.6, everything.label, NONE))
    np.testing.assert_array_equal(answer.confidence, everything.confidence)


def test_the_validation_set_is_remembered_as_it_would_be_answered(scorer):
    logits, labels = rows_of()
    answer = scorer.predict(logits)
    curve = scorer.validation.risk_coverage
    assert curve.risk[-1] == pytest.approx(np.mean(answer.label != labels))
    assert curve.threshold[-1] == pytest.approx(answer.confidence.min(), abs=1e-12)
    assert np.mean(answer.confidence >= scorer.threshold(coverage=0.5)) >= 0.5


def test_a_file_brings_back_the_same_scorer(scorer, tmp_path):
    scorer.save(tmp_path / "s.slova")
    loaded = Scorer.load(tmp_path / "s.slova")
    logits, _ = rows_of(1)
    for left, right in zip(loaded.predict(logits), scorer.predict(logits), strict=True):
        np.testing.assert_array_equal(left, right)
    assert loaded.threshold(coverage=0.7) == scorer.threshold(coverage=0.7)
    assert loaded.none_is_calibrated == scorer.none_is_calibrated


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "s.slova"
    Scorer.fit(*rows_of()).save(path)
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:place])
        with pytest.raises(ArtifactError):
            Scorer.load(path)
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with pytest.raises(ArtifactError):
            Scorer.load(path)


def test_uncalibrated_numbers_are_those_of_the_heads():
    logits, labels = rows_of(none=0)
    answer = Scorer.fit(logits, labels, calibration=None).predict(logits)
    assert answer.confidence == pytest.approx(np.exp(log_slova(logits)).max(axis=1))
    assert answer.none == pytest.approx(np.exp(log_none(logits)))
    assert answer.several == pytest.approx(np.exp(log_several(logits)))


def test_softmax_knows_neither_none_nor_several():
    logits, labels = rows_of(none=0)
    answer = Scorer.fit(logits, labels, head="softmax").predict(logits)
    assert np.all(answer.none == 0)
    assert np.all(answer.several == 0)


def test_none_is_calibrated_only_on_rows_of_none():
    logits, labels = rows_of()
    known = labels != NONE
    with_none, without = Scorer.fit(logits, labels), Scorer.fit(logits[known], labels[known])
    assert with_none.none_is_calibrated
    assert not without.none_is_calibrated
    assert without.predict(logits).none == pytest.approx(np.exp(log_none(logits)))
    fresh, truth = rows_of(1)
    before, after = np.exp(log_none(fresh)), with_none.predict(fresh).none
    assert np.mean((after - (truth == NONE)) ** 2) < np.mean((before - (truth == NONE)) ** 2)


def test_calibration_makes_the_confidence_more_honest():
    logits, labels = rows_of(rows=4000)
    fresh, truth = rows_of(1, rows=4000)

    def error(calibrate):
        answer = Scorer.fit(logits, labels, calibration=calibrate).predict(fresh)
        rows = np.zeros((len(truth), 7))
        rows[np.arange(len(truth)), answer.label] = answer.confidence
        return ece(rows, truth)

    def top(*rows, weight=None):
        return ExponentialCalibration.fit(*rows, which="top", weight=weight)

    assert error(top) < 0.5 * error(None)
    assert error(top) < 0.1


def test_nan_is_answered_with_none():
    logits = np.array([[np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]])
    scorer = Scorer.fit(*rows_of())
    for kind in (np.asarray, torch.as_tensor):
        assert scorer.predict(kind(logits)).label[0] == NONE


@given(st.integers(0, 2**31), st.sampled_from([0.1, 0.2, 0.3]))
@settings(max_examples=20, deadline=None)
def test_the_threshold_keeps_its_risk_on_its_own_validation_set(seed, risk):
    logits, labels = rows_of(seed, rows=600)
    scorer = Scorer.fit(logits, labels)
    try:
        reject = scorer.threshold(risk=risk)
    except ValueError as error:
        assert "no threshold guarantees" in str(error)  # noqa: PT017
        return
    for kind in (np.asarray, torch.as_tensor):
        label = np.asarray(scorer.predict(kind(logits), reject=reject).label)
        assert np.mean((label != labels)[label != NONE]) <= risk


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_threshold_keeps_its_risk_among_saturated_confidences(kind, dtype):
    """1 - 3e-8 is always right and 1 - 6e-7 every other time."""
    logits, labels = np.zeros((8000, 3), dtype), np.zeros(8000, int)
    logits[:4000, 0], logits[4000:, 0] = 18, 15
    labels[4000::2] = 1
    scorer = Scorer.fit(logits, labels, head="softmax", calibration=None)
    answered = np.asarray(scorer.predict(kind(logits), reject=scorer.threshold(risk=0.02)).label) != NONE
    assert answered.tolist() == [True] * 4000 + [False] * 4000


def test_the_threshold_counts_a_row_as_often_as_its_weight_says():
    logits, labels = rows_of()
    weight = np.random.default_rng(0).integers(0, 4, len(labels))
    weighted = Scorer.fit(logits, labels, calibration=None, weight=weight)
    repeated = Scorer.fit(logits.repeat(weight, 0), labels.repeat(weight), calibration=None)
    for promise in ({"risk": 0.3}, {"risk": 0.25, "delta": None}, {"coverage": 0.4}):
        assert weighted.threshold(**promise) == repeated.threshold(**promise)
    halved = Scorer.fit(logits, labels, calibration=None, weight=weight / 2)
    assert halved.threshold(risk=0.25, delta=None) == weighted.threshold(risk=0.25, delta=None)
    with pytest.raises(ValueError, match="weights that are not whole numbers"):
        halved.threshold(risk=0.3)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("total", [1.0, 2.0**64])
def test_the_sum_of_weights_has_no_effect(calibration, total):
    logits, labels = rows_of()
    weight = 1.0 + np.arange(len(labels)) % 3
    scorers = [
        Scorer.fit(logits, labels, calibration=CALIBRATIONS[calibration], weight=weight * scale)
        for scale in (1.0, total / weight.sum())
    ]
    one, other = (scorer.predict(logits) for scorer in scorers)
    np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-5)
    np.testing.assert_allclose(one.none, other.none, atol=1e-5)
    one, other = (scorer.threshold(risk=0.3, delta=None) for scorer in scorers)
    assert one == pytest.approx(other, abs=1e-5)


def test_weights_of_another_number_of_rows_are_refused():
    with pytest.raises(ValueError, match=r"weight \(3,\) does not match labels \(1500,\)"):
        Scorer.fit(*rows_of(none=0), calibration=None, weight=np.ones(3))


@pytest.mark.parametrize("reject", [np.nan, 50, -0.1, np.inf, np.array([0.5, 1.5]), torch.tensor([0.5, np.nan])])
def test_a_threshold_outside_0_and_1_is_refused(reject):
    with pytest.raises(ValueError, match=r"reject must lie in \[0, 1\], got"):
        Scorer(classes=3).predict(np.zeros((2, 3)), reject=reject)
    with pytest.raises(ValueError, match=r"reject must lie in \[0, 1\], got"):
        extreme.predict(Scorer(classes=3), torch.zeros(2, 4), torch.zeros(3, 4), reject=reject)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_every_row_may_have_a_threshold_of_its_own(kind):
    logits = np.array([[3.0, -3.0, -3.0]] * 2)
    found = Scorer(classes=3).predict(kind(logits), reject=kind(np.array([0.5, 1.0])))
    assert found.label.tolist() == [0, NONE]


def test_a_scorer_without_validation_knows_no_threshold():
    with pytest.raises(ValueError, match="was not fitted on a validation set"):
        Scorer(classes=3).threshold(risk=0.1)


def test_a_head_of_ones_own_works_but_cannot_be_saved(tmp_path):
    scorer = Scorer.fit(*rows_of(), head=replace(SLOVA, name="mine"))
    assert scorer.predict(rows_of()[0]).label.shape == (1500,)
    with pytest.raises(ValueError, match="the head 'mine' is not one of slova, ova, softmax and cannot be saved"):
        scorer.save(tmp_path / "f")


def test_a_calibrator_that_could_not_be_loaded_is_not_saved(tmp_path):
    class Mine(ExponentialCalibration):
        """Somebody's own."""

    with pytest.raises(ValueError, match="calibrator is a Mine, and only"):
        Scorer(classes=3, calibrator=Mine([1.0], [1.0])).save(tmp_path / "mine.slova")
    assert not list(tmp_path.iterdir())


def test_many_rows_are_answered_as_few():
    logits = rows_of(rows=1000)[0].repeat(200, axis=0)
    scorer = Scorer.fit(*rows_of())
    few = scorer.predict(logits[::200])
    for whole, part in zip(scorer.predict(logits), few, strict=True):
        np.testing.assert_array_equal(whole[::200], part)
