"""Accurate ONNX formulas of operators that ONNX lacks or that lose digits.

ONNX defines Softplus as log(1 + e^x), which in float32 is 0 below x = -17; a runtime may compute just that (the one of
ONNX Runtime is accurate, at three times the cost of this one). ONNX has no log1p, expm1 and searchsorted, and sums over
10,000 classes are added in float32. The formulas below use operators that every runtime has, and agree with torch to
the last digits, for infinities and NaN as well. `slova.export.scorer_graph` uses them directly; `translation_table`
replaces torch's own translations of these operators in the network of the user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

__all__ = [
    "OPSET",
    "clamp",
    "expm1",
    "log1p",
    "logsumexp",
    "record",
    "searchsorted",
    "softplus",
    "top",
    "translation_table",
]

OPSET = 18
Value = Any  # a tensor of the graph under construction
_graph: ContextVar[Any] = ContextVar("graph", default=None)


@contextlib.contextmanager
def record(graph: Any) -> Iterator[None]:
    """Formulas record their operators in this graph; otherwise in that of onnxscript."""
    token = _graph.set(graph)
    try:
        yield
    finally:
        _graph.reset(token)


class _Operators:
    def __getattr__(self, name: str) -> Any:
        graph = _graph.get()
        if graph is None:
            from onnxscript import opset18 as graph
        return getattr(graph, name)


op = _Operators()


def log1p(self: Value) -> Value:
    """log(u) x / (u - 1) with u = 1 + x rounded: the errors of u cancel (Kahan)."""
    u = op.Add(self, _number(1.0, self))
    moved = op.Sub(u, _number(1.0, self))
    near = op.Mul(op.Log(u), op.Div(self, moved))
    far = op.Where(op.Equal(moved, self), op.Log(u), near)  # 1 + x is exact, or x is infinite
    return op.Where(op.Equal(moved, _number(0.0, self)), self, far)


def expm1(self: Value) -> Value:
    """(u - 1) x / log(u) with u = e^x rounded near 0, where the subtraction would cancel."""
    u = op.Exp(self)
    moved = op.Sub(u, _number(1.0, self))
    near = op.Mul(moved, op.Div(self, op.Log(u)))
    near = op.Where(op.Equal(moved, _number(0.0, self)), self, near)
    return op.Where(op.Greater(op.Abs(self), _number(0.5, self)), moved, near)


def softplus(self: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """max(x, 0) + log1p(e^-|x|), accurate on both sides; torch's threshold only saves time."""
    scaled = op.Mul(self, _number(beta, self))
    positive = op.Where(op.Less(scaled, _number(0.0, self)), _number(0.0, self), scaled)
    return op.Div(op.Add(positive, log1p(op.Exp(op.Neg(op.Abs(scaled))))), _number(beta, self))


def log_sigmoid(self: Value) -> Value:
    return op.Neg(softplus(op.Neg(self)))


def clamp(self: Value, min: float | None = None, max: float | None = None) -> Value:
    """By comparisons, which keep NaN; in some runtimes Clip does not."""
    if min is not None:
        self = op.Where(op.Less(self, _number(min, self)), _number(min, self), self)
    if max is not None:
        self = op.Where(op.Greater(self, _number(max, self)), _number(max, self), self)
    return self


def cumsum(self: Value, dim: int, dtype: int = -1) -> Value:
    """Summed in float64, as torch does on the CPU: a running sum of 10,000 float32 loses digits."""
    if dtype != -1:
        self = op.Cast(self, to=dtype)
    if self.dtype != TensorProto.FLOAT:
        return op.CumSum(self, dim)
    return op.Cast(op.CumSum(op.Cast(self, to=TensorProto.DOUBLE), dim), to=TensorProto.FLOAT)


def logsumexp(self: Value, dim: Sequence[int], keepdim: bool = False) -> Value:
    """Relative to the largest entry and summed in float64; a row of -inf gives -inf."""
    axes = op.Constant(value_ints=[dim] if isinstance(dim, int) else list(dim))
    highest = op.ReduceMax(self, axes, keepdims=1)
    highest = op.Where(op.IsInf(highest), _number(0.0, self), highest)
    total = op.ReduceSum(op.Cast(op.Exp(op.Sub(self, highest)), to=TensorProto.DOUBLE), axes, keepdims=1)
    found = op.Add(op.CastLike(op.Log(total), self), highest)
    return found if keepdim else op.Squeeze(found, axes)


def top(self: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
    """The largest entry and its first index; NaN counts as the largest, as in torch but not in ArgMax."""
    numbers = self
    if self.dtype in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16):
        numbers = op.Where(op.IsNaN(self), _number(np.inf, self), self)
    index = op.ArgMax(numbers, axis=dim, keepdims=1)
    value = op.GatherElements(self, index, axis=dim)
    axes = op.Constant(value_ints=[dim])
    return (value, index) if keepdim else (op.Squeeze(value, axes), op.Squeeze(index, axes))


def searchsorted(
    sorted_sequence: Value,
    self: Value,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Value:
    """The number of edges below each entry (right: below or equal), by bisection."""
    edges = int(sorted_sequence.shape[0])
    before = op.LessOrEqual if right or side == "right" else op.Less
    found = op.Cast(op.Less(self, self), to=TensorProto.INT64)  # zeros
    for bit in reversed(range(edges.bit_length())):
        further = op.Add(found, op.Constant(value_int=1 << bit))
        place = op.Min(op.Sub(further, op.Constant(value_int=1)), op.Constant(value_int=edges - 1))
        reached = op.And(
            op.LessOrEqual(further, op.Constant(value_int=edges)), before(op.Gather(sorted_sequence, place), self)
        )
        found = op.Where(reached, further, found)
    return found


def _number(value: float, like: Value) -> Value:
    """A constant with all its digits; a Python number would become float32."""
    return op.CastLike(op.Constant(value=numpy_helper.from_array(np.array(value, np.float64))), like)


def translation_table() -> dict[Any, Callable[..., Any]]:
    """The formulas by torch operators, for `torch.onnx.export`."""
    from torch import ops

    return {
        ops.aten.clamp.default: clamp,
        ops.aten.clip.default: clamp,
        ops.aten.cumsum.default: cumsum,
        ops.aten.expm1.default: expm1,
        ops.aten.log1p.default: log1p,
        ops.aten.log_sigmoid.default: log_sigmoid,
        ops.aten.logsumexp.default: logsumexp,
        ops.aten.max.dim: top,
        ops.aten.searchsorted.Tensor: searchsorted,
        ops.aten.softplus.default: softplus,
    }
