"""A scorer gives one distribution over the classes and NONE, the same for numpy, torch and files."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from slova import _backend, extreme
from slova._warnings import CalibrationWarning
from slova.artifact import ArtifactError
from slova.calibration import CALIBRATORS, BetaCalibration, ExponentialCalibration
from slova.heads import HEADS, NONE, SLOVA, log_none, log_several, log_slova
from slova.scorer import Scorer

CALIBRATIONS = {"none": None} | {name: name for name, kind in CALIBRATORS.items() if kind.takes != "logits"}


def rows_of(seed=0, rows=1500, classes=6, none=0.2):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    logits = generator.normal(-3, 2, (rows, classes))
    inside = generator.random(rows) >= none
    logits[np.arange(rows), labels] += np.where(inside, generator.normal(5, 3, rows), 0)
    return logits, np.where(inside, labels, NONE)


def values_of(head, logits):
    """Values of the kind that a head reads."""
    if head == "probabilities":
        odds = np.exp(logits - logits.max(-1, keepdims=True))
        return odds / odds.sum(-1, keepdims=True)
    if head.startswith("binary"):
        logits = logits[..., 1:2] - logits[..., :1]
    return 1 / (1 + np.exp(-logits)) if head.endswith("probabilities") else logits


def drawn(head, seed=0, none=0.2, **options):
    """Values of the kind that a head reads, and labels."""
    classes = {"classes": 2} if head.startswith("binary") else {}
    logits, labels = rows_of(seed, none=none, **options, **classes)
    return values_of(head, logits), labels


def fitted(head, name, *, none=0.2, **options):
    values, labels = drawn(head, none=none)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # not every calibrator suits every head
        given = {"distances": distances_of(len(labels))} if name == "distance" else {}
        return Scorer.fit(values, labels, head=head, calibration=CALIBRATIONS[name], **given, **options)


def distances_of(rows, seed=0):
    return np.random.default_rng(seed).exponential(size=(rows, 2))


CASES = [(head, name, none) for head in HEADS for name in CALIBRATIONS for none in (0.2, 0.0)]


@pytest.fixture(
    scope="module", params=CASES, ids=[f"{head}-{name}-{'none' if none else 'known'}" for head, name, none in CASES]
)
def case(request):
    """A scorer, fresh values and the further arguments that it predicts them with."""
    head, name, none = request.param
    scorer = fitted(head, name, none=none, rescale=name == "beta" and not head.endswith("probabilities"))
    values, labels = drawn(head, seed=1)
    return scorer, values, {"distances": distances_of(len(labels))} if name == "distance" else {}


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
@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_any_batch_shape_is_answered_row_by_row(head, name, batch):
    scorer = fitted(head, name)
    values = drawn(head, rows=6)[0][: int(np.prod(batch))].reshape(*batch, 6)
    for kind in (np.asarray, torch.as_tensor):
        answer = scorer.predict(kind(values))
        assert all(tuple(np.shape(part)) == batch for part in answer)
        assert tuple(scorer.predict_proba(kind(values)).shape) == (*batch, 7)


@pytest.mark.parametrize("name", [name for name in CALIBRATIONS if name not in ("posterior", "distance")])
def test_a_calibrator_that_keeps_the_order_keeps_the_top_class(name):
    scorer = fitted("slova", name)
    logits, _ = rows_of(1)
    np.testing.assert_array_equal(scorer.predict(logits).top, scorer.raw(logits).log_probs.argmax(axis=1))


def test_the_validation_rows_are_remembered_as_a_fit_that_did_not_see_them_answers():
    logits, labels = rows_of()
    scorer = Scorer.fit(logits, labels)
    curve = scorer.validation.risk_coverage
    assert curve.risk[-1] == pytest.approx(np.mean(scorer.predict(logits).top != labels), abs=0.01)
    answered = scorer.predict(logits).confidence >= scorer.threshold(coverage=0.5, delta=None)
    assert np.mean(answered) == pytest.approx(0.5, abs=0.02)
    assert len(scorer.conformity.scores) == len(labels)


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
    answer = Scorer.fit(logits, labels, head="slova", calibration=None).predict(logits)
    assert answer.confidence == pytest.approx(np.exp(log_slova(logits)).max(axis=1))
    assert answer.none == pytest.approx(np.exp(log_none(logits)))
    others = np.sort(np.exp(log_slova(logits)), axis=1)[:, :-1].sum(axis=1)
    assert answer.ambiguous == pytest.approx(np.exp(log_several(logits)) + others)


def test_without_none_rows_softmax_has_no_none_and_one_vs_all_splits_like_its_evidence():
    logits, labels = rows_of(none=0)
    assert np.all(Scorer.fit(logits, labels, head="softmax").predict(logits).none == 0)
    answer = Scorer.fit(logits, labels, head="slova").predict(logits)
    evidence = np.exp(log_none(logits)) / (1 - np.exp(log_slova(logits)).max(axis=1))
    assert answer.none == pytest.approx((1 - answer.confidence) * evidence, abs=1e-9)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
@pytest.mark.parametrize("calibration", ["posterior", "exponential", "temperature"])
def test_none_is_calibrated_on_rows_of_none(calibration):
    logits, labels = rows_of()
    fresh, truth = rows_of(1)
    with_none = Scorer.fit(logits, labels, head="slova", calibration=calibration)
    before, after = np.exp(log_none(fresh)), with_none.predict(fresh).none
    assert np.mean((after - (truth == NONE)) ** 2) < np.mean((before - (truth == NONE)) ** 2)
    assert after.mean() == pytest.approx(np.mean(truth == NONE), abs=0.04)


def test_the_prior_of_none_can_be_set():
    logits, labels = rows_of()
    share = Scorer.fit(logits, labels).predict(logits).none.mean()
    rare = Scorer.fit(logits, labels, none_share=0.02).predict(logits).none.mean()
    assert rare < share / 2
    with pytest.raises(ValueError, match="none_share must be None with calibration='temperature'"):
        Scorer.fit(logits, labels, calibration="temperature", none_share=0.1)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
def test_calibration_brings_the_confidence_to_the_accuracy():
    logits, labels = rows_of(rows=4000)
    fresh, truth = rows_of(1, rows=4000)

    def error(calibration):
        return Scorer.fit(logits, labels, head="slova", calibration=calibration).evaluate(fresh, truth).ece.value

    def top(*rows, weight=None):
        return ExponentialCalibration.fit(*rows, which="top", weight=weight)

    assert error(top) < 0.5 * error(None)
    assert error(top) < 0.1
    assert error("posterior") < 0.03


def test_a_bad_fit_warns_once_at_the_line_of_the_caller():
    logits, labels = rows_of(rows=4000)
    with pytest.warns(CalibrationWarning, match=r"ECE is .* use the default, calibration=\"posterior\"") as caught:
        Scorer.fit(logits, labels, head="ova", calibration=lambda rows, _, weight=None: BetaCalibration(1, 1, 0))
    assert [warning.filename for warning in caught] == [__file__]


def test_labels_in_another_order_than_the_columns_warn():
    logits, labels = rows_of(rows=1000, none=0)
    with pytest.warns(CalibrationWarning, match="check that labels and rows have the same order") as caught:
        Scorer.fit(logits, (labels + 1) % 6)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_a_prediction_set_holds_the_true_outcome_as_often_as_stated(exact, per_class):
    logits, labels = rows_of(rows=3000)
    fresh, truth = rows_of(1, rows=3000)
    more, of_more = rows_of(2, rows=1500)
    given = {"calibration_logits": more, "calibration_labels": of_more} if exact else {}
    sets = Scorer.fit(logits, labels).predict_set(fresh, coverage=0.9, per_class=per_class, **given)
    assert sets.shape == (3000, 7)
    assert np.mean(sets[np.arange(3000), truth]) == pytest.approx(0.9, abs=0.03)
    assert sets.sum(axis=1).min() >= 1
    with pytest.raises(ValueError, match="was not fitted on a validation set: give calibration_logits"):
        Scorer(classes=6).predict_set(fresh)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_values_of_another_kind_than_those_of_the_fit_are_an_error(kind):
    logits, labels = rows_of(none=0)
    probs = values_of("probabilities", logits)
    fits = Scorer.fit(logits, labels), Scorer.fit(probs, labels)
    for call in (Scorer.predict, Scorer.predict_proba, lambda scorer, rows: scorer.evaluate(rows, labels)):
        with pytest.raises(ValueError, match="fitted to logits, got rows of probabilities that sum to one"):
            call(fits[0], kind(probs))
        with pytest.raises(ValueError, match="fitted to probabilities, got values from"):
            call(fits[1], kind(logits))


@pytest.mark.parametrize("shape", [(1500,), (1500, 1)])
@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_one_column_is_a_problem_of_two_classes(shape, kind):
    logits, labels = rows_of(classes=2, none=0)
    margin = (logits[:, 1] - logits[:, 0]).reshape(shape)
    for head, values in (("binary", margin), ("binary_probabilities", 1 / (1 + np.exp(-margin)))):
        scorer = Scorer.fit(kind(values), labels)
        assert (scorer.head.name, scorer.classes) == (head, 2)
        answer = scorer.predict(kind(values))
        assert tuple(answer.label.shape) == (1500,)
        assert np.mean(np.asarray(answer.label) == labels) > 0.85
        assert tuple(scorer.predict_proba(kind(values)).shape) == (1500, 3)


def test_nan_is_answered_with_none():
    logits = np.array([[np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]])
    scorer = Scorer.fit(*rows_of())
    for kind in (np.asarray, torch.as_tensor):
        answer = scorer.predict(kind(logits))
        assert answer.label[0] == NONE
        assert np.isnan(float(answer.confidence[0]))


@given(st.integers(0, 2**31), st.sampled_from([0.1, 0.2, 0.3]))
@settings(max_examples=10, deadline=None)
def test_the_threshold_keeps_its_risk_on_fresh_rows(seed, risk):
    logits, labels = rows_of(seed, rows=600)
    scorer = Scorer.fit(logits, labels)
    try:
        reject = scorer.threshold(risk=risk)
    except ValueError as error:
        assert "no threshold guarantees" in str(error)  # noqa: PT017
        return
    fresh, truth = rows_of(seed + 1, rows=4000)
    for kind in (np.asarray, torch.as_tensor):
        label = np.asarray(scorer.predict(kind(fresh), reject=reject).label)
        assert np.mean((label != truth)[label != NONE]) <= risk + 0.05


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
    for name in ("ece_before", "ece_after", "nll_after"):
        assert getattr(weighted.report, name) == pytest.approx(getattr(repeated.report, name))
    for guarantee in ({"risk": 0.3}, {"risk": 0.25, "delta": None}, {"coverage": 0.4}):
        assert weighted.threshold(**guarantee) == repeated.threshold(**guarantee)
    halved = Scorer.fit(logits, labels, calibration=None, weight=weight / 2)
    assert halved.threshold(risk=0.25, delta=None) == weighted.threshold(risk=0.25, delta=None)
    with pytest.raises(ValueError, match="weights that are not whole numbers"):
        halved.threshold(risk=0.3)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
@pytest.mark.parametrize("calibration", [name for name in CALIBRATIONS if name not in ("posterior", "distance")])
@pytest.mark.parametrize("total", [1.0, 2.0**64])
def test_the_sum_of_weights_has_no_effect(calibration, total):
    logits, labels = rows_of()
    weight = 1.0 + np.arange(len(labels)) % 3
    scorers = [
        Scorer.fit(logits, labels, head="slova", calibration=CALIBRATIONS[calibration], weight=weight * scale)
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
    with pytest.raises(ValueError, match=r"the head 'mine' is not one of slova, ova, softmax, .* and cannot be saved"):
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
