"""One-vs-all training losses for torch: from logits (..., K) and labels to a scalar or one loss per row.

The losses are sums over classes, not means, as in the paper: a learning rate tuned for softmax does not carry over.

>>> network = prepare(nn.Linear(4, 3))                                   # once, before training
>>> loss = ova_loss(network(torch.rand(2, 4)), torch.tensor([2, -1]))    # labels 0 ... K-1, or NONE, which is -1
>>> loss.backward()
>>> logits = torch.tensor([[4.0, -4.0], [-4.0, -4.0]])                 # class 0, and neither class
>>> ova_loss(logits, torch.tensor([0, -1]))
tensor(0.0363)
>>> ova_loss(logits, torch.tensor([0, -1]), cross_entropy=1.5)         # the image recipe
tensor(0.0366)
>>> ova_loss(logits, torch.tensor([1, -1]), reduction="none")          # the first label is wrong
tensor([8.0363, 0.0363])
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from slova._backend import TORCH
from slova._batches import can_be_read
from slova._types import ClassWeightTensor, LabelsTensor, LogitsTensor, LossTensor, TargetsTensor, WeightTensor
from slova._validation import NONE_INDEX
from slova.heads import SLOVA

__all__ = ["init_bias", "multilabel_loss", "ova_loss", "prepare"]

Reduction = Literal["mean", "sum", "none"]
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
Layer = TypeVar("Layer", nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
SMALL = 2.0**-32  # a power of two changes no digit, and the sum of large losses does not overflow before the mean


def ova_loss(
    logits: LogitsTensor,
    labels: LabelsTensor,
    *,
    weight: WeightTensor | None = None,
    class_weight: ClassWeightTensor | None = None,
    label_smoothing: float = 0.0,
    cross_entropy: float = 0.0,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> LossTensor:
    """-log P(label and no other)  (Eq. 1); for the label NONE, -log P(none). See `prepare` for the network.

    weight: one number per row. With weights the mean is the weighted one, sum(weight * loss) / sum(weight).
    class_weight: one number per class (K,), the weight of the rows of that class, as in cross-entropy; NONE rows have
        weight 1. It multiplies `weight`.
    label_smoothing: the targets of a row are mixed with 1/K, as in cross-entropy: 1 - s + s/K for its label and s/K for
        the others. NONE rows keep their targets, which are all 0.
    cross_entropy: adds this many times the softmax cross-entropy of the rows that have a class. It separates the
        classes better, and the other part still learns when none fits; 1.5 is the value of the image recipe.
    ignore_index: rows with this label have loss 0 and do not count in the mean; PyTorch's is -100.
    """
    logits = _logits(logits)
    _check_tensor(labels, "labels")
    _check_options(logits, class_weight, label_smoothing, cross_entropy, ignore_index)
    ignored = None if ignore_index is None else labels == ignore_index
    if ignored is not None:
        logits, labels = logits.masked_fill(ignored.unsqueeze(-1), 0), labels.masked_fill(ignored, NONE_INDEX)
    check_targets(logits, labels)
    is_none = labels == NONE_INDEX
    index = torch.where(is_none, 0, labels).long().unsqueeze(-1)
    own = logits.gather(-1, index)
    signed = logits.scatter(-1, index, torch.where(is_none.unsqueeze(-1), own, -own))
    losses = TORCH.softplus(signed).sum(-1)
    if label_smoothing or cross_entropy:
        excess = label_smoothing * (own.squeeze(-1) - logits.mean(-1))
        added = (1 + cross_entropy) * excess + cross_entropy * (logits.logsumexp(-1) - own.squeeze(-1))
        losses = losses + added.masked_fill(is_none, 0)
    return reduced(losses, _row_weight(losses, index, is_none, ignored, (weight, class_weight)), reduction)


def _check_options(
    logits: Tensor,
    class_weight: Tensor | None,
    label_smoothing: float,
    cross_entropy: float,
    ignore_index: int | None,
) -> None:
    if class_weight is not None:
        _check_tensor(class_weight, "class_weight")
        classes, shape = logits.shape[-1], tuple(class_weight.shape)
        if shape != (classes,):
            raise ValueError(f"class_weight must have one number per class of {classes}, got shape {shape}")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing must lie in [0, 1], got {label_smoothing}")
    if not 0 <= cross_entropy < float("inf"):
        raise ValueError(f"cross_entropy must be finite and not negative, got {cross_entropy}")
    if ignore_index == NONE_INDEX:
        raise ValueError(f"ignore_index must not be {NONE_INDEX}, which is NONE: the rows that belong to no class")


def _row_weight(
    losses: Tensor, index: Tensor, is_none: Tensor, ignored: Tensor | None, weights: tuple[Tensor | None, Tensor | None]
) -> Tensor | None:
    """The weight of each row: its own, times that of its class, times 0 if it is ignored."""
    weight, class_weight = weights
    if class_weight is not None:
        factor = class_weight.to(losses)[index.squeeze(-1)].masked_fill(is_none, 1)
        weight = factor if weight is None else _check_weight(weight, losses) * factor
    if ignored is not None:
        weight = torch.ones_like(losses) if weight is None else _check_weight(weight, losses)
        weight = weight.masked_fill(ignored, 0)
    return weight


def multilabel_loss(
    logits: LogitsTensor,
    targets: TargetsTensor,
    *,
    weight: WeightTensor | None = None,
    reduction: Reduction = "mean",
) -> LossTensor:
    """-log P(exactly these labels), for targets (..., K) of zeros and ones; targets in between are soft labels.

    >>> multilabel_loss(torch.tensor([[4.0, 4.0, -4.0]]), torch.tensor([[1, 1, 0]]))
    tensor(0.0544)
    """
    logits = _logits(logits)
    _check_tensor(targets, "targets")
    if targets.shape != logits.shape:
        raise ValueError(f"targets {tuple(targets.shape)} do not match logits {tuple(logits.shape)}")
    if can_be_read(targets) and targets.numel():
        low, high = float(targets.detach().min()), float(targets.detach().max())
        if not (low >= 0 and high <= 1):
            raise ValueError(f"targets must lie in [0, 1], got values from {low:g} to {high:g}")
    losses = binary_cross_entropy_with_logits(logits, targets.to(logits), reduction="none").sum(-1)
    return reduced(losses, weight, reduction)


def prepare(network: nn.Module, *, classes: int | None = None) -> nn.Module:
    """Prepare a network for training with `ova_loss`: set the bias of its last layer by `init_bias`, and return it.
    Its attribute `slova_head` then states that its logits are one-vs-all, and `Classifier.fit` does not have to
    recognise them.

    The last layer is the linear or convolutional layer that was registered last, with `classes` outputs if given. With
    a bias of about 0 each class starts from probability 1/2, and the first steps only learn that most are wrong.

    >>> network = prepare(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
    >>> network[2].bias.sigmoid()[0].item()
    0.10000000149011612
    """
    layers: dict[str, Any] = {name: layer for name, layer in network.named_modules() if isinstance(layer, LAYERS)}
    found = [name for name, layer in layers.items() if classes in (None, _outputs(layer))]
    if not found:
        outputs = "" if classes is None else f" with {classes} outputs"
        sizes = ", ".join(f"{name or 'itself'} ({_outputs(layer)})" for name, layer in layers.items()) or "none"
        raise ValueError(
            f"{type(network).__name__} has no linear or convolutional layer{outputs} (it has: {sizes}); "
            "call init_bias with its last layer"
        )
    init_bias(layers[found[-1]])
    network.slova_head = SLOVA.name  # type: ignore[assignment]  # survives a copy, and is no part of the state dict
    return network


@torch.no_grad()
def init_bias(layer: Layer) -> Layer:
    """Set the bias of a final layer to -log(K - 1), so that training starts from p = 1/K per class rather than 1/2.

    >>> layer = init_bias(nn.Linear(64, 10))
    >>> layer.bias.sigmoid()[0].item()
    0.10000000149011612
    """
    if layer.bias is None:
        raise ValueError(f"{layer} has no bias to set")
    if isinstance(layer.bias, nn.UninitializedParameter):
        raise ValueError(f"{layer} has no shape yet: pass a batch through the network first")
    layer.bias.fill_(-math.log(max(_outputs(layer) - 1, 1)))
    return layer


def _outputs(layer: nn.Module) -> int:
    return int(layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels)  # type: ignore[arg-type]


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
    if can_be_read(labels) and labels.numel():  # on an accelerator gather itself stops at a bad label
        low, high = int(labels.min()), int(labels.max())
        if low < NONE_INDEX or high >= logits.shape[-1]:
            raise ValueError(f"labels must lie in [-1, {logits.shape[-1]}), got values from {low} to {high}")


def reduced(losses: Tensor, weight: Tensor | None, reduction: Reduction) -> Tensor:
    """The losses (...) in this reduction, with `weight` (...)."""
    if weight is not None:
        weight = _check_weight(weight, losses)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    weighted = losses if weight is None else losses * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    small = losses * SMALL
    return (small.mean() if weight is None else (small * weight).sum() / weight.sum()) / SMALL


def _check_weight(weight: Tensor, losses: Tensor) -> Tensor:
    _check_tensor(weight, "weight")
    if weight.shape != losses.shape:
        raise ValueError(f"weight {tuple(weight.shape)} does not match the rows {tuple(losses.shape)}")
    return weight.to(losses)
