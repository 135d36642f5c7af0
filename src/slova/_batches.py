"""Batches for a network, from tensors, tuples, dicts, Datasets and DataLoaders, and the logits of a batch."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from slova._inputs import check_keys, check_like, different_shapes

LABELS = ("labels", "label")
Batch = tuple[tuple[Any, ...], dict[str, Any]]


def batches(
    source: Any, batch_size: int, device: torch.device, *, labelled: bool, inputs: int | None = None
) -> Iterable[tuple[Batch, Any]]:
    """Arguments of the network (positional and by name), on its device, with the labels, or None without `labelled`.

    Without `labelled` a tuple of whole tensors is all inputs, while labels in batches of a Dataset or DataLoader are
    dropped: the last part of a batch that has one more than the network's `inputs`, or, if that number is not known, of
    any batch of several parts.
    """
    return _Batches(source, batch_size, device, labelled, inputs)


def device_of(network: nn.Module) -> torch.device:
    """The device of its weights; the CPU if it has none."""
    weight = next(network.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


def can_be_read(values: Tensor) -> bool:
    """Whether values can be checked: on a device that would synchronise, and a compiled program cannot raise."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def count(batch: Batch | None) -> int | None:
    """How many inputs, positional and by name."""
    return None if batch is None else len(batch[0]) + len(batch[1])


@contextlib.contextmanager
def evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients. A module returns to its former mode when its last user leaves, so threads may
    share it."""
    modules = list(network.modules())
    with _LOCK:
        for module in modules:
            users, mode = _USERS.get(module, (0, module.training))
            _USERS[module] = users + 1, mode
    try:
        with _LOCK:
            network.eval()
        with torch.no_grad():
            yield
    finally:
        with _LOCK:
            for module in modules:
                users, mode = _USERS.pop(module)
                if users > 1:
                    _USERS[module] = users - 1, mode
                else:
                    module.training = mode


_LOCK = threading.Lock()
_USERS: dict[nn.Module, tuple[int, bool]] = {}  # of modules in evaluation mode: how many, and the mode before


def logits_of(output: Any) -> Tensor:
    """The logits of a network's output: a tensor, an object with `.logits`, or a dict with "logits"."""
    if isinstance(output, Tensor):
        return output
    found = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if not isinstance(found, Tensor):
        raise TypeError(
            f"the network must return logits, as a tensor or under the name logits, got {type(output).__name__}: "
            "wrap it in a module whose forward returns them"
        )
    return found


def run_network(network: nn.Module, batch: Batch, classes: int | None = None, like: Batch | None = None) -> Tensor:
    """The logits (n, K) of a batch, or (n, 1) of a network with one output; floats are cast to its precision.
    The inputs must be `like` those of the fit: as many, of the same names and as many axes. Other sizes are an error
    where the network cannot take them."""
    positional, named = cast_inputs(network, batch)
    if named:
        check_keys(network, named)
    if like is not None and _sizes(batch) != _sizes(like):
        check_like(batch, like)
    try:
        logits = logits_of(network(*positional, **named))
    except RuntimeError as error:
        if type(error) is RuntimeError and like is not None and (wrong := different_shapes(batch, like)):
            raise ValueError(f"the network cannot be run on {wrong}, as in the fit") from error
        raise  # out of memory, or a fault of the network
    rows = next((len(part) for part in (*positional, *named.values()) if isinstance(part, Tensor) and part.ndim), None)
    if logits.ndim == 1 and len(logits) == rows and classes in (None, 1) and rows is not None:
        logits = logits[:, None]
    if logits.ndim < 2 or classes not in (None, logits.shape[-1]):
        given = ", ".join(str(tuple(part.shape)) for part in (*positional, *named.values()))
        raise ValueError(
            f"logits must have shape (n_rows, {classes or 'n_classes'}), got {tuple(logits.shape)} for inputs {given}; "
            "a single row must be a batch as well, such as images[:1] or image[None]"
        )
    return logits


