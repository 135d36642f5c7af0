"""The models behind `SlovaClassifier`, and what they say as one-vs-rest log-odds (N, K), the logits of the library.

A model may answer with `decision_function` or with `predict_proba`. Asked for "auto",

    a binary member answers with its decision function if that is the log-odds of its predict_proba (logistic
        regression, gradient boosting), else with the logit of predict_proba (random forest), else with its
        decision function (linear SVM);
    a prefit model of K columns with its decision function, else with the logit of predict_proba: one that was
        normalised over the classes, as most are, no longer says "none" or "several".

Log-odds do not saturate. A predict_proba of exactly 0 or 1 does, and counts as the machine's epsilon away from it.
A decision function that is not log-odds has any scale, so an affine map of it is fitted with the calibration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

__all__ = ["Answer", "Columns", "Members", "fit_members", "start_members"]

Logits = NDArray[np.float64]
Labels = NDArray[np.int64]
Weight = NDArray[np.float64] | None
PEEK = 20  # rows on which a decision function is compared with the log-odds


class Answer(NamedTuple):
    """The method a model answers with, and whether that gives log-odds or what an affine map has yet to make so."""

    method: str
    log_odds: bool


@dataclass(frozen=True)
class Constant:
    """The member of a class that its training rows lack, or consist of: having seen one answer only, n times, it gives
    that answer odds of n + 1/2 to 1/2 (the Krichevsky-Trofimov estimate), whatever the row."""

    logit: float


@dataclass(frozen=True)
class Members:
    """One binary model per class, the k-th trained to answer "is it class k?"."""

    models: list[Any]
    answer: Answer

    def logits(self, X: Any) -> Logits:
        return np.column_stack([_member_logits(model, X, self.answer.method) for model in self.models])

    def updated(self, base: Any, X: Any, labels: Labels, weight: Weight, n_jobs: int | None) -> Members:
        """The same after one more batch; a constant becomes a model as soon as a batch is there to train it on."""
        models = [clone(base) if isinstance(model, Constant) else model for model in self.models]
        jobs = (delayed(_update_member)(model, X, labels == k, weight) for k, model in enumerate(models))
        return replace(self, models=Parallel(n_jobs=n_jobs)(jobs))


@dataclass(frozen=True)
class Columns:
    """A fitted model with one column of answers per class. For two classes it may have one column f, read as (-f, f):
    it then cannot tell "none" from "several", and both have the probability sigmoid(f) sigmoid(-f)."""

    model: Any
    classes: int
    answer: Answer

    @classmethod
    def of(cls, model: Any, X: Any, classes: int, method: str) -> Columns:
        wanted = "decision_function" if method == "auto" and hasattr(model, "decision_function") else method
        return cls(model, classes, _answer(model, X, wanted))

    def logits(self, X: Any) -> Logits:
        columns = _answers(self.model, X, self.answer.method)
        columns = np.column_stack([-columns, columns]) if columns.ndim == 1 else columns
        if columns.shape[1] != self.classes:
            what = f"{type(self.model).__name__}.{self.answer.method}"
            raise ValueError(f"{what} gives {columns.shape[1]} columns, wanted one for each of {self.classes} classes")
        return columns


def fit_members(
    base: Any, X: Any, labels: Labels, weight: Weight, *, classes: int, method: str, n_jobs: int | None
) -> Members:
    """A clone of `base` per class; rows labelled NONE are misses of every class."""
    jobs = (delayed(_fit_member)(clone(base), X, labels == k, weight) for k in range(classes))
    models = Parallel(n_jobs=n_jobs)(jobs)
    trained = [model for model in models if not isinstance(model, Constant)]
    return Members(models, _answer(trained[0], X, method) if trained else Answer("decision_function", True))


def start_members(
    base: Any, X: Any, labels: Labels, weight: Weight, *, classes: int, method: str, n_jobs: int | None
) -> Members:
    """The members of a stream after its first batch."""
    members = Members([clone(base) for _ in range(classes)], Answer(method, True)).updated(
        base, X, labels, weight, n_jobs
    )
    return replace(members, answer=_answer(members.models[0], X, method))


def _fit_member(model: Any, X: Any, target: NDArray[np.bool_], weight: Weight) -> Any:
    hits = float(np.sum(target if weight is None else weight[target]))
    misses = float(np.sum(~target if weight is None else weight[~target]))
    if hits == 0 or misses == 0:
        return Constant(float(np.log(hits + 0.5) - np.log(misses + 0.5)))
    return model.fit(X, target.astype(np.int64), **_weighted(weight))


def _update_member(model: Any, X: Any, target: NDArray[np.bool_], weight: Weight) -> Any:
    return model.partial_fit(X, target.astype(np.int64), classes=np.arange(2), **_weighted(weight))


def _weighted(weight: Weight) -> dict[str, Any]:
    return {} if weight is None else {"sample_weight": weight}


def _answer(model: Any, X: Any, method: str) -> Answer:
    if method not in ("auto", "decision_function", "predict_proba"):
        raise ValueError(f"response_method must be 'auto', 'decision_function' or 'predict_proba', got {method!r}")
    has = [name for name in ("decision_function", "predict_proba") if hasattr(model, name)]
    if not has or method not in ("auto", *has):
        wanted = "decision_function or predict_proba" if method == "auto" else method
        raise TypeError(f"{type(model).__name__} has no {wanted}")
    log_odds = len(has) == 2 and _is_log_odds(model, _safe_indexing(X, np.arange(min(PEEK, _num_samples(X)))))
    if method == "auto":
        method = "decision_function" if log_odds else has[-1]
    return Answer(method, log_odds or method == "predict_proba")


def _is_log_odds(model: Any, X: Any) -> bool:
    """Whether the sigmoid of the decision function is predict_proba, to a millionth."""
    decision, probs = np.asarray(model.decision_function(X)), np.asarray(model.predict_proba(X))
    probs = probs[:, 1] if decision.ndim == 1 else probs
    return decision.shape == probs.shape and bool(np.allclose(expit(decision), probs, rtol=0, atol=1e-6))


def _member_logits(model: Any, X: Any, method: str) -> Logits:
    if isinstance(model, Constant):
        return np.full(_num_samples(X), model.logit)
    answers = _answers(model, X, method)
    return answers if answers.ndim == 1 else answers[:, -1]


def _answers(model: Any, X: Any, method: str) -> Logits:
    answers = np.asarray(getattr(model, method)(X))
    if method == "decision_function":
        return answers.astype(np.float64)
    epsilon = np.finfo(answers.dtype).eps  # the distance to a probability of 0 or 1, whose logit is infinite
    probs = np.clip(answers.astype(np.float64), epsilon, 1 - epsilon)
    return np.asarray(np.log(probs) - np.log1p(-probs))
