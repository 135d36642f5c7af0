"""Export a `SlovaClassifier`: its members, followed by head, calibrator and threshold as for a network; X (N, F).

Linear members (logistic regression, linear SVM, SGD, ridge, ...) become one matrix product in float64, which needs
torch only and can be written as .pt2 as well. Other members are converted by skl2onnx. Some of its conversions are
silently wrong (isotonic `CalibratedClassifierCV`, the decision function of a prefit `SVC(probability=True)`); the
comparison finds them. The graph takes X in float32, so it cannot agree where a model depends on further digits of X.
Converted probabilities are float32, which near one resolves 1 - p to 1e-7 only; differences due to that are tolerated.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from slova.export.file_metadata import ExportError
from slova.export.job import BATCH, ROWS, Job, check_and_write
from slova.export.network import exported_network
from slova.export.parity import Bounds, Parity
from slova.sklearn import SlovaClassifier
from slova.sklearn.models import Constant, Members, Multiclass, Response

__all__ = ["Linear", "ToLogits", "export_sklearn", "unfrozen"]


def export_sklearn(model: SlovaClassifier, path: str | Path, X: Any, *, tolerance: float | None) -> Parity:
    """See `SlovaClassifier.export`. Without X, normally distributed rows are compared."""
    check_is_fitted(model, "scorer_")
    job = Job(Path(path), model.scorer_, [str(name) for name in model.classes_], float(model.reject or 0.0))
    X = np.random.default_rng(0).normal(size=(ROWS, model.n_features_in_)) if X is None else X
    table = _numbers(X)
    X = X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X  # models compute in the type of X
    logits = torch.as_tensor(model.models_.logits(X))
    rounding = 2.0**-22 if model.models_.response.method == "predict_proba" else 0.0
    softmax = model.models_.response.head == "softmax"
    bounds = Bounds.of(half=False, tolerance=tolerance)._replace(probability=rounding, softmax=softmax)
    batches = [slice(first, first + BATCH) for first in range(0, len(table), BATCH)]
    stream = (({"X": table[rows]}, logits[rows], None) for rows in batches)
    return check_and_write(_exported(model.models_, table[:BATCH], job), stream, job, bounds)


def _exported(members: Members | Multiclass, table: Tensor, job: Job) -> Any:
    linear = _linear(members, table.shape[1])
    if linear is not None:
        return exported_network(linear, ((table,), {}), ["X"], job)
    if job.path.suffix != ".onnx":
        raise ExportError(f"{job.path}: only linear members can be a torch program; export to a file ending in .onnx")
    try:
        from slova.export.sklearn_members import converted
    except ImportError as error:
        raise ImportError(
            f"exporting these members needs {error.name}: pip install onnx onnxruntime skl2onnx"
        ) from error
    return converted(
        members,
        ToLogits(members.response, len(members.models if isinstance(members, Members) else members.classes)),
        table,
        job,
    )


class Linear(nn.Module):
    """All linear members as one layer, in float64 as in scikit-learn."""

    coefficients: Tensor
    intercepts: Tensor

    def __init__(self, coefficients: np.ndarray, intercepts: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("coefficients", torch.as_tensor(coefficients, dtype=torch.float64))
        self.register_buffer("intercepts", torch.as_tensor(intercepts, dtype=torch.float64))

    def forward(self, X: Tensor) -> Tensor:
        return (X.double() @ self.coefficients.T + self.intercepts).float()


class ToLogits(nn.Module):
    """Outputs (N, K) of converted models as logits, (N, 2 K) for probabilities of members; one column f of two classes
    comes as (-f, f). See `slova.sklearn.models.Response`."""

    def __init__(self, response: Response, classes: int) -> None:
        super().__init__()
        self.response, self.classes = response, classes

    def forward(self, outputs: Tensor) -> Tensor:
        outputs, smoothing = outputs.double(), self.response.smoothing  # a graph drops additions of less than 1e-8
        if self.response.method == "predict_proba":
            log_probs = torch.log(outputs.clip(0, 1) + smoothing)  # float32 may exceed them
            if self.response.head == "slova":  # each class has the columns of its complement and of itself
                return (log_probs[:, 1::2] - log_probs[:, ::2]).float()
            return (log_probs - math.log1p(self.classes * smoothing)).float()
        return (outputs / 2 if self.response.head == "softmax" and self.classes == 2 else outputs).float()


def _linear(members: Members | Multiclass, features: int) -> Linear | None:
    """The members as one linear layer, if that is what they are."""
    models = [unfrozen(members.model)] if isinstance(members, Multiclass) else members.models
    if members.response.method != "decision_function" or not all(_is_linear(model) for model in models):
        return None
    parts = [_coefficients(model, features) for model in models]
    coefficients, intercepts = (np.concatenate(part) for part in zip(*parts, strict=True))
    if isinstance(members, Multiclass) and len(coefficients) == 1:
        coefficients, intercepts = np.vstack([-coefficients, coefficients]) / 2, np.append(-intercepts, intercepts) / 2
    return Linear(coefficients, intercepts)


def _is_linear(model: Any) -> bool:
    own = getattr(type(model), "decision_function", None)
    return isinstance(model, Constant) or own is LinearClassifierMixin.decision_function


def _coefficients(model: Any, features: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(model, Constant):
        return np.zeros((1, features)), np.array([model.logit])
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    return np.atleast_2d(coefficients), np.broadcast_to(model.intercept_, len(np.atleast_2d(coefficients)))


def unfrozen(model: Any) -> Any:
    """The estimator inside a FrozenEstimator."""
    return unfrozen(model.estimator) if isinstance(model, FrozenEstimator) else model


def _numbers(X: Any) -> Tensor:
    """The table in float32, the input type of the graph."""
    try:
        return torch.as_tensor(np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise ExportError(f"an exported classifier takes a numeric table: {error}") from error
