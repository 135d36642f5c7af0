"""scikit-learn's own checks of an estimator, all of them, with no expected failure; and its machinery around one."""

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

from slova.sklearn import SlovaClassifier

# The checks fit on 10 to 100 rows, too few for a good calibration, hence the warnings.
pytestmark = [
    pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning"),
    pytest.mark.filterwarnings("ignore::slova._warnings.CalibrationWarning"),
]

# Probabilities; probabilities and partial_fit; a decision function without probabilities; one model per class. The
# default calibration is checked with two of them, and with the others one that takes a quarter of the time.
BASES = [
    {},
    {"estimator": GaussianNB(), "calibration": "beta"},
    {"estimator": RidgeClassifier(), "cv": 2},
    {"multiclass": "ovr", "calibration": "beta"},
]


@parametrize_with_checks([SlovaClassifier(**options) for options in BASES])
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), load_iris().target_names[y]


def test_a_data_frame_gives_its_column_names_and_is_held_to_them():
    check_dataframe_column_names_consistency("SlovaClassifier", SlovaClassifier())


def test_the_tags_are_those_of_the_base():
    assert get_tags(SlovaClassifier()).input_tags.sparse
    assert not get_tags(SlovaClassifier(GaussianNB())).input_tags.sparse


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows_are_answered_like_dense_ones(iris, container):
    X, y = iris
    dense, thin = SlovaClassifier().fit(X, y), SlovaClassifier().fit(container(X), y)
    np.testing.assert_allclose(thin.predict_proba(container(X)), dense.predict_proba(X), atol=1e-6)


def test_it_stands_at_the_end_of_a_pipeline_or_around_one(iris):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    end = make_pipeline(StandardScaler(), SlovaClassifier()).fit(X, y)
    around = SlovaClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    assert min(end.score(X, y), around.score(X, y)) > 0.9
    frame = pandas.DataFrame({"colour": y, "size": X[:, 0]})
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    assert SlovaClassifier(make_pipeline(encoder, LogisticRegression())).fit(frame, y).score(frame, y) == 1


def test_a_grid_search_reaches_the_base_and_the_threshold(iris):
    X, y = iris
    grid = {"estimator__C": [1e-4, 1.0], "reject": [0.0, 1.0]}
    search = GridSearchCV(SlovaClassifier(LogisticRegression(), none_label="?"), grid, cv=3)
    search.fit(X, y, sample_weight=np.ones(len(y)))
    assert search.best_params_ == {"estimator__C": 1.0, "reject": 0.0}


def test_cross_validation_gives_probabilities_of_all_rows(iris):
    X, y = iris
    probs = cross_val_predict(SlovaClassifier(), X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert (np.unique(y)[probs.argmax(axis=1)] == y).mean() > 0.9
    assert cross_val_score(SlovaClassifier(), X, y, cv=3, scoring="roc_auc_ovr").mean() > 0.95


ENCODERS = {
    "bagging": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
    "stacking": lambda model: StackingClassifier([("slova", model)], cv=3),
    "voting": lambda model: VotingClassifier([("slova", model), ("bayes", GaussianNB())], voting="soft"),
    "votes": lambda model: VotingClassifier([("slova", model.set_params(reject=None)), ("bayes", GaussianNB())]),
}


@pytest.mark.parametrize("around", ENCODERS.values(), ids=ENCODERS)
def test_a_none_label_in_text_does_not_disturb_meta_estimators_that_encode_the_labels(iris, around):
    X, y = iris
    model = SlovaClassifier(LogisticRegression(), none_label="unknown", reject=0.5)
    assert around(model).fit(X, y).score(X, y) > 0.9


def test_cross_validated_probabilities_do_not_depend_on_the_none_label(iris):
    X, y = iris
    models = SlovaClassifier(), SlovaClassifier(none_label="unknown", reject=0.5)
    plain, named = (cross_val_predict(model, X, y, cv=3, method="predict_proba") for model in models)
    np.testing.assert_array_equal(named, plain)


def test_a_frozen_model_survives_cloning(iris):
    X, y = iris
    frozen = SlovaClassifier(FrozenEstimator(LogisticRegression().fit(X[::2], y[::2])))
    assert clone(frozen).fit(X[1::2], y[1::2]).score(X, y) > 0.8
    assert cross_val_score(frozen, X[1::2], y[1::2], cv=3).mean() > 0.8


@pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB(), SGDClassifier(random_state=0)])
def test_a_pickled_classifier_says_the_same(iris, base, tmp_path):
    X, y = iris
    classifier = SlovaClassifier(base, none_label="?", reject=0.9).fit(X, y)
    joblib.dump(classifier, tmp_path / "classifier.joblib")
    for copy in (pickle.loads(pickle.dumps(classifier)), joblib.load(tmp_path / "classifier.joblib")):
        np.testing.assert_array_equal(copy.predict(X), classifier.predict(X))
        np.testing.assert_array_equal(copy.none_proba(X), classifier.none_proba(X))