def cast_inputs(network: nn.Module, batch: Batch) -> Batch:
    """The batch with its floats in the precision of the network."""
    named = {name: _cast(part, network) for name, part in batch[1].items()}
    return tuple(_cast(part, network) for part in batch[0]), named


class _Batches:
    def __init__(self, source: Any, batch_size: int, device: torch.device, labelled: bool, inputs: int | None) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        check_source(source)
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
    """The number of rows of whole tensors; None if the source is a stream of batches."""
    parts = _tensors(source)
    if parts is None:
        return None
    lengths = {len(part) for part in parts}
    if len(lengths) != 1:
        raise ValueError(
            f"the tensors must have the same number of rows, got {', '.join(str(tuple(part.shape)) for part in parts)}"
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
                f"a batch must have its labels under 'labels' or 'label', got the keys {', '.join(map(str, item))}"
            )
        return _unlabelled(item, None), item[label]
    if not isinstance(item, tuple | list):
        raise ValueError(f"a batch must be inputs and labels, got a {type(item).__name__}")
    if len(item) < 2:
        raise ValueError("a batch must be inputs and labels, got inputs only")
    return (tuple(item[:-1]), {}), item[-1]


def _unlabelled(item: Any, inputs: int | None) -> Batch:
    """Arguments of one batch, without its labels."""
    if isinstance(item, Mapping):
        return (), {name: value for name, value in item.items() if name not in LABELS}
    if not isinstance(item, tuple | list):
        return (item,), {}
    has_labels = len(item) > 1 if inputs is None else len(item) == inputs + 1
    return tuple(item[:-1] if has_labels else item), {}


def check_source(source: Any) -> None:
    """The check of a source, made once; tensors beside anything else would each be taken for a batch."""
    parts = _parts(source)
    if any(isinstance(part, np.ndarray) for part in (source, *parts)):
        raise TypeError("expected tensors, got numpy.ndarray: convert it by torch.from_numpy(array)")
    wrong = [type(part).__name__ for part in parts if not isinstance(part, Tensor)]
    if wrong and (len(wrong) < len(parts) or isinstance(source, Mapping)):
        raise TypeError(f"expected only tensors, got {', '.join(wrong)} among them")
    first = source[0] if isinstance(source, list) and source else None
    if isinstance(first, str | PurePath) or type(first).__module__.startswith("PIL."):
        kind = type(first).__name__
        raise TypeError(f"inputs must be tensors or arrays, got a list of {kind}: convert them as for training")
    if isinstance(source, str) or not (hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
        raise TypeError(f"expected tensors, a Dataset or batches, got {type(source).__name__}")


def _sizes(batch: Batch) -> Any:
    """The names of the inputs, and their shapes without rows."""
    named = {name: getattr(part, "shape", ())[1:] for name, part in batch[1].items()}
    return [getattr(part, "shape", ())[1:] for part in batch[0]], named


def _to(value: Any, device: torch.device) -> Any:
    return value.to(device, non_blocking=True) if isinstance(value, Tensor) else value


def _cast(part: Any, network: nn.Module) -> Any:
    if not isinstance(part, Tensor) or not part.is_floating_point():
        return part
    kinds = {weight.dtype for weight in network.parameters() if weight.is_floating_point()}
    return part.to(next(iter(kinds))) if len(kinds) == 1 else part


def with_progress(stream: Iterable[Any], progress: bool | None, label: str) -> Iterator[Any]:
    """A stream by the number of its items, if that is known; `progress` says whether the bar is shown."""
    hidden, length = not (sys.stderr.isatty() if progress is None else progress), None
    with contextlib.suppress(TypeError):  # a stream without a length
        length = len(stream)  # type: ignore[arg-type]
    with click.progressbar(stream, length=length, label=label, file=sys.stderr, hidden=hidden) as bar:
        yield from bar
