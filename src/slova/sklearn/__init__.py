"""SLOVA for scikit-learn: `SlovaClassifier(estimator)` says a label, how sure it is of it, and "none of these".

    classifier = SlovaClassifier(LogisticRegression(), reject_threshold=0.8, none_label="unknown").fit(X, y)
    classifier.predict(X)          # labels, and "unknown" where the confidence is below 0.8
    classifier.confidence(X)       # calibrated P(the label is right)
    classifier.none_proba(X)       # P(none of the classes)

numpy in, numpy out; X may be whatever the estimator takes: arrays, sparse matrices, data frames.
"""

try:
    import sklearn.frozen  # noqa: F401  # since 1.6
except ImportError as error:
    raise ImportError('slova.sklearn needs scikit-learn 1.6 or later: pip install "slova[sklearn]"') from error

from slova.sklearn.classifier import SlovaClassifier

__all__ = ["SlovaClassifier"]
