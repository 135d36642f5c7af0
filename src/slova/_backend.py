"""The primitives that heads and calibrators are written in, for numpy arrays and for torch tensors.

`of(array)` gives the primitives for its kind. Those for torch are built when the first tensor arrives, so that torch is
never imported for somebody who has none; they are differentiable, work on any device and can be traced by torch.export.
The class axis is the last one. Half precision is computed and returned in float32.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 1 << 21  # numbers at a time: a few megabytes, far below what a whole result would touch

# A numpy array or a torch tensor: the two share operators but no base class. A function returns the kind it was given.
Array = Any


@runtime_checkable
class Backend(Protocol):
    def floating(self, array: Array) -> Array: ...  # float32 or float64
    def like(self, values: Array, array: Array) -> Array: ...  # values as the kind, device and dtype of array
    def minus(self, left: Array, right: Array) -> Array: ...  # and 0, not nan, where both are the same infinity
    def softplus(self, array: Array) -> Array: ...  # log(1 + e^x)
    def logsumexp(self, array: Array) -> Array: ...  # over the last axis
    def total(self, array: Array) -> Array: ...  # sum over the last axis, which is kept
    def log1mexp(self, array: Array) -> Array: ...  # log(1 - e^x) for x <= 0
    def top(self, array: Array) -> tuple[Array, Array]: ...  # largest value and its index, last axis kept
    def take(self, array: Array, index: Array) -> Array: ...  # one entry per row, last axis kept
    def put(self, array: Array, index: Array, values: Array) -> Array: ...  # a copy with one entry per row replaced
    def drop(self, array: Array, index: Array) -> Array: ...  # one entry per row set to 0, in place where possible
    def where(self, condition: Array, left: Array, right: Array) -> Array: ...
    def clip(self, array: Array, low: float | None, high: float | None) -> Array: ...
    def exp(self, array: Array) -> Array: ...
    def log(self, array: Array) -> Array: ...
    def log1p(self, array: Array) -> Array: ...
    def cumsum_before(self, array: Array) -> Array: ...  # over the last axis, each entry without itself
    def constant(self, array: Array) -> Array: ...  # without its gradient
    def full(self, array: Array, value: float) -> Array: ...  # the shape, kind, device and dtype of array
    def concatenate(self, arrays: Sequence[Array]) -> Array: ...  # along the first axis
    def append(self, array: Array, column: Array) -> Array: ...  # one more entry per row, at the end of the last axis
    def locate(self, edges: Array, array: Array) -> Array: ...  # how many edges are <= each entry


def of(array: Array) -> Backend:
    """The primitives for this kind of array."""
    if _is_tensor(array):
        return _torch()
    if isinstance(array, np.ndarray | np.generic):
        return NUMPY
    if hasattr(array, "backend"):  # a node of a graph that is being exported
        return array.backend  # type: ignore[no-any-return]
    raise TypeError(f"expected a numpy array or a torch tensor, got {type(array).__name__}")


def floating(array: Array, name: str) -> tuple[Array, Backend]:
    """The array in float32 or float64, and its primitives; lists become numpy arrays."""
    array = array if _is_tensor(array) or hasattr(array, "backend") else np.asarray(array)
    ops = of(array)
    try:
        return ops.floating(array), ops
    except TypeError:
        raise TypeError(f"{name} must be floating point, got {array.dtype}") from None


def in_chunks(
    function: Callable[[Array, Backend], tuple[Array, ...]], logits: Array, ops: Backend
) -> tuple[Array, ...]:
    """A function of logits (..., K) with results of shape (...); large arrays on the host are taken in chunks."""
    on_host = isinstance(logits, np.ndarray) or (logits.device.type == "cpu" and not logits.requires_grad)
    known = all(isinstance(size, int) for size in logits.shape)  # while a program is traced, its batch has no size yet
    if not on_host or not known or math.prod(logits.shape) <= 2 * CHUNK:
        return function(logits, ops)
    flat, rows = logits.reshape(-1, logits.shape[-1]), max(1, CHUNK // logits.shape[-1])
    chunks = [function(flat[first : first + rows], ops) for first in range(0, len(flat), rows)]
    return tuple(ops.concatenate(parts).reshape(logits.shape[:-1]) for parts in zip(*chunks, strict=True))


def to_numpy(array: Array) -> np.ndarray:
    """The array on the host, as numpy in the byte order of the machine; torch half precision becomes float32."""
    if not _is_tensor(array):
        return _native(np.asarray(array))
    array = array.detach().cpu()
    return np.asarray((array.float() if array.dtype.itemsize == 2 and array.is_floating_point() else array).numpy())


def _is_tensor(array: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _native(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


class _Numpy:
    exp: Any = staticmethod(np.exp)
    log1p: Any = staticmethod(np.log1p)
    where: Any = staticmethod(np.where)
    clip: Any = staticmethod(np.clip)
    full: Any = staticmethod(np.full_like)
    constant: Any = staticmethod(np.asarray)
    concatenate: Any = staticmethod(np.concatenate)

    def floating(self, array: Array) -> Array:
        array = _native(array)
        if array.dtype == np.float32 or array.dtype == np.float64:
            return np.asarray(array, order="C")  # along any other axis numpy adds one by one, and loses digits
        if array.dtype == np.float16 or array.dtype.name == "bfloat16":
            return array.astype(np.float32)
        raise TypeError

    def like(self, values: Array, array: Array) -> Array:
        return to_numpy(values).astype(array.dtype)

    def minus(self, left: Array, right: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(right) & (left == right), left.dtype.type(0), left - right)

    def softplus(self, array: Array) -> Array:
        return np.maximum(array, 0) + np.log1p(np.exp(-np.abs(array)))

    def logsumexp(self, array: Array) -> Array:
        highest = array.max(axis=-1, keepdims=True)
        highest = np.where(np.isfinite(highest), highest, 0)
        return self.log(np.exp(array - highest).sum(axis=-1)) + highest[..., 0]

    def total(self, array: Array) -> Array:
        return array.sum(axis=-1, keepdims=True)

    def log1mexp(self, array: Array) -> Array:
        array = np.asarray(array)
        with np.errstate(divide="ignore"):
            found, near = np.asarray(np.log1p(-np.exp(array))), array > -math.log(2)
            found[near] = np.log(-np.expm1(array[near]))  # mostly few
        return found

    def log(self, array: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(array)

    def cumsum_before(self, array: Array) -> Array:
        total = np.zeros_like(array)  # summed in float64: a running sum of 100,000 float32 loses digits
        total[..., 1:] = array[..., :-1].cumsum(axis=-1, dtype=np.float64)
        return total

    def top(self, array: Array) -> tuple[Array, Array]:
        index = array.argmax(axis=-1, keepdims=True)
        return self.take(array, index), index

    def take(self, array: Array, index: Array) -> Array:
        return np.take_along_axis(array, index, axis=-1)

    def put(self, array: Array, index: Array, values: Array) -> Array:
        changed = array.copy()
        np.put_along_axis(changed, index, values, axis=-1)
        return changed

    def drop(self, array: Array, index: Array) -> Array:
        np.put_along_axis(array, index, 0, axis=-1)
        return array

    def append(self, array: Array, column: Array) -> Array:
        return np.concatenate([array, column[..., None]], axis=-1)

    def locate(self, edges: Array, array: Array) -> Array:
        return np.searchsorted(edges, array, side="right")


NUMPY = _Numpy()


class _Torch:
    def __init__(self) -> None:
        import torch
        from torch.nn import functional

        self.torch, self.functional = torch, functional
        self.exp, self.log, self.log1p, self.where = torch.exp, torch.log, torch.log1p, torch.where
        self.clip: Any = torch.clip
        self.full: Any = torch.full_like
        self.concatenate: Any = torch.cat

    def floating(self, array: Tensor) -> Tensor:
        if not array.is_floating_point():
            raise TypeError
        return array.float() if array.dtype.itemsize < 4 else array

    def like(self, values: np.ndarray | Tensor, array: Tensor) -> Tensor:
        return self.torch.as_tensor(values, dtype=array.dtype, device=array.device)

    def minus(self, left: Tensor, right: Tensor) -> Tensor:
        return self.where(self.torch.isinf(right) & (left == right), self.torch.zeros_like(left), left - right)

    def softplus(self, array: Tensor) -> Tensor:
        if array.dtype == self.torch.float32:  # the faster one, which drops e^-20 beyond 20, below float32 rounding
            return self.functional.softplus(array)
        return -self.functional.logsigmoid(-array)

    def logsumexp(self, array: Tensor) -> Tensor:
        return array.logsumexp(-1)

    def total(self, array: Tensor) -> Tensor:
        return array.sum(-1, keepdim=True)

    def constant(self, array: Tensor) -> Tensor:
        return array.detach()

    def log1mexp(self, array: Tensor) -> Tensor:
        near = array > -np.log(2)
        safe = self.full(array, -1.0)  # in the branch not taken, so that its gradient is not 0 / 0
        above, below = self.where(near, array, safe), self.where(near, safe, array)
        return self.where(near, self.log(-self.torch.expm1(above)), self.log1p(-self.exp(below)))

    def cumsum_before(self, array: Tensor) -> Tensor:
        return self.functional.pad(array[..., :-1].cumsum(-1), (1, 0))

    def top(self, array: Tensor) -> tuple[Tensor, Tensor]:
        highest = array.max(dim=-1, keepdim=True)
        return highest.values, highest.indices

    def take(self, array: Tensor, index: Tensor) -> Tensor:
        return array.gather(-1, index)

    def put(self, array: Tensor, index: Tensor, values: Tensor) -> Tensor:
        return array.scatter(-1, index, values)

    def drop(self, array: Tensor, index: Tensor) -> Tensor:
        return array.scatter(-1, index, 0.0) if array.requires_grad else array.scatter_(-1, index, 0.0)

    def append(self, array: Tensor, column: Tensor) -> Tensor:
        return self.torch.cat([array, column[..., None]], dim=-1)

    def locate(self, edges: Tensor, array: Tensor) -> Tensor:
        return self.torch.searchsorted(edges, array.contiguous(), right=True)


_BUILT: dict[str, _Torch] = {}
if TYPE_CHECKING:
    TORCH: _Torch


def _torch() -> _Torch:
    if not _BUILT:
        _BUILT["torch"] = _Torch()
    return _BUILT["torch"]


def __getattr__(name: str) -> _Torch:
    """`TORCH`, the primitives for torch, for modules that import torch themselves."""
    if name != "TORCH":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _torch()
