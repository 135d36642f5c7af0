"""One-vs-all training losses for torch: from logits (..., K) and labels to a scalar or one loss per row.

The losses are sums over classes, not means, as in the paper: a learning rate tuned for softmax does not carry over.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from slova._backend import TORCH
from slova.heads import NONE

__all__ = ["init_bias", "multilabel_loss", "ova_loss"]

Reduction = Literal["mean", "sum", "none"]
SMALL = 2.0**-32  # a power of two changes no digit, and the sum of large losses does not overflow before the mean


def ova_loss(logits: Tensor, labels: Tensor, *, weight: Tensor | None = None, reduction: Reduction = "mean") -> Tensor:
    """-log P(label and no other)  (Eq. 1); for the label NONE, -log P(none). `weight` is one number per row.

    With weights the mean is the weighted one, sum(weight * loss) / sum(weight).
    """
    logits = _logits(logits)
    check_targets(logits, labels)
    index = torch.where(labels == NONE, 0, labels).long().unsqueeze(-1)
    own = logits.gather(-1, index)
    signed = logits.scatter(-1, index, torch.where(labels.unsqueeze(-1) == NONE, own, -own))
    return reduced(TORCH.softplus(signed).sum(-1), weight, reduction)


def multilabel_loss(
    logits: Tensor, targets: Tensor, *, weight: Tensor | None = None, reduction: Reduction = "mean"
) -> Tensor:
    """-log P(exactly these labels), for targets (..., K) of zeros and ones; targets in between are soft labels."""
    logits = _logits(logits)
    _check_tensor(targets, "targets")
    if targets.shape != logits.shape:
        raise ValueError(f"targets {tuple(targets.shape)} do not match logits {tuple(logits.shape)}")
    if _can_be_read(targets):
        low, high = float(targets.detach().min()), float(targets.detach().max())
        if not (low >= 0 and high <= 1):
            raise ValueError(f"targets must lie in [0, 1], got values from {low:g} to {high:g}")
    losses = binary_cross_entropy_with_logits(logits, targets.to(logits), reduction="none").sum(-1)
    return reduced(losses, weight, reduction)


@torch.no_grad()
def init_bias(linear: nn.Linear) -> nn.Linear:
    """Set the bias of a final layer to -log(K - 1), so that training starts from p = 1/K per class rather than from 1/2.

    >>> layer = init_bias(nn.Linear(64, 10))
    >>> layer.bias.sigmoid()[0].item()
    0.10000000149011612
    """
    if linear.bias is None:
        raise ValueError(f"{linear} has no bias to set")
    linear.bias.fill_(-math.log(max(linear.out_features - 1, 1)))
    return linear


def _logits(logits: Tensor) -> Tensor:
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise TypeError(f"logits must be a floating point tensor, got {_kind(logits)}")
    if logits.ndim < 1 or logits.shape[-1] < 1:
        raise ValueError(f"logits must have shape (..., n_classes), got {tuple(logits.shape)}")
    return TORCH.floating(logits)


def _kind(value: Any) -> str:
    """The dtype of a tensor, else the type, whose dtype may well be right."""
    if isinstance(value, Tensor):
        return str(value.dtype)
    module, name = type(value).__module__, type(value).__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def _check_tensor(tensor: Tensor, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}")


def check_targets(logits: Tensor, labels: Tensor) -> None:
    _check_tensor(labels, "labels")
    if labels.shape != logits.shape[:-1]:
        raise ValueError(f"labels {tuple(labels.shape)} do not match logits {tuple(logits.shape)}")
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise TypeError(f"labels must be integers, got {labels.dtype}")
    if _can_be_read(labels):
        low, high = int(labels.min()), int(labels.max())
        if low < NONE or high >= logits.shape[-1]:
            raise ValueError(f"labels must lie in [-1, {logits.shape[-1]}), got values from {low} to {high}")


def _can_be_read(targets: Tensor) -> bool:
    """Reading values on an accelerator would wait for it; there gather itself stops at a bad label."""
    return targets.device.type == "cpu" and not torch.compiler.is_compiling() and targets.numel() > 0


def reduced(losses: Tensor, weight: Tensor | None, reduction: Reduction) -> Tensor:
    """The losses (...) in this reduction, with `weight` (...)."""
    if weight is not None:
        _check_tensor(weight, "weight")
    if weight is not None and weight.shape != losses.shape:
        raise ValueError(f"weight {tuple(weight.shape)} does not match the rows {tuple(losses.shape)}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    weighted = losses if weight is None else losses * weight.to(losses)
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    small = losses * SMALL
    return (small.mean() if weight is None else (small * weight.to(losses)).sum() / weight.to(losses).sum()) / SMALL
