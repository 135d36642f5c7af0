"""The predictions of a SlovaClassifier: labels of any type, NONE, and probabilities."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from slova.heads import log_slova
from slova.scorer import Scorer
from slova.sklearn import SlovaClassifier
from slova.sklearn.calibration import class_probs
from slova.sklearn.models import Multiclass

pytestmark = [
    pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning"),
    pytest.mark.filterwarnings("ignore::slova._warnings.CalibrationWarning"),
]


@pytest.fixture(scope="module")
def blobs():
    """Three classes in a triangle, and rows of none of them far away; (X, names), (far X)."""
    X, y = make_blobs(300, centers=[(0, 4), (4, 0), (-4, -1)], cluster_std=1.5, random_state=0)
    return X, np.array(["ash", "beech", "cedar"])[y], np.random.default_rng(0).normal((14, 12), 1.0, (100, 2))


def test_the_raw_probabilities_of_one_vs_rest_members_are_eq_3_of_their_log_odds(blobs):
    X, y, _ = blobs
    classifier = SlovaClassifier(multiclass="ovr").fit(X, y)
    models = [LogisticRegression().fit(X, y == name) for name in classifier.classes_]
    logits = np.column_stack([model.decision_function(X) for model in models])
    np.testing.assert_allclose(classifier.raw_proba(X), np.exp(log_slova(logits)))
    none = np.prod(1 - expit(logits), axis=1)
    np.testing.assert_allclose(np.exp(classifier.scorer_.raw(logits).log_none), none)
    left, others = 1 - classifier.confidence(X), 1 - classifier.raw_proba(X).max(axis=1)
    np.testing.assert_allclose(classifier.none_proba(X), left * none / others, rtol=1e-6)


def test_two_classes_have_one_model_unless_it_must_learn_to_reject(blobs):
    X, y, far = blobs
    two = y != "cedar"
    for base in (RandomForestClassifier(10, max_depth=2, random_state=0), LogisticRegression(), LinearSVC()):
        for multiclass in ("auto", "ovr"):
            classifier = SlovaClassifier(base, multiclass=multiclass).fit(X[two], y[two])
            np.testing.assert_array_equal(classifier.predict(X), clone(base).fit(X[two], y[two]).predict(X))
            assert isinstance(classifier.models_, Multiclass)
    taught = SlovaClassifier(none_label="?").fit(np.vstack([X[two], far]), np.append(y[two], np.full(len(far), "?")))
    assert len(taught.models_.models) == 2


BASES = [
    GaussianNB(),
    RandomForestClassifier(20, random_state=0),
    LogisticRegression(max_iter=1000),
    LinearSVC(),
    KNeighborsClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_the_label_is_that_of_the_estimator_unless_the_posterior_improves_it(base):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))  # the rows are sorted by writer
    X, y = X[order] + np.random.default_rng(0).normal(0, 1, X.shape), y[order]
    own = clone(base).fit(X[:600], y[:600])
    kept = SlovaClassifier(base, cv=3, calibration="temperature").fit(X[:600], y[:600])
    np.testing.assert_array_equal(kept.predict(X[600:]), own.predict(X[600:]))
    posterior = SlovaClassifier(base, cv=3).fit(X[:600], y[:600])
    assert posterior.score(X[600:], y[600:]) > own.score(X[600:], y[600:]) - 0.01


def test_naive_bayes_keeps_its_accuracy_and_one_per_class_loses_some():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    (X, test), (y, truth) = np.split(X[order], [1000]), np.split(y[order], [1000])
    accuracy = [SlovaClassifier(GaussianNB(), multiclass=kind).fit(X, y).score(test, truth) for kind in ("auto", "ovr")]
    assert accuracy[0] >= GaussianNB().fit(X, y).score(test, truth)
    assert accuracy[0] > accuracy[1]


@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_forests_that_are_certain_do_not_ruin_the_log_loss(multiclass):
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0)
    classifier = SlovaClassifier(forest, cv=3, multiclass=multiclass).fit(X[:900], y[:900])
    own = forest.fit(X[:900], y[:900]).predict_proba(X[900:])
    losses = [log_loss(y[900:], probs) for probs in (classifier.predict_proba(X[900:]), own)]
    assert losses[0] < 0.8 < 2 < losses[1]


def test_probabilities_that_are_nan_are_an_error(blobs):
    X, y, _ = blobs

    class Broken(GaussianNB):
        def predict_proba(self, X):
            return np.where(X[:, :1] > 0, np.nan, super().predict_proba(X))

    with pytest.raises(ValueError, match=r"Broken\.predict_proba returned NaN or infinity for \d+ of 60 rows"):
        SlovaClassifier(Broken()).fit(X, y)


@pytest.mark.parametrize("base", [LogisticRegression(), KNeighborsClassifier(), RidgeClassifier()])
def test_predict_is_the_argmax_of_predict_proba_even_where_the_confidence_is_below_one_in_k(blobs, base):
    X, y, far = blobs
    grid = np.vstack([X, far, np.random.default_rng(1).uniform(-30, 30, (1000, 2))])
    classifier = SlovaClassifier(base, none_label="?").fit(np.vstack([X, far]), np.append(y, np.full(len(far), "?")))
    probs, decision, confidence = (
        say(grid) for say in (classifier.predict_proba, classifier.decision_function, classifier.confidence)
    )
    assert (confidence < 1 / 3).any()
    with_none = classifier.predict_proba_with_none(grid)
    np.testing.assert_allclose(with_none.sum(axis=1), 1)
    np.testing.assert_allclose(with_none[:, -1], classifier.none_proba(grid))
    for columns in (probs, decision, with_none[:, :-1]):
        np.testing.assert_array_equal(classifier.classes_[columns.argmax(axis=1)], classifier.predict(grid))
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    np.testing.assert_allclose((1 - with_none[:, -1]) * probs.max(axis=1), confidence, atol=1e-5)


@pytest.mark.parametrize("calibration", ["posterior", "exponential", "isotonic", None])
def test_tied_classes_have_a_row_whose_argmax_is_the_label(calibration):
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 3, (200, 3))
    scorer = Scorer.fit(logits, logits.argmax(axis=1) * (np.arange(200) % 3 > 0), head="slova", calibration=calibration)
    tops = generator.normal(0, 3, 200)
    ties = np.column_stack([tops, tops, np.full(200, -9.0)])
    probs = class_probs(scorer, ties)
    np.testing.assert_array_equal(probs.argmax(axis=1), scorer.predict(ties).top)
    np.testing.assert_allclose(probs.sum(axis=1), 1)


@pytest.mark.parametrize(("names", "none"), [(["a", "b", "long"], "a longer one"), ([5, -1, 7], -2), ([0.5, 1, 2], -1)])
def test_rejected_rows_have_the_none_label_whatever_the_labels_are(blobs, names, none):
    X, y, _ = blobs
    y = np.array(names)[np.searchsorted(["ash", "beech", "cedar"], y)] if names != [0.5, 1, 2] else (y == "ash") * 1.0
    classifier = SlovaClassifier(none_label=none, reject=0.9).fit(X, y)
    sure = classifier.confidence(X) >= 0.9
    answers = classifier.predict(X)
    assert 0 < sure.sum() < len(X)
    assert (answers[~sure] == none).all()
    np.testing.assert_array_equal(answers[sure], SlovaClassifier().fit(X, y).predict(X)[sure])
    assert answers.dtype.kind == y.dtype.kind
    assert none not in classifier.classes_


def test_object_strings_stay_objects(blobs):
    X, y, _ = blobs
    answers = SlovaClassifier(none_label="?", reject=0.9).fit(X, y.astype(object)).predict(X)
    assert answers.dtype == object
    assert set(answers) == {"ash", "beech", "cedar", "?"}


def test_a_threshold_without_a_none_label_is_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(ValueError, match=r"reject=0\.5 requires a none_label"):
        SlovaClassifier(reject=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"reject=0\.5 requires a none_label"):
        SlovaClassifier().fit(X, y).predict(X, reject=0.5)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 50"):
        SlovaClassifier(reject=50, none_label="?").fit(X, y)


def test_without_rejection_no_none_label_is_needed(blobs):
    X, y, _ = blobs
    classifier = SlovaClassifier(reject=0.0).fit(X, y)
    np.testing.assert_array_equal(classifier.predict(X), classifier.predict(X, reject=0.0))


def test_a_none_label_that_is_a_class_is_refused(blobs):
    X, y, _ = blobs
    fitted = SlovaClassifier().fit(X, y)
    with pytest.raises(ValueError, match="none_label='ash' must not be one of the classes"):
        fitted.set_params(none_label="ash").predict(X)
    with pytest.raises(ValueError, match="none_label='ash' must not be one of the classes"):
        SlovaClassifier(LogisticRegression().fit(X, y), cv="prefit", none_label="ash").fit(X, y)
    with pytest.raises(ValueError, match="at least two classes beside none_label, got 1 class"):
        SlovaClassifier(none_label=-1).fit(X, np.where(y == "ash", -1, 1))


@pytest.mark.parametrize("type", [str, object])
def test_the_type_of_the_none_label_matters_only_where_rows_are_rejected(blobs, type):
    X, y, _ = blobs
    for labels, none, name in ((y.astype(type), -1, "text"), ((y == "ash") * 1, "?", "int64"), (y == "ash", 2, "bool")):
        classifier = SlovaClassifier(none_label=none, reject=0.9).fit(X, labels)
        plain = SlovaClassifier().fit(X, labels)
        np.testing.assert_array_equal(classifier.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(answers := classifier.predict(X, reject=0.0), plain.predict(X))
        assert answers.dtype == labels.dtype
        expected = rf"reject=0\.9 requires a none_label of the type of the classes, which is {name}, got none_label="
        for model, given in ((classifier, {}), (plain.set_params(none_label=none), {"reject": 0.9})):
            with pytest.raises(ValueError, match=expected):
                model.predict(X, **given)


@pytest.mark.parametrize(
    ("names", "none", "type"),
    [(["a", "b", "-1"], -1, "text"), ([0, 1, -1], "-1", "int64"), ([0, 1, -1], -1.0, "int64")],
)
def test_a_none_label_that_only_looks_like_labels_of_the_rows_is_refused(blobs, names, none, type):
    X, y, _ = blobs
    y = np.array(names)[np.searchsorted(["ash", "beech", "cedar"], y)]
    found = repr(y.tolist()[y.tolist().index(names[2])])
    expected = f"none_label={none!r} must be of the type of the labels, which is {type}: {found} is one of them"
    with pytest.raises(ValueError, match=expected):
        SlovaClassifier(none_label=none).fit(X, y)


def test_none_rows_train_the_models_to_reject_and_calibrate_p_none(blobs):
    X, y, far = blobs
    forest = RandomForestClassifier(20, random_state=0)
    taught = SlovaClassifier(forest, none_label="?", reject=0.5)
    taught.fit(np.vstack([X, far[:50]]), np.append(y, np.full(50, "?")))
    untaught = SlovaClassifier(forest, multiclass="ovr").fit(X, y)
    assert list(taught.classes_) == ["ash", "beech", "cedar"]
    assert (taught.predict(far[50:]) == "?").all()
    assert taught.none_proba(far[50:]).min() > 0.8
    assert untaught.none_proba(far[50:]).max() < 0.5
    assert taught.scorer_.none == "calibrated"
    assert untaught.scorer_.none == "evidence"
    assert SlovaClassifier(forest).fit(X, y).scorer_.none == "absent"
    assert (taught.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("base", [OneVsRestClassifier(LogisticRegression()), LogisticRegression(), GaussianNB()])
def test_a_prefit_model_with_probabilities_is_read_by_them(blobs, base):
    X, y, _ = blobs
    model = base.fit(X[:150], y[:150])
    classifier = SlovaClassifier(model, cv="prefit", calibration=None).fit(X[150:], y[150:])
    assert classifier.models_.model is model
    np.testing.assert_array_equal(classifier.predict(X), model.predict(X))
    np.testing.assert_allclose(classifier.raw_proba(X), model.predict_proba(X), atol=0.05)
    assert (classifier.none_proba(X) == 0).all()


def test_a_prefit_decision_function_is_rescaled(blobs):
    X, y, _ = blobs
    model = SVC().fit(X[:150], y[:150])
    classifier = SlovaClassifier(model, cv="prefit").fit(X[150:], y[150:])
    labels = np.searchsorted(model.classes_, y[150:])
    assert classifier.scorer_.before == Scorer.fit(model.decision_function(X[150:]), labels, rescale=True).before


def test_the_scale_of_a_decision_function_of_two_classes_does_not_matter():
    X, y = make_blobs(400, centers=[(0, 0), (2, 0)], random_state=0)
    model = LinearSVC().fit(X[:200], y[:200])
    small = SlovaClassifier(model, cv="prefit", calibration=None).fit(X[200:], y[200:])
    model = copy.deepcopy(model)
    model.coef_, model.intercept_ = 7 * model.coef_, 7 * model.intercept_
    large = SlovaClassifier(model, cv="prefit", calibration=None).fit(X[200:], y[200:])
    np.testing.assert_allclose(large.predict_proba(X), small.predict_proba(X), atol=1e-4)
    assert log_loss(y[200:], large.predict_proba(X[200:])) < 0.45


def test_a_prefit_model_of_other_columns_or_labels_is_refused(blobs):
    X, y, _ = blobs
    four = np.where(X[:, 0] > 4, "oak", y)
    one_against_one = SVC(decision_function_shape="ovo").fit(X, four)
    with pytest.raises(ValueError, match=r"SVC\.decision_function must have one column for each of 4 classes, got 6"):
        SlovaClassifier(one_against_one, cv="prefit").fit(X, four)
    with pytest.raises(ValueError, match=r"labels .*oak.* not among the classes"):
        SlovaClassifier(LogisticRegression().fit(X, y), cv="prefit").fit(X, four)
    with pytest.raises(NotFittedError):
        SlovaClassifier(LogisticRegression(), cv="prefit").fit(X, y)


def test_models_are_read_by_log_odds_where_these_are_exact(blobs):
    X, y, _ = blobs
    forest = RandomForestClassifier(5, random_state=0)
    cases = [
        (LogisticRegression(), "auto", ("decision_function", "softmax", False)),
        (forest, "auto", ("predict_proba", "softmax", False)),
        (SVC(), "auto", ("decision_function", "slova", True)),
        (LogisticRegression(), "ovr", ("decision_function", "slova", False)),
        (forest, "ovr", ("predict_proba", "slova", False)),
        (SVC(), "ovr", ("decision_function", "slova", True)),
    ]
    for base, multiclass, expected in cases:
        response = SlovaClassifier(base, multiclass=multiclass, calibration=None).fit(X, y).models_.response
        assert (response.method, response.head, response.rescale) == expected
    by_probability, by_odds = (
        SlovaClassifier(response_method=method, calibration=None).fit(X, y).raw_proba(X)
        for method in ("predict_proba", "auto")
    )
    np.testing.assert_allclose(by_probability, by_odds, atol=0.05)


def test_unknown_options_are_refused(blobs):
    X, y, _ = blobs
    with pytest.raises(TypeError, match="LinearRegression has no decision_function or predict_proba"):
        SlovaClassifier(LinearRegression(), multiclass="ovr").fit(X, y)
    with pytest.raises(ValueError, match=r"response_method must be .* got 'logits'"):
        SlovaClassifier(response_method="logits").fit(X, y)
    with pytest.raises(ValueError, match=r"multiclass must be 'auto', 'native' or 'ovr', got 'ovo'"):
        SlovaClassifier(multiclass="ovo").fit(X, y)
    with pytest.raises(ValueError, match=r"calibration must be one of posterior, .* got 'platt'"):
        SlovaClassifier(calibration="platt").fit(X, y)


@pytest.mark.parametrize(
    "calibration", ["posterior", "exponential", "temperature", "beta", "isotonic", "histogram", None]
)
def test_every_calibration_has_rows_that_sum_to_one(blobs, calibration):
    X, y, _ = blobs
    classifier = SlovaClassifier(GaussianNB(), calibration=calibration).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1)
    assert log_loss(y, classifier.predict_proba(X)) < 0.5


def test_a_threshold_bounds_the_risk_of_new_rows_and_reaches_the_coverage():
    X, y = make_blobs(3000, centers=[(0, 0), (2, 0), (0, 2)], random_state=0)
    classifier = SlovaClassifier(none_label=-1).fit(X[:1000], y[:1000])
    for rows in ((), (X[1000:2000], y[1000:2000])):
        answers = classifier.predict(X[2000:], reject=classifier.threshold(*rows, risk=0.1))
        answered = answers != -1
        assert 0.3 < answered.mean() < 1
        assert (answers != y[2000:])[answered].mean() < 0.1
        answers = classifier.predict(X[2000:], reject=classifier.threshold(*rows, coverage=0.7))
        assert (answers != -1).mean() == pytest.approx(0.7, abs=0.05)
    classifier.set_params(reject=classifier.threshold(coverage=0.7))
    answers = classifier.predict(X)
    assert classifier.score(X, y) == ((answers == y) & (answers != -1)).mean()  # a rejected row is an error


def test_models_that_are_certain_do_not_tie():
    X, y = load_digits(return_X_y=True)
    for multiclass in ("auto", "ovr"):
        model = LogisticRegression(C=1e3, max_iter=20_000)
        classifier = SlovaClassifier(model, multiclass=multiclass, calibration="exponential")
        classifier.fit(X[:400] / 4, y[:400])
        logits = classifier.models_.logits(100 * X[400:])
        np.testing.assert_array_equal(classifier.predict(100 * X[400:]), logits.argmax(axis=1))


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import slova.sklearn"
    message = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert 'ImportError: slova.sklearn needs scikit-learn 1.6 or later: pip install "slova[sklearn]"' in message
    code = "import sys, slova.sklearn; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
