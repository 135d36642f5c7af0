"""What a base estimator returns is checked: numbers, one row per input, and probabilities that can be some."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from slova.sklearn import SlovaClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning"),
    pytest.mark.filterwarnings("ignore::slova._warnings.CalibrationWarning"),
]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=[(0, 4), (4, 0), (-4, -1)], cluster_std=1.5, random_state=0)


class Changed(GaussianNB):
    """A model whose probabilities are changed by a function."""

    change = staticmethod(lambda probs: probs)

    def predict_proba(self, X):
        return self.change(super().predict_proba(X))


def replace_row(values):
    return lambda probs: np.where(np.arange(len(probs))[:, None] == 7, values, probs)


WRONG = {
    "negative": (replace_row([-0.5, 1, 0.5]), r"returned probabilities outside \[0, 1\] for 1 of 300 rows, .* row 7"),
    "large": (replace_row(5.0), r"returned probabilities outside \[0, 1\] for 1 of 300 rows, the first is row 7"),
    "zero": (replace_row(0.0), "returned no probability above 0 for 1 of 300 rows, the first is row 7"),
    "a row too few": (lambda probs: probs[1:], r"must return one row for each of 300 inputs, got shape \(299, 3\)"),
    "no rows": (lambda probs: 0.5, r"must return one row for each of 300 inputs, got shape \(\)"),
    "text": (lambda probs: probs.astype(str), "must return real numbers, got <U32"),
    "text as objects": (lambda probs: probs.astype(str).astype(object), "must return real numbers, got <U"),
    "complex": (lambda probs: probs + 0j, "must return real numbers, got complex128"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_probability_is_an_error_in_fit_and_later(blobs, change, message):
    X, y = blobs
    model = Changed().fit(X, y)
    classifier = SlovaClassifier(model, cv="prefit").fit(X, y)
    model.change = change
    for answer in (classifier.predict_proba, classifier.predict, lambda X: classifier.fit(X, y)):
        with pytest.raises(ValueError, match=rf"^Changed\.predict_proba {message}"):
            answer(X)


def test_probabilities_may_be_rounded_and_those_of_one_vs_rest_models_need_not_sum_to_one(blobs):
    X, y = blobs
    model = Changed().fit(X, y)
    wanted = SlovaClassifier(model, cv="prefit").fit(X, y).predict_proba(X)
    for change in (lambda probs: probs.astype(object), lambda probs: probs.tolist(), lambda probs: probs.astype("f2")):
        model.change = change
        np.testing.assert_allclose(SlovaClassifier(model, cv="prefit").fit(X, y).predict_proba(X), wanted, atol=0.01)
    for change in (lambda probs: probs - 1e-5, lambda probs: probs + 1e-5, lambda probs: probs**0.5):
        model.change = change
        classifier = SlovaClassifier(model, cv="prefit").fit(X, y)
        probs = classifier.predict_proba(X)
        np.testing.assert_allclose(probs.sum(axis=1), 1)
        np.testing.assert_array_equal(classifier.classes_[probs.argmax(axis=1)], classifier.predict(X))
