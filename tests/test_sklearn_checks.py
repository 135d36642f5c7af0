"""scikit-learn's own checks of an estimator, all of them, with no expected failure; and its machinery around one."""

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

from slova.sklearn import SlovaClassifier

# The checks fit on 10 to 100 rows, too few for a good calibration map, which the warning rightly says.
pytestmark = pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")

# log-odds from a decision function; only predict_proba, and partial_fit; only a decision function, which is no log-odds
BASES = [None, GaussianNB(), RidgeClassifier()]


@parametrize_with_checks([SlovaClassifier(base) for base in BASES])
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
    grid = {"estimator__C": [1e-4, 1.0], "reject_threshold": [0.0, 1.0]}
    search = GridSearchCV(SlovaClassifier(LogisticRegression(), none_label="?"), grid, cv=3)
    search.fit(X, y, sample_weight=np.ones(len(y)))
    assert search.best_params_ == {"estimator__C": 1.0, "reject_threshold": 0.0}


def test_cross_validation_gives_probabilities_of_all_rows(iris):
    X, y = iris
    probs = cross_val_predict(SlovaClassifier(), X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert (np.unique(y)[probs.argmax(axis=1)] == y).mean() > 0.9
    assert cross_val_score(SlovaClassifier(), X, y, cv=3, scoring="roc_auc_ovr").mean() > 0.95


def test_a_frozen_model_survives_cloning(iris):
    X, y = iris
    frozen = SlovaClassifier(FrozenEstimator(LogisticRegression().fit(X[::2], y[::2])))
    assert clone(frozen).fit(X[1::2], y[1::2]).score(X, y) > 0.8
    assert cross_val_score(frozen, X[1::2], y[1::2], cv=3).mean() > 0.8


@pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB(), SGDClassifier(random_state=0)])
def test_a_pickled_classifier_says_the_same(iris, base, tmp_path):
    X, y = iris
    classifier = SlovaClassifier(base, none_label="?", reject_threshold=0.9).fit(X, y)
    joblib.dump(classifier, tmp_path / "classifier.joblib")
    for copy in (pickle.loads(pickle.dumps(classifier)), joblib.load(tmp_path / "classifier.joblib")):
        np.testing.assert_array_equal(copy.predict(X), classifier.predict(X))
        np.testing.assert_array_equal(copy.none_proba(X), classifier.none_proba(X))


def test_members_fitted_in_parallel_are_the_same(iris):
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
