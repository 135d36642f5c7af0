"""From what a user has to logits and labels on the host: the inputs of a network in any form, run batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from slova._backend import to_numpy
from slova._batches import (
    LABELS,
    Batch,
    batches,
    count,
    device_of,
    evaluation_mode,
    run_network,
    with_progress,
)
from slova._labels import encode, label_column


class Collected(NamedTuple):
    """Logits (N, K) and labels (N,) on the host, the names of the classes, the inputs of the network as tensors of no
    rows, and distances (N, D) where these are measured."""

    logits: Tensor
    labels: np.ndarray | None
    names: tuple[str, ...] | None
    example: Batch
    distances: Tensor | None = None


Read = Callable[[Batch], tuple[Tensor, Tensor | None]]
"""From a batch to its logits and distances."""


def collect(
    network: nn.Module,
    inputs: Any,
    labels: Any = None,
    *,
    labelled: bool,
    names: Sequence[str] | None = None,
    like: Batch | None = None,
    batch_size: int = 256,
    progress: bool | None = None,
    what: str = "fit",
    read: Read | None = None,
) -> Collected:
    """The logits of inputs. With `labelled`, labels are given, or are part of the inputs: the last part of a tuple, or
    "labels" or "label" of a dict, of whole arrays or of each batch. `like` are the inputs of the fit. `read` runs the
    network in another way."""
    if labelled and labels is None:
        inputs, labels = _without_labels(inputs)
    whole = labels is not None
    if whole and isinstance(inputs, Dataset | DataLoader):
        raise TypeError(f"labels must not be given with a {type(inputs).__name__}: its batches must have them")
    source = as_inputs(inputs, network, like, rows=len(labels) if whole and hasattr(labels, "__len__") else None)
    if whole and hasattr(labels, "__len__"):
        _check_rows(source, labels)
    stream = batches(source, batch_size, device_of(network), labelled=labelled and not whole, inputs=count(like))
    read = partial(_plain, network) if read is None else read
    with evaluation_mode(network):
        seen = [(*read(batch), part, _without_rows(batch)) for batch, part in with_progress(stream, progress, what)]
    if not seen:
        raise ValueError(f"there are no rows to {what.partition(':')[0]} on")
    columns = [label_column(labels)] if whole and labelled else [label_column(part) for *_, part, _ in seen if labelled]
    codes, found = encode(np.concatenate(columns), names) if labelled else (None, None)
    logits = torch.cat([part.float().cpu() for part, *_ in seen])
    distances = [part.cpu() for _, part, *_ in seen if part is not None]
    return Collected(logits, codes, found, seen[0][3], torch.cat(distances) if distances else None)


def _plain(network: nn.Module, batch: Batch) -> tuple[Tensor, None]:
    return run_network(network, batch).float().cpu(), None


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


def check_network(network: Any) -> None:
    if isinstance(network, nn.Module):
        return
    if isinstance(network, type):
        raise TypeError(f"network must be a torch.nn.Module, got the class {network.__name__}: create one of it first")
    remedy = ""
    if hasattr(network, "predict_proba") or hasattr(network, "decision_function"):
        remedy = ": for scikit-learn models use slova.sklearn.SlovaClassifier"
    raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}{remedy}")


def check_names(found: Collected, columns: int, given: Sequence[str] | None) -> None:
    """Names of the labels are those of all outputs of the network."""
    outputs = 2 if columns == 1 else columns
    if found.names is not None and len(found.names) != outputs:
        origin = "the labels have" if given is None else "got"
        remedy = ": give names= in the order of the outputs" if given is None else ""
        raise ValueError(f"{origin} {len(found.names)} names for {outputs} classes{remedy}")


def _without_labels(source: Any) -> tuple[Any, Any]:
    """Whole arrays and their labels; a stream of batches as it is, and None."""
    if isinstance(source, Mapping):
        label = next((name for name in LABELS if name in source), None)
        if label is None:
            keys = ", ".join(map(str, source))
            raise ValueError(f"labels must be given, or be under 'labels' or 'label', got the keys {keys}")
        return {name: part for name, part in source.items() if name not in LABELS}, source[label]
    arrays = (Tensor, np.ndarray, list)
    if isinstance(source, tuple) and all(isinstance(part, arrays) or hasattr(part, "to_numpy") for part in source):
        if len(source) < 2:
            raise ValueError("labels must be given, after the inputs or as the last part of a tuple")
        return source[0] if len(source) == 2 else source[:-1], source[-1]
    if isinstance(source, arrays[:2]) or hasattr(source, "to_numpy"):
        raise ValueError("labels must be given, after the inputs or as the last part of a tuple")
    return source, None


def _check_rows(source: Any, labels: Any) -> None:
    parts = source.values() if isinstance(source, Mapping) else source if isinstance(source, tuple) else [source]
    shapes = [tuple(part.shape) for part in parts if isinstance(part, Tensor)]
    count = np.shape(labels)[0] if hasattr(labels, "shape") else len(labels)
    if any(not shape or shape[0] != count for shape in shapes):
        given = ", ".join(map(str, shapes))
        raise ValueError(f"inputs and labels must have the same number of rows, got {given}, and labels ({count},)")


def _without_rows(batch: Batch) -> Batch:
    """The inputs of a batch, on the host, with no rows."""
    return tuple(part[:0].cpu() for part in batch[0]), {name: part[:0].cpu() for name, part in batch[1].items()}


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
