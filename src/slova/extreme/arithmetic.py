# mypy: ignore-errors
"""Arithmetic of the kernels, for float32 numbers on a GPU: exponentials and logarithms in an instruction or two.

Without Triton the kernels can be read, not run: `jit` then leaves a function as it is.
"""

from __future__ import annotations

import contextlib
import os

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl

    jit = triton.jit
    LOG2E = tl.constexpr(1.4426950408889634)
    LN2 = tl.constexpr(0.6931471805599453)
except ModuleNotFoundError:
    triton = tl = None

    def jit(function):
        return function


__all__ = ["both", "decay", "exp", "jit", "log", "log1p", "on_device_of", "one_minus_exp", "tl", "triton"]

NVIDIA = torch.version.cuda is not None and os.environ.get("TRITON_INTERPRET") != "1"


def on_device_of(tensor: Tensor) -> contextlib.AbstractContextManager:
    """Kernels start on the current device, whatever that of their arguments."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()


@jit
def both(q, e):
    """(1 + q)(1 + e) - 1, which keeps the digits of a small q."""
    return q + e + q * e


@jit
def exp(x):
    return _exp2(LOG2E * x)


@jit
def decay(x):
    """e^-|x|"""
    return _exp2(-LOG2E * tl.abs(x))


@jit
def log(x):
    return LN2 * _log2(x)


if NVIDIA:  # in one instruction each; what would be denormal is 0

    @jit
    def _exp2(x):
        return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)

    @jit
    def _log2(x):
        return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
else:

    @jit
    def _exp2(x):
        return tl.exp2(x)

    @jit
    def _log2(x):
        return tl.log2(x)


@jit
def log1p(q):
    """log(1 + q) for q >= 0 to 2e-7 of itself: below 1/2, where 1 + q would round, q times a polynomial fitted to log(1
    + q) / q."""
    p = -0.027207146 * q + 0.086332887
    p = p * q - 0.14650092
    p = p * q + 0.19570356
    p = p * q - 0.249483
    p = p * q + 0.33330204
    p = p * q - 0.49999927
    p = p * q + 1.0
    return tl.where(q < 0.5, p * q, log(1.0 + q))


@jit
def one_minus_exp(x):
    """1 - e^-x for x >= 0; below 1/8, where it would cancel, the series."""
    return tl.where(
        x < 0.125, x * (1.0 - x * (0.5 - x * (0.16666667 - x * (0.041666667 - x * 0.0083333333)))), 1.0 - exp(-x)
    )
