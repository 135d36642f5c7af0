"""SLOVA for scikit-learn: a calibrated classifier that can reject inputs, around any scikit-learn classifier.

>>> from sklearn.datasets import load_iris
>>> from sklearn.naive_bayes import GaussianNB
>>> X, y = load_iris(return_X_y=True)
>>> classifier = SlovaClassifier(GaussianNB(), none_label=-1).fit(X, y)
>>> classifier.predict_proba(X[[0, 77]]).round(2)                 # calibrated, rows sum to one
array([[1.  , 0.  , 0.  ],
       [0.  , 0.18, 0.82]])
>>> classifier.confidence(X[[0, 77]]).round(2)                    # P(the predicted class is correct)
array([1.  , 0.82])
>>> classifier.predict(X[[0, 77]], reject=0.9)                    # `none_label` where the confidence is lower
array([ 0, -1])
>>> round(classifier.threshold(risk=0.2), 2)                      # the `reject` for at most 20 % errors
0.56
>>> classifier.predict_set(X[[0, 77]], coverage=0.98)             # the classes that a row may have, and NONE
array([[ True, False, False, False],
       [False,  True,  True, False]])
>>> classifier.none_proba(X[:1])                                  # 0: one multi-class model has no evidence of NONE
array([0.])

Inputs and outputs are numpy arrays; X can be anything that the estimator accepts, such as sparse matrices and data
frames.
"""

try:
    import sklearn.frozen  # noqa: F401  # since 1.6
except ImportError as error:
    raise ImportError('slova.sklearn needs scikit-learn 1.6 or later: pip install "slova[sklearn]"') from error

from slova.sklearn.classifier import SlovaClassifier

__all__ = ["SlovaClassifier"]
