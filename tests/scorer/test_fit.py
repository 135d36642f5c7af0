"""What a fit finds, says and refuses: kinds of values, NONE, bad fits, prediction sets, files."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from slova._warnings import CalibrationWarning
from slova.artifact import ArtifactError
from slova.calibration import (
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    PosteriorCalibration,
    SmallValidationWarning,
    posterior,
)
from slova.heads import NONE, PROBABILITIES, SLOVA, SOFTMAX, log_none, log_several, log_slova
from slova.scorer import Scorer


def test_a_damaged_file_is_refused(rows_of, tmp_path):
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


def test_uncalibrated_numbers_are_those_of_the_heads(rows_of):
    logits, labels = rows_of(none=0)
    answer = Scorer.fit(logits, labels, head="slova", calibration=None).predict(logits)
    assert answer.confidence == pytest.approx(np.exp(log_slova(logits)).max(axis=1))
    assert answer.none == pytest.approx(np.exp(log_none(logits)))
    others = np.sort(np.exp(log_slova(logits)), axis=1)[:, :-1].sum(axis=1)
    assert answer.ambiguous == pytest.approx(np.exp(log_several(logits)) + others)


def test_without_none_rows_softmax_has_no_none_and_one_vs_all_splits_like_its_evidence(rows_of):
    logits, labels = rows_of(none=0)
    assert np.all(Scorer.fit(logits, labels, head="softmax").predict(logits).none == 0)
    answer = Scorer.fit(logits, labels, head="slova").predict(logits)
    evidence = np.exp(log_none(logits)) / (1 - np.exp(log_slova(logits)).max(axis=1))
    assert answer.none == pytest.approx((1 - answer.confidence) * evidence, abs=1e-9)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
@pytest.mark.parametrize("calibration", ["posterior", "exponential", "temperature"])
def test_none_is_calibrated_on_rows_of_none(rows_of, calibration):
    logits, labels = rows_of()
    fresh, truth = rows_of(1)
    with_none = Scorer.fit(logits, labels, head="slova", calibration=calibration)
    before, after = np.exp(log_none(fresh)), with_none.predict(fresh).none
    assert np.mean((after - (truth == NONE)) ** 2) < np.mean((before - (truth == NONE)) ** 2)
    assert after.mean() == pytest.approx(np.mean(truth == NONE), abs=0.04)


def test_the_prior_of_none_can_be_set(rows_of):
    logits, labels = rows_of()
    share = Scorer.fit(logits, labels).predict(logits).none.mean()
    rare = Scorer.fit(logits, labels, none_share=0.02).predict(logits).none.mean()
    assert rare < share / 2
    with pytest.raises(ValueError, match="none_share must be None with calibration='temperature'"):
        Scorer.fit(logits, labels, calibration="temperature", none_share=0.1)
    known = labels != NONE
    with pytest.raises(ValueError, match="none_share is the prior of NONE, and no row is labelled NONE"):
        Scorer.fit(logits[known], labels[known], none_share=0.1)


@pytest.mark.filterwarnings("ignore:the calibration is not good")
def test_calibration_brings_the_confidence_to_the_accuracy(rows_of):
    logits, labels = rows_of(rows=4000)
    fresh, truth = rows_of(1, rows=4000)

    def error(calibration):
        return Scorer.fit(logits, labels, head="slova", calibration=calibration).evaluate(fresh, truth).ece.value

    def top(*rows, weight=None):
        return ExponentialCalibration.fit(*rows, which="top", weight=weight)

    assert error(top) < 0.5 * error(None)
    assert error(top) < 0.1
    assert error("posterior") < 0.03


def test_a_bad_fit_warns_once_at_the_line_of_the_caller(rows_of):
    logits, labels = rows_of(rows=4000)
    with pytest.warns(CalibrationWarning, match=r"ECE is .* use the default, calibration=\"posterior\"") as caught:
        Scorer.fit(logits, labels, head="ova", calibration=lambda rows, _, weight=None: BetaCalibration(1, 1, 0))
    assert [warning.filename for warning in caught] == [__file__]


def test_few_rows_are_said_to_be_few_and_all_right_ones_are_no_bad_fit(rows_of):
    logits, labels = rows_of(rows=300, none=0)
    right = np.flatnonzero(logits.argmax(axis=1) == labels)[:12]
    for chosen in (np.arange(12), right):
        with pytest.warns(UserWarning, match="12 rows of a class are few: below 30 only a temperature") as caught:
            Scorer.fit(logits[chosen], labels[chosen])
        assert [(warning.category, warning.filename) for warning in caught] == [(SmallValidationWarning, __file__)]


@pytest.mark.parametrize(("count", "said"), [(1, "1 row of a class is few"), (2, "2 rows of a class are few")])
def test_one_row_is_a_row(rows_of, count, said):
    logits, labels = rows_of(rows=300, none=0)
    with pytest.warns(SmallValidationWarning, match=f"^{said}: below 30 only"):
        Scorer.fit(logits[:count], labels[:count], head="ova")


def test_the_remedy_names_a_head_only_if_it_was_recognised(rows_of):
    logits, labels = rows_of(rows=4000)
    for head, named in (("slova", False), ("auto", True)):
        with pytest.warns(CalibrationWarning, match="ECE is") as caught:
            Scorer.fit(logits, labels, head=head, calibration=lambda rows, _, weight=None: BetaCalibration(9, 9, 9))
        assert ("head=" in str(caught[0].message)) == named


@pytest.mark.parametrize("order", [[1, 2, 3, 4, 5, 0], [0, 1, 2, 3, 5, 4]])
def test_labels_in_another_order_than_the_columns_warn_once(rows_of, order):
    """Also where most classes are in their places."""
    logits, labels = rows_of(rows=1000, none=0)
    with pytest.warns(CalibrationWarning, match="if the columns had another order: label k must be column k") as caught:
        Scorer.fit(logits, np.array(order)[labels])
    assert [warning.filename for warning in caught] == [__file__]


def test_a_poor_network_whose_classes_are_in_their_places_is_not_told_to_move_them(rows_of):
    logits, labels = rows_of(rows=1000, none=0)
    labels[::2] = np.random.default_rng(0).permutation(labels[::2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Scorer.fit(logits, labels, head="slova")


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_a_prediction_set_holds_the_true_outcome_as_often_as_stated(rows_of, exact, per_class):
    logits, labels = rows_of(rows=3000)
    fresh, truth = rows_of(1, rows=3000)
    more, of_more = rows_of(2, rows=1500)
    given = {"calibration_logits": more, "calibration_labels": of_more} if exact else {}
    sets = Scorer.fit(logits, labels).predict_set(fresh, coverage=0.9, per_class=per_class, **given)
    assert sets.shape == (3000, 7)
    assert np.mean(sets[np.arange(3000), truth]) == pytest.approx(0.9, abs=0.03)
    assert sets.sum(axis=1).min() >= 1
    with pytest.raises(ValueError, match="predict_set needs labelled rows: calibration_logits"):
        Scorer(classes=6).predict_set(fresh)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_values_of_another_kind_than_those_of_the_fit_are_an_error(rows_of, values_of, kind):
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
def test_one_column_is_a_problem_of_two_classes(rows_of, shape, kind):
    logits, labels = rows_of(classes=2, none=0)
    margin = (logits[:, 1] - logits[:, 0]).reshape(shape)
    for head, values in (("binary", margin), ("binary_probabilities", 1 / (1 + np.exp(-margin)))):
        scorer = Scorer.fit(kind(values), labels)
        assert (scorer.head.name, scorer.classes) == (head, 2)
        answer = scorer.predict(kind(values))
        assert tuple(answer.label.shape) == (1500,)
        assert np.mean(np.asarray(answer.label) == labels) > 0.85
        assert tuple(scorer.predict_proba(kind(values)).shape) == (1500, 3)


def test_a_head_of_ones_own_works_but_cannot_be_saved(rows_of, tmp_path):
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


@pytest.mark.parametrize(("rows", "choices"), [(500, 6), (2500, 1)])
def test_with_many_rows_the_part_of_the_default_calibrator_is_chosen_once(rows, choices, monkeypatch):
    generator, seen = np.random.default_rng(0), []
    labels = generator.integers(0, 3, rows)
    logits = generator.normal(size=(rows, 3)) + np.eye(3)[labels]
    choose = posterior.choose
    monkeypatch.setattr(posterior, "choose", lambda *given: seen.append(given) or choose(*given))
    Scorer.fit(logits, labels, head="slova")
    assert len(seen) == choices


def test_versions_of_rows_help_the_fit_and_are_in_no_guarantee(rows_of):
    logits, labels = rows_of(1, rows=600, none=0.0)
    worse = logits + np.random.default_rng(0).normal(0, 2, logits.shape)
    unknown, none = rows_of(2, rows=600, none=1.0)
    rows, column = np.vstack([logits, worse, unknown]), np.concatenate([labels, labels, none])
    versions = np.tile(np.arange(600), 3)
    fitted = Scorer.fit(rows, column, versions_of=versions, none_share=0.05)
    assert fitted.none == "calibrated"
    assert (fitted.report.rows, fitted.report.none_rows) == (600, 0)
    assert fitted.validation.count.sum() == len(fitted.conformity.scores) == 600
    plain = Scorer.fit(logits, labels).report
    assert fitted.report.ece_before == plain.ece_before
    assert fitted.report.accuracy == plain.accuracy


def test_a_tilt_that_only_versions_have_changes_no_top_class(rows_of):
    logits, labels = rows_of(1, rows=1000, none=0.0)
    tilted = logits + np.linspace(-3, 3, 6)
    rows, column, versions = np.vstack([logits, tilted]), np.tile(labels, 2), np.tile(np.arange(1000), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Scorer.fit(rows, column, head="slova", versions_of=versions)
        mixed = Scorer.fit(rows, column, head="slova")
    assert (fitted.predict(logits).top == logits.argmax(axis=1)).all()
    assert (mixed.predict(logits).top != logits.argmax(axis=1)).any()


def test_all_versions_of_a_row_are_in_one_fold(rows_of):
    """Labels are drawn: a fit that saw a copy of a row would know its label."""
    logits, _ = rows_of(3, rows=60, classes=40, none=0.0)
    labels = np.random.default_rng(0).integers(0, 40, 60)
    copies = [np.repeat(part, 5, axis=0) for part in (logits, labels)]
    versions = np.repeat(5 * np.arange(60), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = Scorer.fit(*copies, head="slova", versions_of=versions).report
        apart = Scorer.fit(*copies, head="slova").report
    assert together.rows == 60
    assert together.nll_after > apart.nll_after


@pytest.mark.parametrize("versions", [[0, 0, 1], [0, 1, 3], [-1, 1, 2], [0, 1], [0.0, 1.0, 2.0]])
def test_versions_must_be_of_rows_that_are_their_own(versions):
    with pytest.raises(ValueError, match=r"versions_of must hold|groups must be integers"):
        Scorer.fit(np.zeros((3, 2)), [0, 1, 0], versions_of=np.array(versions), head="slova")


@pytest.mark.filterwarnings("ignore::slova._warnings.CalibrationWarning")  # of a biased network
@pytest.mark.parametrize("calibration", ["posterior", "temperature", "exponential"])
def test_with_keep_order_no_top_class_changes(rows_of, calibration):
    logits, labels = rows_of(none=0.0)
    logits[:, 0] += 2
    kept = Scorer.fit(logits, labels, head="slova", calibration=calibration, keep_order=True).predict(logits)
    assert (kept.top == logits.argmax(axis=1)).all()
    if calibration == "posterior":
        free = Scorer.fit(logits, labels, head="slova").predict(logits)
        assert (free.top != logits.argmax(axis=1)).any(), "else the option has nothing to do"


@pytest.mark.parametrize("calibration", ["isotonic", "histogram"])
def test_keep_order_is_refused_where_it_cannot_be_kept(rows_of, calibration):
    with pytest.raises(ValueError, match=f"keep_order=True cannot be combined with calibration='{calibration}', which"):
        Scorer.fit(*rows_of(), head="slova", calibration=calibration, keep_order=True)


def test_keep_order_takes_a_partial_of_a_calibrator_that_keeps_it(rows_of):
    logits, labels = rows_of(none=0.0)
    fit = partial(ExponentialCalibration.fit, which="top")
    kept = Scorer.fit(logits, labels, head="slova", calibration=fit, keep_order=True).predict(logits)
    assert (kept.top == logits.argmax(axis=1)).all()
    with pytest.raises(ValueError, match="keep_order=True cannot be combined with"):
        Scorer.fit(logits, labels, head="slova", calibration=partial(HistogramBinning.fit), keep_order=True)


def test_a_partial_is_given_what_its_calibrator_takes(rows_of):
    logits, labels = rows_of()
    kinds = "posterior", partial(PosteriorCalibration.fit)
    fits = [Scorer.fit(logits, labels, head="slova", calibration=fit) for fit in kinds]
    np.testing.assert_array_equal(*(scorer.predict(logits).confidence for scorer in fits))


@pytest.mark.parametrize("head", ["probabilities", "ova_probabilities"])
def test_logits_are_no_probabilities_whatever_the_head_says(rows_of, head):
    logits, labels = rows_of()
    probs = np.full_like(logits, 1 / logits.shape[1])
    probs[-1] = logits[-1]  # one row is enough
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (logits, probs):
            found = f"the head {head} takes probabilities, got values from .* to .*: give probabilities, not logits"
            with pytest.raises(ValueError, match=found):
                Scorer.fit(values, labels, head=head)


def test_probabilities_are_no_logits_whatever_the_head_says(rows_of):
    logits, labels = rows_of(none=0.0)
    probs = np.exp(SOFTMAX(logits).log_probs)
    with pytest.raises(ValueError, match="the head softmax takes logits, got rows of probabilities that sum to one"):
        Scorer.fit(probs, labels, head="softmax")
    own = replace(PROBABILITIES, name="own")
    assert Scorer.fit(probs, labels, head=own, calibration=None).predict(probs).top.shape == labels.shape
