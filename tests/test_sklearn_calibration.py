"""A SlovaClassifier is calibrated on rows that its models were not fitted on: out of fold, or before partial_fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from slova.calibration import SmallValidationWarning
from slova.metrics import auroc, ece
from slova.sklearn import SlovaClassifier

small = pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
unskilled = pytest.mark.filterwarnings("ignore::slova._warnings.CalibrationWarning")


class Memory(ClassifierMixin, BaseEstimator):
    """Memorises the rows it was fitted on, guesses all others, and records which rows it was given."""

    asked: list = []  # noqa: RUF012  # (rows it had seen, rows it had not), over all clones

    def fit(self, X, y, sample_weight=None):
        self.known_ = {}
        return self.partial_fit(X, y, np.unique(y))

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.classes_ = self.classes_ if classes is None else np.asarray(classes)
        self.known_ = {**getattr(self, "known_", {}), **dict(zip(X[:, 0], y, strict=True))}
        return self

    def predict_proba(self, X):
        seen = np.array([number in self.known_ for number in X[:, 0]])
        self.asked.append((int(seen.sum()), int((~seen).sum())))
        guess = self.classes_[(np.abs(1e6 * X[:, 0]) % len(self.classes_)).astype(int)]
        top = [self.known_.get(number, other) for number, other in zip(X[:, 0], guess, strict=True)]
        return 0.9 * (np.asarray(top)[:, None] == self.classes_) + 0.1 / len(self.classes_)


def noise(rows=600, seed=0):
    generator = np.random.default_rng(seed)
    return generator.random((rows, 1)), generator.integers(0, 3, rows)


@unskilled
@pytest.mark.parametrize(
    "cv", [5, ShuffleSplit(10, random_state=0), RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)]
)
@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_no_row_calibrates_a_model_that_was_fitted_on_it(cv, multiclass):
    Memory.asked.clear()
    X, y = noise()
    classifier = SlovaClassifier(Memory(), cv=cv, multiclass=multiclass).fit(X, y)
    assert sum(seen for seen, _ in Memory.asked) == 0
    assert sum(unseen for _, unseen in Memory.asked) >= (600 if classifier.multiclass == "auto" else 3 * 600)
    assert (classifier.models_.logits(X).argmax(axis=1) == y).all()  # the models that are kept know every row,
    assert classifier.confidence(noise(seed=1)[0]).mean() < 0.45  # but the calibration has seen no skill


def test_splits_that_overlap_are_refused():
    X, y = noise(30)
    rows = np.arange(30)
    with pytest.raises(ValueError, match="must not overlap, got 5 rows in both parts"):
        SlovaClassifier(cv=[(rows[:20], rows[15:])]).fit(X, y)


@small
def test_a_batch_is_scored_before_it_is_trained_on():
    Memory.asked.clear()
    X, y = noise(900)
    classifier = SlovaClassifier(Memory())
    for rows in np.split(np.arange(900), 3):
        classifier.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert Memory.asked == [(0, 300)] * 2  # the batches after the first
    assert classifier.confidence(noise(seed=1)[0]).mean() < 0.45


def top_ece(classifier, y, probs):
    """ECE of the label predicted, with what `probs` say of it."""
    return ece(probs, np.searchsorted(classifier.classes_, y))


@pytest.mark.parametrize(
    "base", [LogisticRegression(), RandomForestClassifier(10, random_state=0), LinearSVC(), GaussianNB()]
)
@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_the_probabilities_are_calibrated(base, multiclass):
    X, y = make_classification(4000, 20, n_informative=8, n_classes=5, class_sep=1.2, random_state=7)
    classifier = SlovaClassifier(base, multiclass=multiclass).fit(X[:1500], y[:1500])
    X, y = X[1500:], y[1500:]
    assert top_ece(classifier, y, classifier.predict_proba(X)) < 0.06
    hits = classifier.predict(X) == y
    assert abs(classifier.confidence(X).mean() - hits.mean()) < 0.1


TABLES = {
    "digits": (load_digits, ["nb", "forest", "logistic", "svc"]),
    "wine": (load_wine, ["nb", "forest", "logistic", "svc", "mlp"]),
    "cancer": (load_breast_cancer, ["nb", "forest", "logistic", "svc", "mlp"]),
}
MODELS = {
    "nb": GaussianNB(),
    "forest": RandomForestClassifier(15, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
    "svc": LinearSVC(),
    "mlp": MLPClassifier((30,), solver="lbfgs", max_iter=200, random_state=0),
}


@small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_accuracy_is_lost_and_the_log_loss_is_less_than_with_a_temperature():
    losses, accuracies = [], []
    for load, names in TABLES.values():
        X, y = load(return_X_y=True)
        train, test, labels, truth = train_test_split(X, y, train_size=0.6, stratify=y, random_state=0)
        for name in names:
            base = make_pipeline(StandardScaler(), MODELS[name])
            ours = SlovaClassifier(base, cv=3).fit(train, labels)
            rival = CalibratedClassifierCV(base, method="temperature", cv=3, ensemble=False).fit(train, labels)
            own = (ours.models_.logits(test).argmax(axis=1) == truth).mean()  # of the estimator fitted on all rows
            accuracies.append(ours.score(test, truth) - own)
            losses.append([log_loss(truth, model.predict_proba(test)) for model in (ours, rival)])
    assert np.min(accuracies) > -0.005
    assert np.mean(accuracies) >= 0
    assert np.mean(losses, axis=0)[0] < 0.95 * np.mean(losses, axis=0)[1]


@small
@pytest.mark.parametrize("options", [{"multiclass": "ovr"}, {"none_label": 9}])
def test_unknown_digits_are_ranked_by_p_none(digits, options):
    X, y = digits
    y = np.array([int(name[-1]) for name in y])
    train, known, new = (np.flatnonzero(rows) for rows in (y[:1000] < 8, y[1000:] < 8, y[1000:] == 8))
    if "none_label" in options:
        train = np.flatnonzero(y[:1000] != 8)
    classifier = SlovaClassifier(LogisticRegression(), **options).fit(X[train], y[train])
    none = classifier.none_proba(X[1000:])
    assert auroc(1 - none[known], 1 - none[new]) > 0.85
    whole = classifier.predict_proba_with_none(X[1000:])
    np.testing.assert_allclose(whole.sum(axis=1), 1)
    np.testing.assert_allclose(whole[:, -1], none)


@small
@pytest.mark.parametrize(
    "base", [LogisticRegression(tol=1e-10, max_iter=10_000), GaussianNB(), LogisticRegression(solver="newton-cholesky")]
)
def test_a_weight_of_w_counts_as_w_rows_in_models_and_calibration(base):
    X, y = make_blobs(120, centers=3, cluster_std=3.0, random_state=0)
    weight = np.random.default_rng(0).integers(0, 4, 120)
    folds = np.arange(120) % 4
    repeated = np.repeat(folds, weight)
    splits, more = ([(np.flatnonzero(f != k), np.flatnonzero(f == k)) for k in range(4)] for f in (folds, repeated))
    weighted = SlovaClassifier(base, cv=splits).fit(X, y, sample_weight=weight)
    rows = SlovaClassifier(base, cv=more).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    plain = SlovaClassifier(base, cv=splits).fit(X, y)
    np.testing.assert_allclose(weighted.raw_proba(X), rows.raw_proba(X), atol=1e-5)
    np.testing.assert_allclose(weighted.confidence(X), rows.confidence(X), atol=1e-4)
    assert np.abs(weighted.confidence(X) - plain.confidence(X)).max() > 0.01


@unskilled
def test_weights_that_sum_to_one_are_shares_and_not_counts():
    X, y = make_blobs(600, centers=3, cluster_std=3.0, random_state=0)
    model = GaussianNB().fit(X[:100], y[:100])
    one, shares = (SlovaClassifier(model, cv="prefit").fit(X, y, np.full(600, each)) for each in (1.0, 1 / 600))
    np.testing.assert_allclose(shares.predict_proba(X), one.predict_proba(X), atol=1e-9)


@unskilled
def test_the_calibration_of_a_prefit_model_uses_weights():
    X, y = make_blobs(600, centers=3, cluster_std=3.0, random_state=0)
    model = LogisticRegression().fit(X[:100], y[:100])
    wrong = model.predict(X[100:]) != y[100:]
    maps = [
        SlovaClassifier(model, cv="prefit").fit(X[100:], y[100:], sample_weight=np.where(wrong, weight, 1.0))
        for weight in (1.0, 5.0)
    ]
    assert maps[1].confidence(X).mean() < maps[0].confidence(X).mean() - 0.1


@small
def test_a_class_that_a_fold_lacks_is_improbable_there_but_not_impossible():
    X, y = make_blobs(41, centers=2, random_state=0)
    y[-1] = 2
    classifier = SlovaClassifier(GaussianNB(var_smoothing=0.1), cv=4).fit(X, y)
    assert list(classifier.classes_) == [0, 1, 2]
    assert np.isfinite(classifier.decision_function(X)).all()
    weight = (y < 2).astype(float)
    members = SlovaClassifier(multiclass="ovr").fit(X, y, sample_weight=weight).models_
    np.testing.assert_allclose(members.logits(X)[:, 2], np.log(0.5 / 40.5))  # 40 rows, none of that class
    one = SlovaClassifier(GaussianNB()).fit(X, y, sample_weight=weight).models_
    np.testing.assert_allclose(one.outputs(X)[:, 2], 0.5 / 41)
    np.testing.assert_allclose(one.outputs(X).sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore:.*rows of a class are few")
def test_too_few_rows_are_said_to_be_too_few():
    X = make_blobs(9, centers=3, random_state=0)[0]
    with pytest.warns(SmallValidationWarning, match="the smallest class has 1 rows for 4 folds"):
        SlovaClassifier().fit(X, np.repeat([0, 1, 2], [4, 4, 1]))
    with pytest.warns(SmallValidationWarning, match="9 rows of a class are few"):
        SlovaClassifier().fit(X, np.repeat([0, 1, 2], 3))
    with pytest.warns(SmallValidationWarning, match="no rows are left for calibration"):
        classifier = SlovaClassifier().fit(X[:3], [0, 1, 2])
    np.testing.assert_allclose(classifier.confidence(X), classifier.raw_proba(X).max(axis=1))


def test_rows_in_order_lose_no_accuracy():
    """The digits of one writer are neighbours: in one fold they would be scored by models of other writers."""
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y[:1000], kind="stable")
    base = LogisticRegression(max_iter=300)
    model = SlovaClassifier(base).fit(X[order], y[order])
    assert model.score(X[1000:], y[1000:]) >= base.fit(X[order], y[order]).score(X[1000:], y[1000:]) - 0.005


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16, np.array([f"digit {label}" for label in y])[order]


@small
@pytest.mark.parametrize("base", [{"alpha": 0.01, "average": True}, {}], ids=["steady", "erratic"])
def test_a_stream_learns_digits_and_its_own_confidence(digits, base):
    X, y = digits
    stream = SlovaClassifier(SGDClassifier(loss="log_loss", random_state=0, **base))
    for rows in np.split(np.arange(1200), 12):
        stream.partial_fit(X[rows], y[rows], classes=np.unique(y))
    X, y = X[1200:], y[1200:]
    assert stream.score(X, y) > 0.9
    assert top_ece(stream, y, stream.predict_proba(X)) < min(0.1, top_ece(stream, y, stream.raw_proba(X)))


@small
def test_early_batches_count_less_in_the_calibration_of_a_stream(digits):
    X, y = digits
    stream = SlovaClassifier(GaussianNB(), none_label="digit 9")
    for rows in np.split(np.arange(1200), 4):
        stream.partial_fit(X[rows], y[rows], classes=np.unique(y)[:9])
    assert stream.stream_.rows == 900
    assert stream.stream_.top.count.sum() == pytest.approx(300 * (1 / 3 + 2 / 3 + 1))
    none = [(y[rows] == "digit 9").sum() for rows in np.split(np.arange(300, 1200), 3)]
    assert stream.stream_.none.hits.sum() == pytest.approx(none @ np.array([1, 2, 3]) / 3)
    assert stream.scorer_.none == "calibrated"


@small
def test_a_stream_goes_on_where_a_fit_left_off(digits):
    X, y = digits
    classifier = SlovaClassifier(SGDClassifier(loss="log_loss", random_state=0)).fit(X[:600], y[:600])
    before = classifier.stream_.rows, classifier.raw_proba(X[900:])
    classifier.partial_fit(X[600:900], y[600:900])
    assert (before[0], classifier.stream_.rows) == (600, 900)
    with pytest.raises(ValueError, match="predict_set needs labelled rows"):  # those of the fit were of other models
        classifier.scorer_.predict_set(classifier.models_.logits(X[900:]))
    assert np.abs(classifier.raw_proba(X[900:]) - before[1]).max() > 0.01
    assert classifier.score(X[900:], y[900:]) > 0.9


@small
def test_partial_fit_is_there_only_if_the_base_has_it_and_knows_its_classes(digits):
    X, y = digits
    assert not hasattr(SlovaClassifier(), "partial_fit")
    assert not hasattr(SlovaClassifier(GaussianNB().fit(X, y), cv="prefit"), "partial_fit")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        SlovaClassifier(GaussianNB()).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"labels .*digit 9.* not among the classes"):
        SlovaClassifier(GaussianNB()).partial_fit(X, y, classes=np.unique(y)[:9])
    with pytest.raises(ValueError, match="none_label='digit 0' must not be one of the classes"):
        SlovaClassifier(GaussianNB(), none_label="digit 0").partial_fit(X, y, classes=np.unique(y))


def test_with_keep_order_the_class_is_that_of_the_estimator():
    X, y = load_digits(return_X_y=True)
    base = GaussianNB().fit(X[:600], y[:600])
    free = SlovaClassifier(FrozenEstimator(base)).fit(X[600:1200], y[600:1200])
    kept = clone(free).set_params(keep_order=True)
    assert (free.get_params()["keep_order"], clone(kept).get_params()["keep_order"]) == (False, True)
    for calibration in ("posterior", "exponential", None):
        kept.set_params(calibration=calibration).fit(X[600:1200], y[600:1200])
        assert (kept.predict(X[1200:]) == base.predict(X[1200:])).all()
        assert (kept.predict_proba(X[1200:]).argmax(axis=1) == base.predict(X[1200:])).all()
    assert (free.predict(X[1200:]) != base.predict(X[1200:])).any(), "else the option has nothing to do"
    with pytest.raises(ValueError, match="keep_order=True cannot be combined with calibration='isotonic', which may"):
        kept.set_params(calibration="isotonic").fit(X[600:1200], y[600:1200])
