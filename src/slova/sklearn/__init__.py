"""SLOVA for scikit-learn: a calibrated classifier that can reject inputs, around any scikit-learn classifier.

    classifier = SlovaClassifier(RandomForestClassifier(), none_label="unknown").fit(X, y)
    classifier.predict_proba(X)                                  # calibrated probabilities (N, K)
    classifier.confidence(X)                                     # calibrated P(the predicted class is correct)
    classifier.predict(X, reject=classifier.threshold(risk=0.05))     # "unknown" where the confidence is too low

Inputs and outputs are numpy arrays; X can be anything that the estimator accepts, such as sparse matrices and data
frames.
"""

try:
    import sklearn.frozen  # noqa: F401  # since 1.6
except ImportError as error:
    raise ImportError('slova.sklearn needs scikit-learn 1.6 or later: pip install "slova[sklearn]"') from error

from slova.sklearn.classifier import SlovaClassifier

__all__ = ["SlovaClassifier"]
