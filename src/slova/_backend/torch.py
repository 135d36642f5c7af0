"""The primitives of `slova._backend` for torch tensors: differentiable, on any device, traceable by torch.export."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["TORCH"]


class _Torch:
    exp: Any = staticmethod(torch.exp)
    log: Any = staticmethod(torch.log)
    log1p: Any = staticmethod(torch.log1p)
    where: Any = staticmethod(torch.where)
    clip: Any = staticmethod(torch.clip)
    full: Any = staticmethod(torch.full_like)
    concatenate: Any = staticmethod(torch.cat)

    def floating(self, array: Tensor) -> Tensor:
        if not array.is_floating_point():
            raise TypeError
        return array if array.dtype in (torch.float32, torch.float64) else array.float()

    def like(self, values: np.ndarray | Tensor, array: Tensor) -> Tensor:
        return torch.as_tensor(values, dtype=array.dtype, device=array.device)

    def minus(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.where(torch.isinf(right) & (left == right), torch.zeros_like(left), left - right)

    def softplus(self, array: Tensor) -> Tensor:
        if array.dtype == torch.float32:
            return functional.softplus(
                array
            )  # the faster of the two; beyond its threshold of 20 it drops e^-20, under float32 rounding
        return -functional.logsigmoid(-array)

    def logsumexp(self, array: Tensor) -> Tensor:
        return torch.logsumexp(array, dim=-1)

    def log1mexp(self, array: Tensor) -> Tensor:
        near = array > -np.log(2)
        safe = torch.full_like(array, -1.0)  # in the branch not taken, so that its gradient is not 0 / 0
        return torch.where(
            near,
            torch.log(-torch.expm1(torch.where(near, array, safe))),
            torch.log1p(-torch.exp(torch.where(near, safe, array))),
        )

    def cumsum_before(self, array: Tensor) -> Tensor:
        return functional.pad(array[..., :-1].cumsum(-1), (1, 0))

    def top(self, array: Tensor) -> tuple[Tensor, Tensor]:
        highest = array.max(dim=-1, keepdim=True)
        return highest.values, highest.indices

    def take(self, array: Tensor, index: Tensor) -> Tensor:
        return array.gather(-1, index)

    def put(self, array: Tensor, index: Tensor, values: Tensor) -> Tensor:
        return array.scatter(-1, index, values)

    def drop(self, array: Tensor, index: Tensor) -> Tensor:
        return array.scatter(-1, index, 0.0) if array.requires_grad else array.scatter_(-1, index, 0.0)

    def locate(self, edges: Tensor, array: Tensor) -> Tensor:
        return torch.searchsorted(edges, array.contiguous(), right=True)


TORCH = _Torch()
