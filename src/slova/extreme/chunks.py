"""Logits of features (N, D) and a matrix (K, D), a few thousand classes at a time, in one reused buffer."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from slova._validation import NONE_INDEX
from slova.losses import check_targets

__all__ = ["TRITON", "Chunk", "Linear", "check_labels", "chunks", "fused", "linear", "multiplied"]

# Numbers in the buffer: on a CPU what its cache holds, on a GPU enough to keep it busy.
ON_CPU, ON_GPU = 1 << 20, 1 << 26
TRITON = importlib.util.find_spec("triton") is not None
NARROWEST = 256  # the fewest classes at a time, because a narrower product is slow


class Linear(NamedTuple):
    """A last layer and its inputs; `dtype` is that of the products."""

    features: Tensor
    matrix: Tensor
    bias: Tensor | None
    dtype: torch.dtype

    @property
    def logits_dtype(self) -> torch.dtype:
        return torch.float64 if self.dtype == torch.float64 else torch.float32


class Chunk(NamedTuple):
    """Classes from `first` on: their rows of the matrix (C, D) and logits (N, C), which the next chunk overwrites."""

    first: int
    matrix: Tensor
    logits: Tensor


def linear(features: Tensor, matrix: Tensor, bias: Tensor | None) -> Linear:
    """The layer, after its parts are checked. Products are in float32 or float64; on a GPU in bfloat16, summed in
    float32, if the parts or autocast are bfloat16. float16 is multiplied in float32, because probabilities about 1 / K
    are near its smallest number."""
    for name, part in (("features", features), ("matrix", matrix), ("bias", bias)):
        if part is not None and not (isinstance(part, Tensor) and part.is_floating_point()):
            kind = getattr(part, "dtype", type(part).__name__)
            raise TypeError(f"{name} must be a floating point tensor, got {kind}")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"the matrix must be (classes, features) with at least one of each, got {tuple(matrix.shape)}")
    if features.ndim < 1 or features.shape[-1] != matrix.shape[1]:
        raise ValueError(f"features {tuple(features.shape)} do not match the matrix {tuple(matrix.shape)}")
    if bias is not None and bias.shape != matrix.shape[:1]:
        raise ValueError(f"the bias {tuple(bias.shape)} does not match the matrix {tuple(matrix.shape)}")
    return Linear(features.reshape(-1, matrix.shape[1]), matrix, bias, _dtype(features, matrix))


def check_labels(layer: Linear, labels: Tensor, batch: torch.Size) -> None:
    """Raise unless there is one label per row, a class or NONE."""
    check_targets(torch.empty(*batch, len(layer.matrix), device="meta"), labels)
    if labels.is_cuda:  # checked on the device, without synchronisation
        torch._assert_async(((labels >= NONE_INDEX) & (labels < len(layer.matrix))).all())


def chunks(layer: Linear) -> Iterator[Chunk]:
    """All classes in order."""
    features, bias = layer.features.to(layer.dtype), layer.bias
    rows, total = len(features), len(layer.matrix)
    width = min(total, _width(rows, features.device))
    buffer = torch.empty(rows * width, dtype=layer.logits_dtype, device=features.device)
    for first in range(0, total, width):
        part = layer.matrix[first : first + width].to(layer.dtype)
        logits = buffer[: rows * len(part)].view(rows, len(part))
        if layer.dtype == torch.bfloat16:
            torch.mm(features, part.T, out_dtype=torch.float32, out=logits)
        else:
            torch.mm(features, part.T, out=logits)
        if bias is not None:
            logits += bias[first : first + width].to(logits.dtype)
        yield Chunk(first, part, logits)


def multiplied(left: Tensor, right: Tensor) -> Tensor:
    """left @ right, summed and returned in float32 or float64."""
    if left.dtype == torch.bfloat16:
        product: Tensor = torch.mm(left, right, out_dtype=torch.float32)
        return product
    return torch.mm(left, right)


def fused(tensor: Tensor) -> bool:
    """Whether the kernels can be used: float32 on a GPU, with Triton."""
    return TRITON and tensor.is_cuda and tensor.dtype == torch.float32


def _dtype(features: Tensor, matrix: Tensor) -> torch.dtype:
    dtype, kind = torch.promote_types(features.dtype, matrix.dtype), features.device.type
    if dtype != torch.float64 and torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    if dtype == torch.bfloat16 and features.is_cuda:
        return dtype
    return torch.float64 if dtype == torch.float64 else torch.float32


def _width(rows: int, device: torch.device) -> int:
    """A power of two, so that the kernels are compiled for few shapes."""
    numbers = ON_CPU if device.type == "cpu" else ON_GPU
    return max(NARROWEST, 1 << (max(numbers // max(rows, 1), 1).bit_length() - 1))
