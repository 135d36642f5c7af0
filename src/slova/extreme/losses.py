"""The one-vs-all loss of a last layer and its gradients, in one pass over chunks of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from slova._backend import TORCH
from slova.extreme.chunks import Chunk, Linear, check_labels, chunks, fused, linear, multiplied
from slova.losses import Reduction, reduced

__all__ = ["ova_loss"]


def ova_loss(
    features: Tensor,
    matrix: Tensor,
    labels: Tensor,
    *,
    bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """`slova.ova_loss(features @ matrix.T + bias, labels, weight=weight, reduction=reduction)` without those logits:
    the same value and gradients, to rounding.

    The gradients of a scalar loss are computed in the forward pass, chunk by chunk. A loss per row, or weights that
    require a gradient, need a second computation of the logits in the backward pass. There are no second derivatives.
    """
    layer = linear(features, matrix, bias)
    check_labels(layer, labels, features.shape[:-1])
    rows = torch.ones(labels.shape, dtype=layer.logits_dtype, device=features.device)
    whole = reduced(rows, weight, reduction)
    parts = (layer.features, matrix, bias)
    if not torch.is_grad_enabled():
        parts = (layer.features.detach(), matrix.detach(), None if bias is None else bias.detach())
    given = (*parts, labels.reshape(-1).long(), layer.dtype)
    if reduction == "none" or whole.requires_grad:
        losses: Tensor = _Loss.apply(*given, None, None)  # type: ignore[no-untyped-call]
        return reduced(losses.reshape(labels.shape), weight, reduction)
    divisor = reduced(rows, weight, "sum") if reduction == "mean" else torch.ones_like(whole)
    weight = None if weight is None else weight.reshape(-1)
    total: Tensor = _Loss.apply(*given, weight, divisor)  # type: ignore[no-untyped-call]
    return total


class _Loss(torch.autograd.Function):
    """Without a divisor, the loss of each row; with one, sum(weight * loss) / divisor and its gradients at once."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, matrix: Tensor, bias: Tensor | None, labels: Tensor, dtype: torch.dtype,
        weight: Tensor | None, divisor: Tensor | None,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(features, matrix, bias, labels, weight, divisor)
        layer = Linear(features, matrix, bias, dtype)
        gradients = _Gradients.of(layer, ctx.needs_input_grad if divisor is not None else (False,) * 3)
        losses = _losses(layer, labels, weight, gradients)
        ctx.dtype, ctx.ready = dtype, None if divisor is None else gradients
        if divisor is None:
            return losses.to(layer.logits_dtype)
        return ((losses if weight is None else losses * weight).sum() / divisor).to(layer.logits_dtype)

    @staticmethod
    def backward(ctx: Any, incoming: Tensor) -> Any:
        if torch.is_grad_enabled():  # with create_graph=True
            raise NotImplementedError("extreme.ova_loss has no second derivatives; slova.ova_loss has them")
        features, matrix, bias, labels, weight, divisor = ctx.saved_tensors
        gradients, ctx.ready = ctx.ready, None  # a second backward pass computes them again
        if gradients is None:
            layer = Linear(features, matrix, bias, ctx.dtype)
            gradients = _Gradients.of(layer, ctx.needs_input_grad)
            _losses(layer, labels, incoming if divisor is None else weight, gradients)
        if divisor is not None and len(labels):  # without rows the gradients are zero, although the mean is NaN
            gradients.scale(incoming / divisor)
        return *gradients, None, None, None, None


class _Gradients(NamedTuple):
    """Gradients of sum(weight * loss); None where not needed."""

    features: Tensor | None
    matrix: Tensor | None
    bias: Tensor | None

    @classmethod
    def of(cls, layer: Linear, needed: Any) -> _Gradients:
        """Allocate them. Only the gradient of the matrix, most of the memory, is in half precision, and never in
        float16, because a sum over many rows may overflow."""
        exact, half = layer.logits_dtype, layer.matrix.dtype == torch.bfloat16
        return cls(
            torch.zeros_like(layer.features, dtype=exact) if needed[0] else None,
            torch.empty_like(layer.matrix, dtype=torch.bfloat16 if half else exact) if needed[1] else None,
            torch.empty_like(layer.matrix[:, 0], dtype=exact) if needed[2] else None,
        )

    def add(self, chunk: Chunk, slope: Tensor, weighted: Tensor, weight: Tensor) -> None:
        """What a chunk adds: slope (N, C) is the derivative of each row's loss, weighted (N, D) the features times
        their weight (N, 1)."""
        classes = slice(chunk.first, chunk.first + slope.shape[1])
        if self.features is not None:
            self.features.add_(multiplied(slope, chunk.matrix))
        if self.matrix is not None:
            self.matrix[classes] = multiplied(slope.T, weighted)
        if self.bias is not None:
            self.bias[classes] = multiplied(slope.T, weight)[:, 0]

    def scale(self, factor: Tensor) -> None:
        """In place: a copy would be as large as the matrix."""
        for gradient in self:
            if gradient is not None:
                gradient.mul_(factor)


def _losses(layer: Linear, labels: Tensor, weight: Tensor | None, gradients: _Gradients) -> Tensor:
    """The loss of each row, in float64; the gradients are filled in."""
    losses = torch.zeros(len(labels), dtype=torch.float64, device=labels.device)
    column = torch.ones_like(losses)[:, None] if weight is None else weight[:, None]
    column, weighted = column.to(layer.dtype), (layer.features * column).to(layer.dtype)
    needed = any(gradient is not None for gradient in gradients)
    with torch.autocast(labels.device.type, enabled=False):
        for chunk in chunks(layer):
            found, slope = _loss_and_slope(chunk.logits, labels - chunk.first, layer.dtype if needed else None)
            losses += found
            if slope is not None:
                gradients.add(chunk, slope, weighted, column)
    if gradients.features is not None:
        gradients.features.mul_(column)
    return losses


def _loss_and_slope(logits: Tensor, labels: Tensor, dtype: torch.dtype | None) -> tuple[Tensor, Tensor | None]:
    """-log P(label and no other) as far as these classes go, and its derivative, in `dtype`, by the logits, which are
    lost. Labels outside 0 ... C - 1 belong to another chunk, or to none.

    With the label's own logit negated, loss = sum softplus(f) and the slope is sigmoid(f), negated back.
    """
    if fused(logits):
        from slova.extreme.kernels import loss_and_slope

        slope = None if dtype is None else logits if dtype == logits.dtype else torch.empty_like(logits, dtype=dtype)
        return loss_and_slope(logits, labels, slope), slope
    rows = ((labels >= 0) & (labels < logits.shape[1])).nonzero()[:, 0]
    own = (rows, labels[rows])
    logits[own] = -logits[own]
    losses = TORCH.softplus(logits).sum(-1)
    if dtype is None:
        return losses, None
    slope = logits.sigmoid_()
    slope[own] = -slope[own]
    return losses, slope.to(dtype)
