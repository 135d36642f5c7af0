"""The models of a `SlovaClassifier`: one of all classes or one per class, and their outputs out of fold."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.utils import get_tags

from slova.sklearn.calibration import OutOfFold, out_of_fold, splits
from slova.sklearn.models import Labels, Members, Multiclass, Weight, fit_members, fit_multiclass

__all__ = ["can_stream", "fit_models", "is_native"]


def can_stream(owner: Any) -> bool:
    """Whether a `SlovaClassifier` has `partial_fit`."""
    return not owner._is_prefit and hasattr(owner._base, "partial_fit")


def is_native(multiclass: str, base: Any, classes: int, *, has_none: bool) -> bool:
    """Whether there is one model of all classes rather than one per class."""
    if multiclass not in ("auto", "native", "ovr"):
        raise ValueError(f"multiclass must be 'auto', 'native' or 'ovr', got {multiclass!r}")
    if multiclass != "auto":
        return multiclass == "native" or (classes == 2 and not has_none)
    tags = get_tags(base).classifier_tags  # None of a class without scikit-learn's ClassifierMixin
    return not has_none and (classes == 2 or tags is None or tags.multi_class)


def fit_models(
    owner: Any, base: Any, X: Any, labels: Labels, weight: Weight, params: tuple[Any, Any]
) -> tuple[Members | Multiclass, OutOfFold | None]:
    """The models fitted on all rows, and the outputs for each row of models that were not fitted on it; `owner` is the
    `SlovaClassifier`, `params` are those of `base.fit` and of the splitter."""
    native = is_native(owner.multiclass, base, len(owner.classes_), has_none=bool((labels < 0).any()))
    options: dict[str, Any] = {"classes": owner.classes_, "n_jobs": None if native else owner.n_jobs}
    fit: Any = partial(fit_multiclass if native else fit_members, **options)
    models = fit(base, X, labels, params[0], weight=weight, method=owner.response_method)
    fit = partial(fit, method=models.response.method)
    folds, jobs = splits(owner.cv, X, labels, **params[1]), owner.n_jobs if native else None
    return models, out_of_fold(fit, base, X, labels, weight, params=params[0], folds=folds, n_jobs=jobs)
