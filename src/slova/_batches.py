"""Whatever people keep their data in, as a stream of batches for a network: tensors, tuples, dicts, Datasets,
DataLoaders; and numpy arrays, by `as_tensors`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

__all__ = ["Batch", "as_tensors", "batches", "count", "device_of", "evaluation_mode", "logits_of", "shown"]

LABELS = ("labels", "label")
Batch = tuple[tuple[Any, ...], dict[str, Any]]


def batches(
    source: Any, batch_size: int, device: torch.device, *, labelled: bool, inputs: int | None = None
) -> Iterable[tuple[Batch, Any]]:
    """Arguments for the network (positional and by name), on its device, with the labels, or None where none are asked
    for.

    Where none are asked for, a tuple of whole tensors is all inputs, and a Dataset or DataLoader may bring labels all
    the same, which are dropped: the last part of a batch that has one more than the network's `inputs`, or, where their
    number is not known, of any batch of several parts.
    """
    return _Batches(source, batch_size, device, labelled, inputs)


def as_tensors(source: Any, network: nn.Module) -> Any:
    """The source with numpy arrays as tensors, their floats in the precision of the network; all else as it is."""
    dtype = next((weight.dtype for weight in network.parameters() if weight.is_floating_point()), None)
    if isinstance(source, Mapping) and any(isinstance(part, np.ndarray) for part in source.values()):
        return {name: _as_tensor(part, dtype) for name, part in source.items()}
    if isinstance(source, tuple) and any(isinstance(part, np.ndarray) for part in source):
        return tuple(_as_tensor(part, dtype) for part in source)
    return _as_tensor(source, dtype)


def device_of(network: nn.Module) -> torch.device:
    """Where its weights are; one without any is on the CPU."""
    weight = next(network.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


def count(batch: Batch | None) -> int | None:
    """How many inputs, positional and by name."""
    return None if batch is None else len(batch[0]) + len(batch[1])


@contextlib.contextmanager
def evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients, and the former mode of every module afterwards."""
    modes = [(module, module.training) for module in network.modules()]
    try:
        network.eval()
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def logits_of(output: Any) -> Tensor:
    """The logits in what a network returned: a tensor, something with `.logits`, or a dict with "logits"."""
    if isinstance(output, Tensor):
        return output
    found = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if not isinstance(found, Tensor):
        raise TypeError(f"the network must return a tensor, or something with logits, got {type(output).__name__}")
    return found


def shown(stream: Iterable[Any], progress: bool | None, label: str) -> Iterator[Any]:
    """The stream with a progress bar on standard error: on a terminal, or when asked for."""
    show = sys.stderr.isatty() if progress is None else progress
    length = None
    with contextlib.suppress(TypeError):  # a stream without a length has a bar without an end
        length = len(stream)  # type: ignore[arg-type]
    with click.progressbar(stream, length=length, label=label, file=sys.stderr, hidden=not show) as bar:
        yield from bar


class _Batches:
    def __init__(self, source: Any, batch_size: int, device: torch.device, labelled: bool, inputs: int | None) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        _check_source(source)
        is_dataset = isinstance(source, Dataset) and not isinstance(source, IterableDataset)
        self.source = DataLoader(source, batch_size=batch_size) if is_dataset else source
        self.batch_size, self.device, self.labelled = batch_size, device, labelled
        whole = _tensors(source)
        self.inputs = inputs if whole is None else len(whole)

    def __iter__(self) -> Iterator[tuple[Batch, Any]]:
        for item in self._items():
            arguments, labels = _labelled(item) if self.labelled else (_unlabelled(item, self.inputs), None)
            moved = tuple(_to(value, self.device) for value in arguments[0])
            yield (moved, {name: _to(value, self.device) for name, value in arguments[1].items()}), labels

    def __len__(self) -> int:
        rows = _rows(self.source)
        return len(self.source) if rows is None else -(-rows // self.batch_size)

    def _items(self) -> Iterator[Any]:
        rows = _rows(self.source)
        if rows is None:
            yield from self.source
            return
        for first in range(0, rows, self.batch_size):
            yield _cut(self.source, slice(first, first + self.batch_size))


def _rows(source: Any) -> int | None:
    """How many rows whole tensors hold; None if the source is a stream of batches."""
    parts = _tensors(source)
    if parts is None:
        return None
    lengths = {len(part) for part in parts}
    if len(lengths) != 1:
        raise ValueError(
            f"the tensors must have as many rows each, got {', '.join(str(tuple(part.shape)) for part in parts)}"
        )
    return lengths.pop()


def _tensors(source: Any) -> list[Tensor] | None:
    if isinstance(source, Tensor):
        return [source]
    parts = _parts(source)
    return parts if parts and all(isinstance(part, Tensor) for part in parts) else None


def _parts(source: Any) -> list[Any]:
    """Of a dict or a tuple."""
    return list(source.values()) if isinstance(source, Mapping) else list(source) if isinstance(source, tuple) else []


def _cut(source: Any, rows: slice) -> Any:
    if isinstance(source, Tensor):
        return source[rows]
    if isinstance(source, Mapping):
        return {name: part[rows] for name, part in source.items()}
    return tuple(part[rows] for part in source)


def _labelled(item: Any) -> tuple[Batch, Any]:
    """Arguments and labels of one batch."""
    if isinstance(item, Mapping):
        label = next((name for name in LABELS if name in item), None)
        if label is None:
            raise ValueError(
                f"a batch wants its labels under 'labels' or 'label', got the keys {', '.join(map(str, item))}"
            )
        return _unlabelled(item, None), item[label]
    if not isinstance(item, tuple | list):
        raise ValueError(f"a batch wants inputs and labels, got a {type(item).__name__}")
    if len(item) < 2:
        raise ValueError("a batch wants inputs and labels, got inputs only")
    return (tuple(item[:-1]), {}), item[-1]


def _unlabelled(item: Any, inputs: int | None) -> Batch:
    """Arguments of one batch, without the labels that it may bring."""
    if isinstance(item, Mapping):
        return (), {name: value for name, value in item.items() if name not in LABELS}
    if not isinstance(item, tuple | list):
        return (item,), {}
    has_labels = len(item) > 1 if inputs is None else len(item) == inputs + 1
    return tuple(item[:-1] if has_labels else item), {}


def _check_source(source: Any) -> None:
    """Tensors that come with something else would be taken for batches, each for itself."""
    parts = _parts(source)
    if any(isinstance(part, np.ndarray) for part in (source, *parts)):
        raise TypeError("wanted tensors, got numpy.ndarray: torch.from_numpy(array) makes one")
    wrong = [type(part).__name__ for part in parts if not isinstance(part, Tensor)]
    if wrong and (len(wrong) < len(parts) or isinstance(source, Mapping)):
        raise TypeError(f"wanted tensors only, got {', '.join(wrong)} among them")
    if isinstance(source, str) or not (hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
        raise TypeError(f"wanted tensors, a Dataset or batches, got {type(source).__name__}")


def _as_tensor(value: Any, dtype: torch.dtype | None) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    tensor = torch.from_numpy(np.require(value, requirements=["C", "W"]))  # torch takes no others
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor


def _to(value: Any, device: torch.device) -> Any:
    return value.to(device, non_blocking=True) if isinstance(value, Tensor) else value
