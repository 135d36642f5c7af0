"""Arrays with their shapes, for signatures: `logits: Logits` is a floating point array of shape (..., n_classes).

The names of one signature share their axes: `labels: Labels` has as many rows as `log_probs: LogProbRows`. An array is
a numpy array or a torch tensor; they share no base class, so for a static type checker it is anything. If jaxtyping was
imported before, as in tests, the names are types that it can check; otherwise they only describe.
"""

from __future__ import annotations

import sys
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, get_args, get_origin

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

# Any batch shape.
Values = Annotated[Any, "Float", "*batch columns"]  # one per class, or one for two classes
Logits = Annotated[Any, "Float", "*batch classes"]
LogOdds = Annotated[Any, "Float", "*batch classes"]
LogProbs = Annotated[Any, "Float", "*batch classes"]
Probs = Annotated[Any, "Float", "*batch classes"]
Outcomes = Annotated[Any, "Float", "*batch outcomes"]  # probabilities of the classes and of NONE
OutcomeFlags = Annotated[Any, "Bool", "*batch outcomes"]
Sets = Annotated[Any, "Bool", "*batch classes"]  # of labels
Distances = Annotated[Any, "Real", "*batch distances"]
TopIndex = Annotated[Any, "Integer", "*batch 1"]
Answers = Annotated[Any, "Shaped", "*batch"]  # labels, or names of classes
BatchLabels = Annotated[Any, "Integer", "*batch"]
BatchFloats = Annotated[Any, "Float", "*batch"]
BatchFlags = Annotated[Any, "Bool", "*batch"]

# Rows to fit to or to measure.
LogitRows = Annotated[Any, "Float", "rows classes"]
LogOddsRows = Annotated[Any, "Float", "rows classes"]
LogProbRows = Annotated[Any, "Float", "rows classes"]
ProbRows = Annotated[Any, "Float", "rows classes"]
OutcomeRows = Annotated[Any, "Float", "rows outcomes"]
DistanceRows = Annotated[Any, "Real", "rows distances"]
FeatureRows = Annotated[Any, "Real", "rows features"]
TargetRows = Annotated[Any, "Shaped", "rows classes"]  # zeros and ones, of any dtype
SetRows = Annotated[Any, "Shaped", "rows classes"]  # the same, predicted
Labels = Annotated[Any, "Integer", "rows"]
LogNone = Annotated[Any, "Float", "rows"]
Confidence = Annotated[Any, "Float", "rows"]
Hits = Annotated[Any, "Bool", "rows"]
Weight = Annotated[Any, "Real", "rows"]
Groups = Annotated[Any, "Integer", "rows"]
Inside = Annotated[Any, "Float", "inside_rows"]
Outside = Annotated[Any, "Float", "outside_rows"]

# Numbers of calibrators. Their constructors accept lists.
Terms = Annotated[Any, "Float", "terms"]
Edges = Annotated[Any, "Float", "edges"]
BinValues = Annotated[Any, "Float", "edges+1"]
DistanceLimits = Annotated[Any, "Float", "distances"]
DistanceWeights = Annotated[Any, "Float", "distance_weights"]  # one more than distances
ClassNumbers = Annotated[Any, "Float", "classes"]
PairSums = Annotated[Any, "Float", "cells"]

# Losses.
LogitsTensor = Annotated["Tensor", "Float", "*batch classes"]
TargetsTensor = Annotated["Tensor", "Shaped", "*batch classes"]
LabelsTensor = Annotated["Tensor", "Integer", "*batch"]
WeightTensor = Annotated["Tensor", "Shaped", "*batch"]
ClassWeightTensor = Annotated["Tensor", "Shaped", "classes"]
LossTensor = Annotated["Tensor", "Float", "..."]  # one number, or one per row


SHAPES = {name: get_args(kind) for name, kind in list(globals().items()) if get_origin(kind) is Annotated}
"""Base type, dtype and axes by name."""


def _checked(base: Any, dtype: str, axes: str) -> Any:
    """The type of jaxtyping."""
    jaxtyping, torch = sys.modules["jaxtyping"], sys.modules.get("torch")
    arrays = [] if isinstance(base, ForwardRef) else [np.ndarray]
    arrays += [] if torch is None else [torch.Tensor]
    return reduce(or_, (getattr(jaxtyping, dtype)[array, axes] for array in arrays)) if arrays else Any


if "jaxtyping" in sys.modules:
    globals().update({name: _checked(*described) for name, described in SHAPES.items()})