def test_models_fitted_in_parallel_are_the_same(iris):
    X, y = iris
    with joblib.parallel_backend("threading"):
        parallel = SlovaClassifier(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.predict_proba(X), SlovaClassifier().fit(X, y).predict_proba(X))


def test_a_precomputed_kernel_is_split_on_both_sides(iris):
    X, y = iris
    kernel = SlovaClassifier(SVC(kernel="precomputed")).fit(X @ X.T, y)
    plain = SlovaClassifier(SVC(kernel="linear")).fit(X, y)
    np.testing.assert_allclose(kernel.confidence(X @ X.T), plain.confidence(X), atol=1e-3)


def test_weights_are_refused_for_a_base_that_has_no_use_for_them(iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit does not take it"):
        SlovaClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))


def test_the_weights_of_a_pipeline_go_to_its_last_step(iris):
    X, y = iris
    weight = np.where(y == "setosa", 5.0, 1.0)
    around = SlovaClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y, sample_weight=weight)
    plain = SlovaClassifier().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(around.predict_proba(X), plain.predict_proba(X), atol=0.02)
    with pytest.raises(TypeError, match=r"Pipeline\.fit does not take it"):
        SlovaClassifier(make_pipeline(KNeighborsClassifier())).fit(X, y, sample_weight=weight)


class Grouped(GroupKFold):
    """Records the groups that it gets."""

    def split(self, X, y=None, groups=None):
        self.groups = groups
        return super().split(X, y, groups)


def test_groups_go_to_the_splitter_with_and_without_metadata_routing(iris):
    X, y = iris
    groups = np.arange(len(y)) % 7
    SlovaClassifier(cv=(splitter := Grouped(3))).fit(X, y, groups=groups)
    np.testing.assert_array_equal(splitter.groups, groups)
    with config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        weight = np.where(y == "setosa", 5.0, 1.0)
        model = SlovaClassifier(base, cv=(splitter := Grouped(3)))
        routed = model.fit(X, y, groups=groups, sample_weight=weight).predict_proba(X)
        np.testing.assert_array_equal(splitter.groups, groups)
        pipeline = make_pipeline(scaler, model.set_fit_request(sample_weight=True, groups=True))
        pipeline.fit(X, y, groups=groups, sample_weight=weight)
        with pytest.raises(UnsetMetadataPassedError):
            SlovaClassifier(LogisticRegression()).fit(X, y, sample_weight=weight)
    legacy = SlovaClassifier(cv=Grouped(3)).fit(X, y, groups=groups, sample_weight=weight)
    np.testing.assert_allclose(legacy.predict_proba(X), routed)


def test_parameters_of_fit_reach_the_estimator(iris):
    X, y = iris
    started = SlovaClassifier(SGDClassifier(max_iter=1, tol=None, random_state=0)).fit(X, y, coef_init=np.ones((3, 4)))
    plain = SlovaClassifier(SGDClassifier(max_iter=1, tol=None, random_state=0)).fit(X, y)
    assert not np.allclose(started.models_.model.coef_, plain.models_.model.coef_)
