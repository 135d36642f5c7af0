"""Whatever people keep their data in, as a stream of batches for a network: tensors, tuples, dicts, Datasets,
DataLoaders."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

__all__ = ["batches", "evaluating", "logits_of", "shown"]

LABELS = ("labels", "label")
Batch = tuple[tuple[Any, ...], dict[str, Any]]


def batches(source: Any, batch_size: int, device: torch.device, *, labelled: bool) -> Iterable[tuple[Batch, Any]]:
    """Arguments for the network (positional and by name), on its device, with the labels, or None where none are asked
    for."""
    return _Batches(source, batch_size, device, labelled)


@contextlib.contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
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
    def __init__(self, source: Any, batch_size: int, device: torch.device, labelled: bool) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        is_dataset = isinstance(source, Dataset) and not isinstance(source, IterableDataset)
        self.source = DataLoader(source, batch_size=batch_size) if is_dataset else source
        self.batch_size, self.device, self.labelled = batch_size, device, labelled

    def __iter__(self) -> Iterator[tuple[Batch, Any]]:
        for item in self._items():
            arguments, labels = _split(item, self.labelled)
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
    parts = list(source.values()) if isinstance(source, Mapping) else list(source) if isinstance(source, tuple) else []
    return parts if parts and all(isinstance(part, Tensor) for part in parts) else None


def _cut(source: Any, rows: slice) -> Any:
    if isinstance(source, Tensor):
        return source[rows]
    if isinstance(source, Mapping):
        return {name: part[rows] for name, part in source.items()}
    return tuple(part[rows] for part in source)


def _split(item: Any, labelled: bool) -> tuple[Batch, Any]:
    """Arguments and labels of one batch. Labels that come where none are asked for, as a DataLoader's do in predict,
    are dropped."""
    if isinstance(item, Mapping):
        label = next((name for name in LABELS if name in item), None)
        if labelled and label is None:
            raise ValueError(
                f"a batch wants its labels under 'labels' or 'label', got the keys {', '.join(map(str, item))}"
            )
        return ((), {name: value for name, value in item.items() if name not in LABELS}), item.get(label)
    if isinstance(item, tuple | list):
        if labelled and len(item) < 2:
            raise ValueError("a batch wants inputs and labels, got inputs only")
        return (tuple(item[:-1]) if len(item) > 1 else tuple(item), {}), item[-1]
    if labelled:
        raise ValueError(f"a batch wants inputs and labels, got a {type(item).__name__}")
    return ((item,), {}), None


def _to(value: Any, device: torch.device) -> Any:
    return value.to(device, non_blocking=True) if isinstance(value, Tensor) else value
