"""The scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted, validate_data

from slova.evaluation import selection_of
from slova.prediction import Prediction
from slova.sklearn.calibration import OutOfFold, StreamCounts, class_probs, fit_scorer, recognise
from slova.sklearn.fitting import can_stream, fit_models, is_native
from slova.sklearn.labels import check_labels, check_rejection, classes_of, encode, possible_labels
from slova.sklearn.metadata import check_weight, fit_and_split_params, router, weight_params
from slova.sklearn.models import Floats, Labels, Multiclass, read_multiclass, start
from slova.thresholds import threshold_for

if TYPE_CHECKING:
    from slova.export.parity import Parity

__all__ = ["SlovaClassifier"]


class SlovaClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are calibrated on rows that its models were not fitted on.

    `estimator`: a classifier; None is a logistic regression. A fitted model is used as it is in a `FrozenEstimator`, or
        with cv="prefit": the rows given to `fit` only calibrate it, and it must not have been fitted on them.
    `cv`: a number of folds, a splitter, or an iterable of splits. Rows are scored out of fold to fit the calibration;
        the models that are kept are fitted on all rows.
    `multiclass`: "native" fits one model of all classes. "ovr" fits one binary model per class, whose P(none) ranks
        unknown inputs. "auto" is "native", but "ovr" if y contains `none_label` or the estimator is binary: one
        multi-class model cannot learn to reject. Two classes always have one model, unless y contains `none_label`.
    `response_method`: "auto", "decision_function" or "predict_proba"; see `slova.sklearn.models` for "auto".
    `calibration`: a name of `slova.calibration.CALIBRATORS`, a fit function, or None for no calibration.
    `keep_order`: never change which class has the largest output of the models; by default the calibration may.
    `reject`: the confidence below which `predict` returns `none_label`; None never rejects. See `threshold`.
    `none_label`: a label that no class has, of the type of the others if rows are rejected. Training rows that have it
        belong to no class: the models learn to reject them, and P(none) is calibrated on them. Stacking, voting and
        others encode y as integers before they fit: there such rows are a class like the others.

    After fitting: `classes_`, `models_` (`slova.sklearn.models`), and `scorer_` (`slova.Scorer`). `threshold` and
    `predict_set` give guarantees of risk and coverage.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        multiclass: str = "auto",
        response_method: str = "auto",
        calibration: Any = "posterior",
        keep_order: bool = False,
        reject: float | None = None,
        none_label: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.multiclass = multiclass
        self.response_method = response_method
        self.calibration = calibration
        self.keep_order = keep_order
        self.reject = reject
        self.none_label = none_label
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the models and calibrate them.

        A row of weight w counts as w rows in both; weights with a mean below one, such as those that sum to one, are
        scaled to a mean of one for the calibration. The weights of a pipeline go to its last step. `groups` go to the
        splitter `cv`, and `fit_params` to the estimator. If metadata routing is enabled, all of them are routed.
        """
        if self._is_prefit:
            check_is_fitted(self.estimator)
        X, names = self._validate(X, y, reset=True)
        self.classes_ = np.asarray(self.estimator.classes_) if self._is_prefit else classes_of(names, self.none_label)
        labels, weight = self._encode(names), check_weight(sample_weight, X)
        if self._is_prefit:
            self.models_: Any = read_multiclass(self.estimator, X, classes=self.classes_, method=self.response_method)
            rows: OutOfFold | None = OutOfFold.of(self.models_.outputs(X), labels, weight)
        else:
            params = fit_and_split_params(self, self._base, weight, groups, fit_params)
            self.models_, rows = fit_models(self, self._base, X, labels, weight, params)
        if rows is not None and isinstance(self.models_, Multiclass):
            self.models_ = replace(self.models_, response=recognise(rows, self.models_.response))
        self.scorer_ = fit_scorer(rows, self.models_.response, len(self.classes_), self.calibration, self.keep_order)
        self.stream_ = self._counts(rows) if rows is not None and can_stream(self) else None
        return self

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Score a batch, then train on it. The scores calibrate, together with those of earlier batches.

        The calibration starts with the second batch. It is the exponential one, and a row counts once in it unless its
        weight is 0; sample weights are used by the models. Without `none_label` there is one multi-class model.
        """
        _check_partial_fit_first_call(self, classes)
        first = not hasattr(self, "models_")
        X, names = self._validate(X, y, reset=first)
        labels, weight = self._encode(names), check_weight(sample_weight, X)
        params, known = weight_params(self._base, weight), self.classes_
        if first:
            options: dict[str, Any] = {"classes": known, "method": self.response_method, "n_jobs": self.n_jobs}
            native = is_native(self.multiclass, self._base, len(known), has_none=self.none_label is not None)
            self.models_ = start(native, self._base, X, labels, params, **options)
            self.scorer_ = fit_scorer(None, self.models_.response, len(known), None)
            self.stream_ = None
            return self
        counts = self._counts(OutOfFold.of(self.models_.outputs(X), labels, weight))
        self.stream_ = counts if self.stream_ is None else self.stream_.update(counts)
        self.scorer_ = self.stream_.calibrate(self.scorer_)
        self.models_ = self.models_.update(self._base, X, labels, known, params, self.n_jobs)
        return self

    def predict(self, X: Any, *, reject: float | None = None) -> NDArray[Any]:
        """The most probable class, or `none_label` where the confidence is below `reject` (by default that of the
        constructor)."""
        reject = self.reject if reject is None else reject
        check_is_fitted(self, "scorer_")
        labels = possible_labels(self.classes_, self.none_label, reject)
        return np.asarray(labels[self._prediction(X, reject or 0.0).label])

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities (N, K) of the classes, given that the input belongs to one of them; rows sum to one.

        The largest of them is that of the label, but it is not the `confidence` where P(none) is calibrated.
        """
        logits = self._logits(X)
        return class_probs(self.scorer_, logits)

    def predict_proba_with_none(self, X: Any) -> Floats:
        """Probabilities (N, K + 1) of the classes and, in the last column, of none of them; rows sum to one."""
        logits = self._logits(X)
        return np.asarray(self.scorer_.predict_proba(logits))

    def predict_set(
        self, X: Any, *, coverage: float = 0.95, per_class: bool = False, calibration_X: Any = None,
        calibration_y: Any = None,
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Booleans (N, K + 1), in the order of `classes_` and NONE last: the outcomes that each row may have. The true
        one is among them with probability `coverage`, see `slova.prediction_sets`. The guarantee is exact with rows
        that were not used in `fit`, given as calibration_X and calibration_y; without them, by out-of-fold rows, it is
        approximate."""
        logits, options = self._logits(X), dict[str, Any](coverage=coverage, per_class=per_class)
        if calibration_X is not None or calibration_y is not None:
            options["calibration_logits"], options["calibration_labels"] = self._labelled(calibration_X, calibration_y)
        elif self.scorer_.conformity is None:
            raise ValueError("predict_set requires calibration_X and calibration_y: no row of fit is left")
        return np.asarray(self.scorer_.predict_set(logits, **options))

    def decision_function(self, X: Any) -> Floats:
        """log predict_proba (N, K), finite; for two classes the log-odds of the second (N,)."""
        log_probs = np.log(self.predict_proba(X))
        return np.asarray(log_probs[:, 1] - log_probs[:, 0] if len(self.classes_) == 2 else log_probs)

    def raw_proba(self, X: Any) -> Floats:
        """Probabilities (N, K) before calibration; of one-vs-rest models P(this class and no other)."""
        logits = self._logits(X)
        return np.asarray(np.exp(self.scorer_.raw(logits).log_probs))

    def confidence(self, X: Any) -> Floats:
        """The calibrated probability (N,) that the most probable class is correct."""
        return np.asarray(self._prediction(X).confidence)

    def none_proba(self, X: Any) -> Floats:
        """P(none of the classes) (N,), by which unknown inputs are ranked.

        `scorer_.none` is "calibrated" if y had rows labelled `none_label`. Otherwise it is "evidence" for one-vs-rest
        models, which split what is left of the confidence, and "absent" for one multi-class model: P(none) is 0.
        """
        return np.asarray(self._prediction(X).none)

    def threshold(
        self, X: Any = None, y: Any = None, *, risk: float | None = None, coverage: float | None = None,
        delta: float | None = 0.05,
    ) -> float:  # fmt: skip
        """The value of `reject` for a risk or a coverage, see `slova.thresholds.threshold_for`. The guarantee holds for
        rows (X, y) that were not used in `fit`; without them, by out-of-fold rows, it is approximate."""
        check_is_fitted(self, "scorer_")
        validation = self.scorer_.validation
        if X is not None or y is not None:
            logits, labels = self._labelled(X, y)
            validation = selection_of(self.scorer_.predict(logits), labels)
        if validation is None:
            raise ValueError("threshold requires X and y after partial_fit, because no row of fit is left")
        return threshold_for(validation, risk=risk, coverage=coverage, delta=delta)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy of `predict`, in which a rejected row is an error unless its label is `none_label`."""
        return float(super().score(X, y, sample_weight))

    def export(self, path: str | Path, X: Any = None, *, tolerance: float | None = None) -> Parity:
        """Write models, head, calibration and threshold as one .onnx file (.pt2 too for linear models).

        The graph maps X to label, confidence, none, ambiguous and log_probs; labels are indices of `classes_` or -1. It
        is compared with this classifier on X, or on random rows, and written only if all outputs are within `tolerance`
        (the returned `slova.export.Parity`). Linear models need torch, others skl2onnx as well.
        """
        from slova.export.sklearn_model import export_sklearn

        return export_sklearn(self, path, X, tolerance=tolerance)

    def get_metadata_routing(self) -> Any:
        """The metadata that `fit` uses itself and passes on to the estimator and the splitter."""
        return router(self, self._base, self.cv)

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

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """X unchanged, for the estimator to validate, and y as an array."""
        validate_data(self, X, y, reset=reset, skip_check_array=True)
        return tuple(indexable(X, check_labels(y)))

    def _encode(self, names: NDArray[Any]) -> Labels:
        check_rejection(self.classes_, self.none_label, self.reject)
        return encode(names, self.classes_, self.none_label)

    def _labelled(self, X: Any, y: Any) -> tuple[Floats, Labels]:
        X, names = self._validate(X, y, reset=False)
        return self._logits(X), self._encode(names)

    def _counts(self, rows: OutOfFold) -> StreamCounts:
        return StreamCounts.of(self.scorer_.raw(self.models_.response.logits(rows.outputs)), rows.labels)

    def _logits(self, X: Any) -> Floats:
        check_is_fitted(self, "scorer_")
        return np.asarray(self.models_.logits(X))

    def _prediction(self, X: Any, reject: float = 0.0) -> Prediction:
        return self.scorer_.predict(self._logits(X), reject=reject)
