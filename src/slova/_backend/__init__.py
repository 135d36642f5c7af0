"""The few primitives that heads and maps need, once for numpy and once for torch, found by the array's type.

`of(array)` gives the primitives; torch is looked at only when the caller already holds a tensor, so it is never
imported here for somebody who has none. The class axis is always the last one. Half precision is computed and returned
in float32.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

__all__ = ["Array", "Backend", "floating", "of", "to_numpy"]

# A numpy array or a torch tensor: the two share operators but no base class. A function returns the kind it was given.
Array = Any


class Backend(Protocol):
    def floating(self, array: Array) -> Array: ...  # float32 or float64
    def like(self, values: Array, array: Array) -> Array: ...  # values as the kind, device and dtype of array
    def minus(self, left: Array, right: Array) -> Array: ...  # and 0, not nan, where both are the same infinity
    def softplus(self, array: Array) -> Array: ...  # log(1 + e^x)
    def logsumexp(self, array: Array) -> Array: ...  # over the last axis
    def log1mexp(self, array: Array) -> Array: ...  # log(1 - e^x) for x <= 0
    def top(self, array: Array) -> tuple[Array, Array]: ...  # largest value and its index, last axis kept
    def take(self, array: Array, index: Array) -> Array: ...  # one entry a row, last axis kept
    def put(self, array: Array, index: Array, values: Array) -> Array: ...  # a copy with one entry a row replaced
    def drop(
        self, array: Array, index: Array
    ) -> Array: ...  # one entry a row set to 0, in place where no gradient is at stake
    def where(self, condition: Array, left: Array, right: Array) -> Array: ...
    def clip(self, array: Array, low: float | None, high: float | None) -> Array: ...
    def exp(self, array: Array) -> Array: ...
    def log(self, array: Array) -> Array: ...
    def log1p(self, array: Array) -> Array: ...
    def cumsum_before(self, array: Array) -> Array: ...  # over the last axis, each entry without itself
    def full(self, array: Array, value: float) -> Array: ...  # the shape, kind, device and dtype of array
    def concatenate(self, arrays: Sequence[Array]) -> Array: ...  # along the first axis
    def locate(self, edges: Array, array: Array) -> Array: ...  # how many edges are <= each entry


def of(array: Array) -> Backend:
    """The primitives for this kind of array."""
    if _is_tensor(array):
        from slova._backend.torch import TORCH

        return TORCH
    if isinstance(array, np.ndarray | np.generic):
        return NUMPY
    if hasattr(array, "backend"):  # a node of a graph that is being exported
        return array.backend  # type: ignore[no-any-return]
    raise TypeError(f"wanted a numpy array or a torch tensor, got {type(array).__name__}")


def floating(array: Array, name: str) -> tuple[Array, Backend]:
    """The array in float32 or float64 with at least one axis of at least one class, and its primitives; lists become
    numpy."""
    array = array if _is_tensor(array) or hasattr(array, "backend") else np.asarray(array)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ValueError(f"{name} want a last axis of at least one class, got shape {tuple(array.shape)}")
    ops = of(array)
    try:
        return ops.floating(array), ops
    except TypeError:
        raise TypeError(f"{name} must be floating point, got {array.dtype}") from None


def to_numpy(array: Array) -> np.ndarray:
    """The array on the host, as numpy; torch half precision becomes float32 on the way."""
    if not _is_tensor(array):
        return np.asarray(array)
    array = array.detach().cpu()
    return np.asarray((array.float() if array.dtype.itemsize == 2 and array.is_floating_point() else array).numpy())


def _is_tensor(array: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


class _Numpy:
    exp: Any = staticmethod(np.exp)
    log1p: Any = staticmethod(np.log1p)
    where: Any = staticmethod(np.where)
    clip: Any = staticmethod(np.clip)
    full: Any = staticmethod(np.full_like)
    concatenate: Any = staticmethod(np.concatenate)

    def floating(self, array: Array) -> Array:
        if array.dtype == np.float32 or array.dtype == np.float64:
            return np.ascontiguousarray(array)  # along any other axis numpy adds one by one, and loses digits
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

    def log1mexp(self, array: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(array > -np.log(2), np.log(-np.expm1(array)), np.log1p(-np.exp(array)))

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

    def locate(self, edges: Array, array: Array) -> Array:
        return np.searchsorted(edges, array, side="right")


NUMPY = _Numpy()
