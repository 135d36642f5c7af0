"""What a SlovaClassifier says: labels of any kind, "none of these", and probabilities that are what they are called."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from slova.heads import log_slova
from slova.scorer import Scorer
from slova.sklearn import SlovaClassifier
from slova.sklearn.contract import completed

pytestmark = pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")


@pytest.fixture(scope="module")
def blobs():
    """Three classes in a triangle, and rows of none of them far away; (X, names), (far X)."""
    X, y = make_blobs(300, centers=[(0, 4), (4, 0), (-4, -1)], cluster_std=1.5, random_state=0)
    return X, np.array(["ash", "beech", "cedar"])[y], np.random.default_rng(0).normal((14, 12), 1.0, (100, 2))


def test_slova_proba_is_eq_3_of_the_members_own_log_odds(blobs):
    X, y, _ = blobs
    classifier = SlovaClassifier().fit(X, y)
    models = [LogisticRegression().fit(X, y == name) for name in classifier.classes_]
    logits = np.column_stack([model.decision_function(X) for model in models])
    np.testing.assert_allclose(classifier.ova_proba(X), expit(logits))
    np.testing.assert_allclose(classifier.slova_proba(X), np.exp(log_slova(logits)))
    np.testing.assert_allclose(classifier.none_proba(X), np.prod(1 - expit(logits), axis=1))


def test_two_classes_have_two_members_so_that_none_and_several_differ(blobs):
    X, y, _ = blobs
    two = y != "cedar"
    classifier = SlovaClassifier(RandomForestClassifier(10, max_depth=2, random_state=0)).fit(X[two], y[two])
    assert len(classifier.members_.models) == 2
    prefit = SlovaClassifier(LogisticRegression().fit(X[two], y[two]), cv="prefit").fit(X[two], y[two])
    raw, none = prefit.slova_proba(X), prefit.none_proba(X)
    np.testing.assert_allclose(1 - raw.sum(axis=1) - none, none, atol=1e-12)  # one column: none equals several


@pytest.mark.parametrize("base", [LogisticRegression(), KNeighborsClassifier(), RidgeClassifier()])
def test_predict_is_the_argmax_of_predict_proba_even_where_the_confidence_is_below_one_in_k(blobs, base):
    X, y, far = blobs
    grid = np.vstack([X, far, np.random.default_rng(1).uniform(-30, 30, (1000, 2))])
    classifier = SlovaClassifier(base, none_label="?").fit(np.vstack([X, far]), np.append(y, np.full(len(far), "?")))
    probs, decision, confidence = (
        say(grid) for say in (classifier.predict_proba, classifier.decision_function, classifier.confidence)
    )
    assert (confidence < 1 / 3).any()
    for columns in (probs, decision, classifier.slova_proba(grid)):
        np.testing.assert_array_equal(classifier.classes_[columns.argmax(axis=1)], classifier.predict(grid))
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    np.testing.assert_allclose(probs.max(axis=1), np.maximum(confidence, 1 / 3), atol=1e-6)


def test_tied_classes_complete_to_a_row_whose_argmax_is_the_first_of_them():
    tops = np.linspace(0.34, 0.49, 200)
    log_probs = np.log(np.column_stack([tops, tops, np.full(200, 1e-9)]))
    probs = completed(log_probs, np.zeros((200, 1), int))
    np.testing.assert_array_equal(probs.argmax(axis=1), 0)
    np.testing.assert_allclose(probs.sum(axis=1), 1)


@pytest.mark.parametrize(("names", "none"), [(["a", "b", "long"], "a longer one"), ([5, -1, 7], -2), ([0.5, 1, 2], -1)])
def test_rejected_rows_have_the_none_label_whatever_the_labels_are(blobs, names, none):
    X, y, _ = blobs
    y = np.array(names)[np.searchsorted(["ash", "beech", "cedar"], y)] if names != [0.5, 1, 2] else (y == "ash") * 1.0
    classifier = SlovaClassifier(none_label=none, reject_threshold=0.9).fit(X, y)
    sure = classifier.confidence(X) >= 0.9
    answers = classifier.predict(X)
    assert 0 < sure.sum() < len(X)
    assert (answers[~sure] == none).all()
    np.testing.assert_array_equal(answers[sure], SlovaClassifier().fit(X, y).predict(X)[sure])
    assert answers.dtype.kind == y.dtype.kind
    assert none not in classifier.classes_


def test_object_strings_stay_objects(blobs):
    X, y, _ = blobs
    answers = SlovaClassifier(none_label="?", reject_threshold=0.9).fit(X, y.astype(object)).predict(X)
    assert answers.dtype == object
    assert set(answers) == {"ash", "beech", "cedar", "?"}


def test_a_threshold_without_a_none_label_is_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(ValueError, match=r"reject_threshold=0\.5 wants a none_label"):
        SlovaClassifier(reject_threshold=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 50"):
        SlovaClassifier(reject_threshold=50, none_label="?").fit(X, y)


def test_a_none_label_that_is_a_class_or_of_another_kind_is_refused(blobs):
    X, y, _ = blobs
    fitted = SlovaClassifier().fit(X, y)
    with pytest.raises(ValueError, match="none_label='ash' is one of the classes"):
        fitted.set_params(none_label="ash").predict(X)
    with pytest.raises(ValueError, match="none_label='ash' is one of the classes"):
        SlovaClassifier(LogisticRegression().fit(X, y), cv="prefit", none_label="ash").fit(X, y)
    with pytest.raises(ValueError, match="none_label=-1 is not of the kind of the labels"):
        SlovaClassifier(none_label=-1).fit(X, y)
    with pytest.raises(ValueError, match="wanted at least two classes beside none_label, got 1 class"):
        SlovaClassifier(none_label=-1).fit(X, np.where(y == "ash", -1, 1))


def test_rows_of_none_teach_the_members_to_refuse_and_calibrate_p_none(blobs):
    X, y, far = blobs
    forest = RandomForestClassifier(20, random_state=0)
    taught = SlovaClassifier(forest, none_label="?", reject_threshold=0.5)
    taught.fit(np.vstack([X, far[:50]]), np.append(y, np.full(50, "?")))
    untaught = SlovaClassifier(forest).fit(X, y)
    assert list(taught.classes_) == ["ash", "beech", "cedar"]
    assert (taught.predict(far[50:]) == "?").all()
    assert taught.none_proba(far[50:]).min() > 0.9
    assert untaught.none_proba(far[50:]).max() < 0.5
    assert taught.scorer_.none_is_calibrated
    assert not untaught.scorer_.none_is_calibrated
    assert (taught.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("base", [OneVsRestClassifier(LogisticRegression()), LogisticRegression(), SVC()])
def test_a_prefit_model_is_calibrated_as_it_is_on_the_rows_given(blobs, base):
    X, y, _ = blobs
    model = base.fit(X[:150], y[:150])
    classifier = SlovaClassifier(model, cv="prefit").fit(X[150:], y[150:])
    assert classifier.members_.model is model
    np.testing.assert_array_equal(classifier.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    labels = np.searchsorted(model.classes_, y[150:])
    scale = Scorer.fit(model.decision_function(X[150:]), labels, rescale=True).before
    assert classifier.scorer_.before == scale


def test_a_prefit_model_of_other_columns_or_labels_is_refused(blobs):
    X, y, _ = blobs
    four = np.where(X[:, 0] > 4, "oak", y)
    one_against_one = SVC(decision_function_shape="ovo").fit(X, four)
    with pytest.raises(ValueError, match=r"SVC\.decision_function gives 6 columns, wanted one for each of 4 classes"):
        SlovaClassifier(one_against_one, cv="prefit").fit(X, four)
    with pytest.raises(ValueError, match=r"labels .*oak.* not among the classes"):
        SlovaClassifier(LogisticRegression().fit(X, y), cv="prefit").fit(X, four)
    with pytest.raises(NotFittedError):
        SlovaClassifier(LogisticRegression(), cv="prefit").fit(X, y)


def test_a_member_answers_with_log_odds_where_it_can(blobs):
    X, y, _ = blobs
    answers = {base: SlovaClassifier(base).fit(X, y).members_.answer for base in (LogisticRegression(), SVC())}
    assert list(answers.values()) == [("decision_function", True), ("decision_function", False)]
    forest = SlovaClassifier(RandomForestClassifier(5, random_state=0)).fit(X, y)
    assert forest.members_.answer == ("predict_proba", True)
    by_probability = SlovaClassifier(response_method="predict_proba").fit(X, y)
    np.testing.assert_allclose(by_probability.ova_proba(X), SlovaClassifier().fit(X, y).ova_proba(X), atol=1e-12)
    with pytest.raises(TypeError, match="LinearRegression has no decision_function or predict_proba"):
        SlovaClassifier(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match=r"response_method must be .* got 'logits'"):
        SlovaClassifier(response_method="logits").fit(X, y)


def test_members_that_are_sure_do_not_tie():
    X, y = load_digits(return_X_y=True)
    classifier = SlovaClassifier(LogisticRegression(C=1e3, max_iter=20_000)).fit(X[:400] / 4, y[:400])
    probs, logits = classifier.ova_proba(100 * X[400:]), classifier.members_.logits(100 * X[400:])
    assert ((probs == 1).sum(axis=1) > 1).any()
    np.testing.assert_array_equal(classifier.predict(100 * X[400:]), logits.argmax(axis=1))


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import slova.sklearn"
    message = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert 'ImportError: slova.sklearn needs scikit-learn 1.6 or later: pip install "slova[sklearn]"' in message
    code = "import sys, slova.sklearn; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
