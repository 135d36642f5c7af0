"""The scikit-learn estimator: what a user calls, in the order in which it happens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from slova.heads import OVA
from slova.scorer import Prediction
from slova.sklearn.contract import answerable, checked_weight, classes_of, completed, encoded
from slova.sklearn.held_out import Evidence, Held, fit_scorer, held_out, splits
from slova.sklearn.members import Columns, Labels, Logits, Weight, fit_members, start_members

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["SlovaClassifier"]

Probs = NDArray[np.float64]


def _can_stream(classifier: SlovaClassifier) -> bool:
    return not classifier._is_prefit and hasattr(classifier._base, "partial_fit")


class SlovaClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One binary model per class, read as "this class and no other" and calibrated on rows its models had not seen.

    `estimator`: cloned once per class, for two classes too: one model cannot tell "none" from "several". None is a
        logistic regression. Or a fitted model of K columns: in a `FrozenEstimator`, or, not to clone, with cv="prefit".
    `cv`: a number of folds, a splitter, or splits. Rows are scored out of fold to fit the calibration map; the members
        kept are fitted on all rows, so that prediction costs K models and not K times the folds. With a fitted model
        nothing is split: the rows given to `fit` calibrate it, and it must not have seen them.
    `response_method`: "auto", "decision_function" or "predict_proba"; `slova.sklearn.members` says what "auto" takes.
    `reject_threshold`: the confidence below which `predict` gives `none_label`; None never rejects.
    `none_label`: of the kind of the labels, and none of the classes. Training rows that have it belong to no class:
        every member learns to refuse them, and P(none) is calibrated on them.

    After fitting: `classes_`, `members_` (.logits are one-vs-rest log-odds), `scorer_` (a `slova.scorer.Scorer`).
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        response_method: str = "auto",
        reject_threshold: float | None = None,
        none_label: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.response_method = response_method
        self.reject_threshold = reject_threshold
        self.none_label = none_label
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the members and calibrate them; a row of weight w counts as w rows in both."""
        if self._is_prefit:
            check_is_fitted(self.estimator)
        X, names, weight = self._checked(X, y, sample_weight, reset=True)
        self.classes_ = np.asarray(self.estimator.classes_) if self._is_prefit else classes_of(names, self.none_label)
        labels = self._labels(names)
        held = self._prefit(X, labels, weight) if self._is_prefit else self._fitted(X, labels, weight)
        self.scorer_ = fit_scorer(held, rescale=not self.members_.answer.log_odds)
        streams = len(held.labels) and _can_stream(self)
        self.evidence_ = Evidence.of(self.scorer_.raw(held.logits), held.labels) if streams else None
        return self

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Score a batch, then train on it: such scores are honest; they calibrate, together with the earlier ones.

        The first batch finds no members to score it, so calibration begins with the second. Weights count in the
        members; in the calibration of a stream a row counts once, or not at all if its weight is 0.
        """
        _check_partial_fit_first_call(self, classes)
        first = not hasattr(self, "members_")
        X, names, weight = self._checked(X, y, sample_weight, reset=first)
        labels = self._labels(names)
        if first:
            self.members_: Any = start_members(self._base, X, labels, weight, **self._options)
            self.scorer_, self.evidence_ = fit_scorer(Held.nothing(len(self.classes_)), rescale=False), None
            return self
        self._learn(Held.of(self.members_.logits(X), labels, weight))
        self.members_ = self.members_.updated(self._base, X, labels, weight, self.n_jobs)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class, or `none_label` where the confidence is below `reject_threshold`."""
        label = self._prediction(X, 0.0 if self.reject_threshold is None else self.reject_threshold).label
        return np.asarray(answerable(self.classes_, self.none_label, self.reject_threshold)[label])

    def predict_proba(self, X: Any) -> Probs:
        """The completed distribution (N, K): the confidence for the top class, the rest for the others, in their order.

        Rows sum to one, as scikit-learn demands, so a confidence below 1/K shows as 1/K: reject by `confidence`.
        """
        logits = self._logits(X)
        return completed(self.scorer_(logits).log_probs, logits.argmax(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> Probs:
        """log predict_proba (N, K), for two classes the log-odds of the second (N,); finite, as below the machine's
        epsilon a probability counts as that."""
        log_probs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).eps))
        return np.asarray(log_probs[:, 1] - log_probs[:, 0] if len(self.classes_) == 2 else log_probs)

    def ova_proba(self, X: Any) -> Probs:
        """Raw one-vs-rest probabilities (N, K): each member by itself; a row sums to anything."""
        logits = self._logits(X)
        return np.asarray(np.exp(replace(self.scorer_, head=OVA).raw(logits).log_probs))

    def slova_proba(self, X: Any) -> Probs:
        """Raw P(this class and no other) (N, K), not calibrated; what a row lacks to one is "none" and "several"."""
        logits = self._logits(X)
        return np.asarray(np.exp(self.scorer_.raw(logits).log_probs))

    def confidence(self, X: Any) -> Probs:
        """The calibrated probability (N,) that the most probable class is right."""
        return np.asarray(self._prediction(X).confidence)

    def none_proba(self, X: Any) -> Probs:
        """P(none of the classes) (N,); calibrated where rows labelled `none_label` were there to fit it."""
        return np.asarray(self._prediction(X).none)

    def export(self, path: str | Path, X: Any = None, *, tolerance: float | None = None) -> Parity:
        """Members, head, map and threshold as one .onnx file (.pt2 too for linear members) from X to label, confidence,
        none, several and log_probs; labels are places in `classes_`, and -1.

        It is compared with this classifier on X, or on random rows, and written only if every answer is within
        `tolerance` (`slova.export.Parity`, which is given back). Linear members need torch, others skl2onnx, too.
        """
        from slova.export.sklearn_model import export_sklearn

        return export_sklearn(self, path, X, tolerance=tolerance)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base)
        tags.input_tags, tags.non_deterministic = base.input_tags, base.non_deterministic
        return tags

    @property
    def _base(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == "prefit")

    @property
    def _options(self) -> dict[str, Any]:
        return {"classes": len(self.classes_), "method": self.response_method, "n_jobs": self.n_jobs}

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, NDArray[Any], Weight]:
        """X as it is, for the estimator to judge, and y and the weights as arrays of as many rows."""
        validate_data(self, X, y, reset=reset, skip_check_array=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        X, names = indexable(X, column_or_1d(y, warn=True))
        return X, names, checked_weight(sample_weight, X, None if self._is_prefit else self._base)

    def _labels(self, names: NDArray[Any]) -> Labels:
        answerable(self.classes_, self.none_label, self.reject_threshold)
        return encoded(names, self.classes_, self.none_label)

    def _prefit(self, X: Any, labels: Labels, weight: Weight) -> Held:
        self.members_ = Columns.of(self.estimator, X, len(self.classes_), self.response_method)
        return Held.of(self.members_.logits(X), labels, weight)

    def _fitted(self, X: Any, labels: Labels, weight: Weight) -> Held:
        self.members_ = fit_members(self._base, X, labels, weight, **self._options)
        options = self._options | {"method": self.members_.answer.method}
        return held_out(self._base, X, labels, weight, splits(self.cv, X, labels), **options)

    def _learn(self, held: Held) -> None:
        seen = Evidence.of(self.scorer_.raw(held.logits), held.labels)
        self.evidence_ = seen if self.evidence_ is None else self.evidence_.then(seen)
        self.scorer_ = self.evidence_.calibrated(self.scorer_)

    def _logits(self, X: Any) -> Logits:
        check_is_fitted(self, "scorer_")
        return np.asarray(self.members_.logits(X))

    def _prediction(self, X: Any, reject: float = 0.0) -> Prediction:
        logits = self._logits(X)
        return self.scorer_.predict(logits, reject=reject)
