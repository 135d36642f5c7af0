"""Sample weights, groups and other parameters of `fit`, with and without scikit-learn's metadata routing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

__all__ = ["check_weight", "fit_and_split_params", "router", "weight_params"]

Weight = NDArray[np.float64] | None


def check_weight(sample_weight: Any, X: Any) -> Weight:
    """The weights as an array (N,), or None."""
    if sample_weight is None:
        return None
    weight: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight must have at least one positive weight, all are zero")
    return weight


def router(owner: Any, base: Any, cv: Any) -> MetadataRouter:
    """What `owner.fit` uses itself and passes on to `base.fit` and `cv.split`."""
    found = MetadataRouter(owner=owner).add_self_request(owner)
    found.add(estimator=base, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    if hasattr(cv, "get_metadata_routing"):
        found.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    return found


def fit_and_split_params(
    owner: Any, base: Any, weight: Weight, groups: Any, fit_params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of `base.fit` and of the splitter's `split`."""
    if not get_config()["enable_metadata_routing"]:
        return fit_params | weight_params(base, weight), {} if groups is None else {"groups": groups}
    routed = process_routing(owner, "fit", sample_weight=weight, groups=groups, **fit_params)
    return routed.estimator.fit, routed.splitter.split if "splitter" in routed else {}


def weight_params(base: Any, weight: Weight) -> dict[str, Any]:
    """The sample weights as `base.fit` takes them."""
    if weight is None:
        return {}
    name = _weight_parameter(base)
    if name is None:
        raise TypeError(f"sample_weight was given, but {type(base).__name__}.fit does not take it")
    return {name: weight}


def _weight_parameter(base: Any) -> str | None:
    """The name of the weights in `base.fit`; those of a pipeline go to its last step."""
    if has_fit_parameter(base, "sample_weight"):
        return "sample_weight"
    if isinstance(base, Pipeline) and (inner := _weight_parameter(base.steps[-1][1])):
        return f"{base.steps[-1][0]}__{inner}"
    return None
