"""Prediction sets of a SlovaClassifier: booleans per class in the order of `classes_`, NONE last."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from slova.sklearn import SlovaClassifier

NAMES = np.array(["cedar", "ash", "beech", "unknown"])
ORDER = ["ash", "beech", "cedar", "unknown"]  # of the columns

pytestmark = pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")


@pytest.fixture(scope="module")
def trees():
    """Rows (X, y) of three species that overlap, and of none of them, by a seed of their order."""
    centers = [(0, 3), (3, 0), (-3, -1), (4, 6)]
    X, y = make_blobs([3000, 3000, 2000, 1000], centers=centers, cluster_std=1.6, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    return [(X[rows], NAMES[y[rows]]) for rows in np.split(order, [1500, 3000])]


@pytest.fixture(scope="module")
def model(trees):
    return SlovaClassifier(LogisticRegression(), none_label="unknown").fit(*trees[0])


def truth(y):
    return np.array([ORDER.index(name) for name in y])


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_sets_hold_the_true_class_or_none_as_often_as_stated(model, trees, exact, per_class):
    given = {"calibration_X": trees[1][0], "calibration_y": trees[1][1]} if exact else {}
    X, y = trees[2]
    sets = model.predict_set(X, coverage=0.9, per_class=per_class, **given)
    assert sets.dtype == bool
    assert sets.shape == (len(y), 4)
    found = sets[np.arange(len(y)), truth(y)]
    assert found.mean() == pytest.approx(0.9, abs=0.03)
    each = [found[y == name].mean() for name in ORDER]
    assert (min(each) > 0.85) == per_class
    assert sets.sum(axis=1).min() >= 1


def test_sets_are_those_of_the_scorer_in_the_order_of_the_classes(model, trees):
    (X, y), more = trees[1], trees[2]
    sets = model.predict_set(more[0], coverage=0.8, calibration_X=X, calibration_y=list(y))
    probs = model.predict_proba_with_none(X)
    scores, k = probs[np.arange(len(y)), truth(y)], int((1 - 0.8) * (len(y) + 1))
    probs = model.predict_proba_with_none(more[0])
    expected = (probs >= np.sort(scores)[k - 1]) | (probs == probs.max(axis=1, keepdims=True))
    np.testing.assert_array_equal(sets, expected)
    assert list(model.classes_) == ORDER[:3]


def test_sets_after_partial_fit_need_labelled_rows(trees):
    stream = SlovaClassifier(GaussianNB(), none_label="unknown")
    X, y = trees[0]
    for rows in np.split(np.arange(1500), 3):
        stream.partial_fit(X[rows], y[rows], classes=ORDER[:3])
    with pytest.raises(ValueError, match="predict_set requires calibration_X and calibration_y: no row of fit is left"):
        stream.predict_set(X)
    sets = stream.predict_set(trees[2][0], calibration_X=trees[1][0], calibration_y=trees[1][1])
    assert sets[np.arange(len(sets)), truth(trees[2][1])].mean() == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["coverage"], r"coverage must lie in \(0, 1\), got 95"),
        (["calibration_X"], "requires y to be passed"),
        (["calibration_y"], "X does not contain any features"),
        (["calibration_X", "calibration_y"], r"inconsistent numbers of samples: \[1500, 10\]"),
    ],
)
def test_what_is_missing_or_does_not_match_is_an_error_of_sets_and_thresholds(model, trees, given, message):
    values = {"coverage": 95, "calibration_X": trees[1][0], "calibration_y": trees[1][1][:10]}
    with pytest.raises(ValueError, match=message):
        model.predict_set(trees[2][0], **{name: values[name] for name in given})
    if given != ["coverage"]:
        with pytest.raises(ValueError, match=message):
            model.threshold(**{name.removeprefix("calibration_"): values[name] for name in given}, risk=0.5)


def test_sets_of_a_pipeline_take_what_the_pipeline_takes():
    texts = np.array(["red leaf", "green leaf", "red fruit", "green fruit"] * 30)
    names = np.array(["maple", "oak", "apple", "pear"] * 30)
    around = SlovaClassifier(make_pipeline(CountVectorizer(), LogisticRegression(C=100))).fit(texts, names)
    given = {"calibration_X": texts.tolist(), "calibration_y": names}
    np.testing.assert_array_equal(around.predict_set(texts[:4], **given).argmax(axis=1), [1, 2, 0, 3])


def test_sets_need_a_fit():
    with pytest.raises(NotFittedError):
        SlovaClassifier().predict_set([[0.0]])
