"""The fitted models behind `SlovaClassifier`, and how their outputs become the logits (N, K) of a scorer.

`Multiclass` is one model of all classes. "auto" reads its `decision_function` if softmax makes it `predict_proba`
(logistic regression, gradient boosting), otherwise the logarithms of `predict_proba` (random forest, naive Bayes), and
otherwise the `decision_function` (linear SVM).
`Members` are binary models, one per class (one-vs-rest). "auto" reads the `decision_function` if it is the log-odds of
`predict_proba` (logistic regression, gradient boosting), otherwise the log-odds of `predict_proba` (random forest),
otherwise the `decision_function` (linear SVM).

A decision function that is not a log-odds has an arbitrary scale, which is fitted with the calibration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from slova.sklearn.outputs import checked_outputs

__all__ = ["Constant", "Members", "Multiclass", "Response", "fit_members", "fit_multiclass", "read_multiclass", "start"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Weight = Floats | None
METHODS = ("decision_function", "predict_proba")
COMPARED = 20  # rows on which a decision function is compared with predict_proba
SMOOTHING = 1e-6  # added to probabilities of 0; the posterior calibration has a smoothing of its own


@dataclass(frozen=True)
class Response:
    """How outputs (N, K), or (N,) of two classes, become logits.

    `method`: the method of the model that is called.
    `head`: "softmax" if the classes exclude each other, "slova" if each output is one-vs-rest.
    `rescale`: the outputs have an arbitrary scale, which is fitted with the calibration.
    `smoothing`: the number that is added to each probability before it is renormalised.
    """

    method: str
    head: str
    rescale: bool = False
    smoothing: float = SMOOTHING

    def logits(self, outputs: Floats) -> Floats:
        if self.method == "decision_function":
            return np.column_stack([-outputs / 2, outputs / 2]) if outputs.ndim == 1 else outputs
        if self.head == "softmax":
            return np.asarray(np.log(outputs + self.smoothing) - np.log1p(outputs.shape[1] * self.smoothing))
        return np.asarray(np.log(outputs + self.smoothing) - np.log1p(self.smoothing - outputs))


@dataclass(frozen=True)
class Constant:
    """The member of a class that none, or all, of its n training rows have: the odds are n + 1/2 to 1/2 for any input
    (the Krichevsky-Trofimov estimate)."""

    logit: float


@dataclass(frozen=True)
class Members:
    """One binary model per class."""

    models: list[Any]
    response: Response

    def outputs(self, X: Any) -> Floats:
        return np.column_stack([_member_output(model, X, self.response.method) for model in self.models])

    def logits(self, X: Any) -> Floats:
        return self.response.logits(self.outputs(X))

    def update(
        self, base: Any, X: Any, labels: Labels, classes: NDArray[Any], params: dict[str, Any], n_jobs: int | None
    ) -> Members:
        """The members after `partial_fit`; a constant becomes a model with the first batch."""
        models = [clone(base) if isinstance(model, Constant) else model for model in self.models]
        jobs = (delayed(_update_member)(model, X, labels == k, params) for k, model in enumerate(models))
        return replace(self, models=Parallel(n_jobs=n_jobs)(jobs))


@dataclass(frozen=True)
class Multiclass:
    """One model of all classes. A class without training rows has the probability 0.5 / (n + 1)."""

    model: Any
    classes: NDArray[Any]
    rows: float
    response: Response

    def outputs(self, X: Any) -> Floats:
        outputs = checked_outputs(self.model, X, self.response.method)
        known = np.searchsorted(self.classes, self.model.classes_)
        if len(known) == len(self.classes) or (outputs.ndim == 2 and outputs.shape[1] != len(known)):
            return self._check_columns(outputs)
        if self.response.method == "predict_proba":
            missing = 0.5 / (self.rows + 1)
            full = np.full((len(outputs), len(self.classes)), missing)
            full[:, known] = outputs * (1 - missing * (len(self.classes) - len(known)))
            return full
        pair = outputs.ndim == 1 and len(known) == 2
        columns = np.column_stack([-outputs, outputs]) if pair else outputs.reshape(len(outputs), -1)
        full = np.repeat(columns.min(axis=1, keepdims=True) - 1, len(self.classes), axis=1)
        full[:, known] = columns
        return full

    def logits(self, X: Any) -> Floats:
        return self.response.logits(self.outputs(X))

    def update(
        self, base: Any, X: Any, labels: Labels, classes: NDArray[Any], params: dict[str, Any], n_jobs: int | None
    ) -> Multiclass:
        """The model after `partial_fit`; rows without a class are left out."""
        X, names, params = _with_class(X, labels, classes, params)
        return self if not len(names) else replace(self, model=self.model.partial_fit(X, names, **params))

    def _check_columns(self, outputs: Floats) -> Floats:
        columns = 2 if outputs.ndim == 1 else outputs.shape[1]
        if columns != len(self.classes):
            raise ValueError(
                f"{type(self.model).__name__}.{self.response.method} must have one column for each of "
                f"{len(self.classes)} classes, got {columns}; multiclass='ovr' fits one model per class"
            )
        return outputs


def fit_members(
    base: Any, X: Any, labels: Labels, params: dict[str, Any], *, weight: Weight, classes: NDArray[Any], method: str,
    n_jobs: int | None,
) -> Members:  # fmt: skip
    """Fit a clone of `base` per class; rows labelled NONE are negative rows of every class."""
    jobs = (delayed(_fit_member)(clone(base), X, labels == k, params, weight) for k in range(len(classes)))
    models = Parallel(n_jobs=n_jobs)(jobs)
    trained = [model for model in models if not isinstance(model, Constant)]
    return Members(
        models, _member_response(trained[0], X, method) if trained else Response("decision_function", "slova")
    )


def fit_multiclass(
    base: Any, X: Any, labels: Labels, params: dict[str, Any], *, weight: Weight, classes: NDArray[Any], method: str,
    n_jobs: int | None,
) -> Multiclass:  # fmt: skip
    """Fit a clone of `base`; rows labelled NONE are left out, and classes without weight."""
    known = labels >= 0
    count = np.bincount(labels[known], None if weight is None else weight[known], minlength=len(classes))
    labels, rows = np.where(known & (count[labels] > 0), labels, -1), float(count.sum())
    kept, names, params = _with_class(X, labels, classes, params)
    return read_multiclass(clone(base).fit(kept, names, **params), X, classes=classes, method=method, rows=rows)


def start(
    native: bool, base: Any, X: Any, labels: Labels, params: dict[str, Any], *, classes: NDArray[Any], method: str,
    n_jobs: int | None,
) -> Members | Multiclass:  # fmt: skip
    """The models of a stream after its first batch."""
    if native:
        kept, names, params = _with_class(X, labels, classes, params)
        model = clone(base).partial_fit(kept, names, classes=classes, **params)
        return read_multiclass(model, X, classes=classes, method=method, rows=len(names))
    members = Members([clone(base) for _ in classes], Response(method, "slova"))
    members = members.update(base, X, labels, classes, params, n_jobs)
    return replace(members, response=_member_response(members.models[0], X, method))


def read_multiclass(model: Any, X: Any, *, classes: NDArray[Any], method: str, rows: float = 0.0) -> Multiclass:
    """A fitted model of all classes; on rows of `X` its decision function is compared with its probabilities."""
    has, response = _methods(model, method), Response("predict_proba", "softmax")
    if method != "predict_proba" and "decision_function" in has:
        decision = _decision_response(model, _safe_indexing(X, np.arange(min(COMPARED, _num_samples(X)))), has)
        response = response if method == "auto" and len(has) == 2 and decision.rescale else decision
    return Multiclass(model, classes, rows, response)


def _decision_response(model: Any, X: Any, has: list[str]) -> Response:
    """The head whose probabilities of the decision function are predict_proba, to a millionth."""
    decision = checked_outputs(model, X, "decision_function")
    pair = decision.ndim == 1
    heads = {"softmax": softmax(np.column_stack([-decision / 2, decision / 2]) if pair else decision, axis=1)}
    heads |= {} if pair else {"slova": expit(decision)}
    probs = np.asarray(model.predict_proba(X)) if len(has) == 2 else None
    for head, found in heads.items():
        if probs is not None and found.shape == probs.shape and np.allclose(found, probs, rtol=0, atol=1e-6):
            return Response("decision_function", head)
    return Response("decision_function", "softmax" if pair else "slova", rescale=True)


def _with_class(
    X: Any, labels: Labels, classes: NDArray[Any], params: dict[str, Any]
) -> tuple[Any, NDArray[Any], dict[str, Any]]:
    """The rows that have a class, and its name."""
    if (labels >= 0).all():
        return X, classes[labels], params
    rows = np.flatnonzero(labels >= 0)
    return _safe_indexing(X, rows), classes[labels[rows]], _check_method_params(X, params, indices=rows)


def _fit_member(model: Any, X: Any, target: NDArray[np.bool_], params: dict[str, Any], weight: Weight) -> Any:
    hits = float(np.sum(target if weight is None else weight[target]))
    misses = float(np.sum(~target if weight is None else weight[~target]))
    if hits == 0 or misses == 0:
        return Constant(float(np.log(hits + 0.5) - np.log(misses + 0.5)))
    return model.fit(X, target.astype(np.int64), **params)


def _update_member(model: Any, X: Any, target: NDArray[np.bool_], params: dict[str, Any]) -> Any:
    return model.partial_fit(X, target.astype(np.int64), classes=np.arange(2), **params)


def _member_response(model: Any, X: Any, method: str) -> Response:
    has = _methods(model, method)
    log_odds = len(has) == 2 and _is_log_odds(model, _safe_indexing(X, np.arange(min(COMPARED, _num_samples(X)))))
    if method == "auto":
        method = "decision_function" if log_odds else has[-1]
    return Response(method, "slova", rescale=method == "decision_function" and not log_odds)


def _methods(model: Any, method: str) -> list[str]:
    """Those of the methods that the model has; `method` must be one of them, or "auto"."""
    if method not in ("auto", *METHODS):
        raise ValueError(f"response_method must be 'auto', 'decision_function' or 'predict_proba', got {method!r}")
    has = [name for name in METHODS if hasattr(model, name)]
    if not has or method not in ("auto", *has):
        missing = "decision_function or predict_proba" if method == "auto" else method
        raise TypeError(f"{type(model).__name__} has no {missing}")
    return has


def _is_log_odds(model: Any, X: Any) -> bool:
    """Whether the sigmoid of the decision function is predict_proba, to a millionth."""
    decision, probs = np.asarray(model.decision_function(X)), np.asarray(model.predict_proba(X))
    return decision.ndim == 1 and bool(np.allclose(expit(decision), probs[:, 1], rtol=0, atol=1e-6))


def _member_output(model: Any, X: Any, method: str) -> Floats:
    if isinstance(model, Constant):
        return np.full(_num_samples(X), model.logit if method == "decision_function" else expit(model.logit))
    outputs = checked_outputs(model, X, method)
    return outputs if outputs.ndim == 1 else outputs[:, -1]
