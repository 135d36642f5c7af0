"""Affine calibration of one-vs-all logits, before the head: f -> scale f + offset, the same for all classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slova._backend import Array, floating
from slova._types import Labels, LogitRows, Logits, Weight
from slova._validation import check_rows, check_weight

__all__ = ["AffineCalibration"]


@dataclass(frozen=True)
class AffineCalibration:
    """A positive scale and an offset. The order of the classes is kept, their common level is not, and the head then
    reads that level.

    >>> AffineCalibration(2.0, 1.0)(np.array([[-3.0, 0.0, 3.0]]))
    array([[-5.,  1.,  7.]])
    """

    scale: float
    offset: float

    name: ClassVar[str] = "affine"
    takes: ClassVar[str] = "logits"
    elementwise: ClassVar[bool] = True
    order_preserving: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (
            np.ndim(self.scale) == np.ndim(self.offset) == 0 and 0 < self.scale < np.inf and np.isfinite(self.offset)
        ):
            raise ValueError(
                f"scale must be one positive number and offset a finite one, got {self.scale} and {self.offset}"
            )
        object.__setattr__(self, "scale", float(self.scale))
        object.__setattr__(self, "offset", float(self.offset))

    def __call__(self, logits: Logits) -> Logits:
        logits, ops = floating(logits, "logits")
        return ops.like(self.scale, logits) * logits + ops.like(self.offset, logits)

    @classmethod
    def fit(cls, logits: LogitRows, labels: Labels, *, weight: Weight | None = None) -> AffineCalibration:
        """The scale and offset of least one-vs-all loss, a convex problem; NONE rows are misses of every class."""
        from scipy.optimize import minimize

        logits, labels = check_rows(logits, labels, "logits")
        if not np.isfinite(logits).all():
            raise ValueError(
                f"logits hold infinities in {int((~np.isfinite(logits)).any(axis=1).sum())} of {len(logits)} rows"
            )
        targets = (np.arange(logits.shape[1]) == labels[:, None]).astype(np.float64)
        values = logits.astype(np.float64)
        counts = np.ones(len(labels)) if weight is None else check_weight(weight, labels)
        shares = (counts / counts.sum())[:, None]
        bounds = [(1e-3, 1e3), (-1e3, 1e3)]
        found = minimize(
            _loss,
            np.array([1.0, 0.0]),
            args=(values, targets, shares),
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        return cls(*found.x)


def _loss(numbers: Array, logits: Array, targets: Array, shares: Array) -> tuple[float, Array]:
    moved = numbers[0] * logits + numbers[1]
    losses = np.maximum(moved, 0) + np.log1p(np.exp(-np.abs(moved))) - targets * moved
    error = (np.exp(-np.maximum(-moved, 0)) / (1 + np.exp(-np.abs(moved))) - targets) * shares
    return float((losses * shares).sum()), np.array([np.sum(error * logits), np.sum(error)])
