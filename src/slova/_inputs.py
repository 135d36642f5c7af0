"""The inputs of a network in any form: arrays, tables and lists as tensors, and their description in files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import to_numpy
from slova._batches import Batch
from slova.artifact import ArtifactError

__all__ = ["as_inputs", "as_tensors", "describe_inputs", "described_inputs"]


def as_inputs(inputs: Any, network: nn.Module, like: Batch | None = None, rows: int | None = None) -> Any:
    """A source for `batches`. A list of rows, each of one axis less than a batch of the fit, or as many as `rows`, is
    one array."""
    if isinstance(inputs, list) and inputs and _is_list_of_rows(inputs, like, rows):
        parts = [part.numpy(force=True) if isinstance(part, Tensor) else part for part in inputs]
        inputs = np.stack([np.asarray(part) for part in parts])
    return as_tensors(inputs, network)


def as_tensors(source: Any, network: nn.Module) -> Any:
    """The source with numpy arrays, pandas tables and lists of numbers as tensors, floats in the precision of the
    network; the rest is unchanged."""
    dtype = next((weight.dtype for weight in network.parameters() if weight.is_floating_point()), None)
    if isinstance(source, Mapping) and any(_is_array(part) for part in source.values()):
        return {name: _as_tensor(part, dtype) for name, part in source.items()}
    if isinstance(source, tuple) and any(_is_array(part) for part in source):
        return tuple(_as_tensor(part, dtype) for part in source)
    tensor = _as_tensor(source, dtype)
    if _is_table(source) and not any(isinstance(layer, nn.Embedding) for layer in network.modules()):
        return tensor.to(dtype or torch.float32)  # whole numbers are features
    return tensor


def describe_inputs(example: Batch | None) -> list[Any] | None:
    """Name (None for a positional one), type and shape of each input, as JSON."""
    if example is None:
        return None
    inputs = [*((None, part) for part in example[0]), *example[1].items()]
    return [[name, str(part.dtype).removeprefix("torch."), list(part.shape)] for name, part in inputs]


def described_inputs(described: Any, path: str | Path) -> Batch | None:
    """The inputs that `describe_inputs` described, without rows; None for a file without them."""
    if described is None:
        return None
    try:
        inputs = [(name, torch.zeros(0, *shape[1:], dtype=getattr(torch, dtype))) for name, dtype, shape in described]
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: the inputs of its network are unreadable ({error})") from error
    named = {name: part for name, part in inputs if name is not None}
    return tuple(part for name, part in inputs if name is None), named


def _is_list_of_rows(inputs: list[Any], like: Batch | None, rows: int | None) -> bool:
    if not all(isinstance(part, Tensor | np.ndarray) for part in inputs):
        return False
    if rows is not None:
        return len(inputs) == rows
    axes = like[0][0].ndim - 1 if like is not None and like[0] else None
    return all(part.ndim == axes and part.shape == inputs[0].shape for part in inputs)


def _is_array(value: Any) -> bool:
    """An array that is not a tensor: of numpy, pandas, or a list of numbers."""
    return isinstance(value, np.ndarray) or _is_table(value)


def _is_table(value: Any) -> bool:
    """A pandas table or a list of numbers."""
    return (hasattr(value, "to_numpy") and not isinstance(value, Tensor)) or _is_numbers(value)


def _is_numbers(value: Any) -> bool:
    """A list of numbers, of any depth."""
    if not isinstance(value, list):
        return False
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, int | float)


def _as_tensor(value: Any, dtype: torch.dtype | None) -> Any:
    if isinstance(value, Tensor) or not _is_array(value):
        return value
    try:
        array = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "O" else to_numpy(array)
        tensor = torch.from_numpy(np.require(array, requirements=["C", "W"]))  # torch takes no others
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"inputs must be numbers in rows of the same length, got {type(value).__name__}: {error}"
        ) from error
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor
