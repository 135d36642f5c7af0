"""From what a user has to logits and labels on the host: the inputs of a network in any form, run batch by batch."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from slova._batches import (
    LABELS,
    Batch,
    as_tensors,
    batches,
    count,
    device_of,
    evaluation_mode,
    logits_of,
    with_progress,
)
from slova._labels import encode, label_column
from slova._validation import NONE
from slova.artifact import ArtifactError

__all__ = [
    "Collected",
    "as_inputs",
    "check_network",
    "collect",
    "collect_with_none",
    "describe_inputs",
    "described_inputs",
    "run_network",
]


class Collected(NamedTuple):
    """Logits (N, K) and labels (N,) on the host, the names of the classes, and the inputs of the network as tensors of
    no rows."""

    logits: Tensor
    labels: np.ndarray | None
    names: tuple[str, ...] | None
    example: Batch


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
) -> Collected:
    """The logits of inputs. With `labelled`, labels are given, or are part of the inputs: the last part of a tuple, or
    "labels" or "label" of a dict, of whole arrays or of each batch. `like` are the inputs of the fit."""
    if labelled and labels is None:
        inputs, labels = _without_labels(inputs)
    whole = labels is not None
    if whole and isinstance(inputs, Dataset | DataLoader):
        raise TypeError(f"labels must not be given with a {type(inputs).__name__}: its batches must have them")
    source = as_inputs(inputs, network, like, rows=len(labels) if whole and hasattr(labels, "__len__") else None)
    if whole and hasattr(labels, "__len__"):
        _check_rows(source, labels)
    stream = batches(source, batch_size, device_of(network), labelled=labelled and not whole, inputs=count(like))
    with evaluation_mode(network):
        seen = [
            (run_network(network, batch).float().cpu(), part, _without_rows(batch))
            for batch, part in with_progress(stream, progress, what)
        ]
    if not seen:
        raise ValueError(f"there are no rows to {what} on")
    logits = torch.cat([part for part, *_ in seen])
    if not labelled:
        return Collected(logits, None, None, seen[0][2])
    columns = [label_column(labels)] if whole else [label_column(part) for _, part, _ in seen]
    codes, found = encode(np.concatenate(columns), names)
    return Collected(logits, codes, found, seen[0][2])


def collect_with_none(
    network: nn.Module, inputs: Any, labels: Any, none_inputs: Any, names: Sequence[str] | None, **options: Any
) -> Collected:
    """The rows of a fit: labelled inputs, and after them those that belong to no class."""
    found = collect(network, inputs, labels, labelled=True, names=names, **options)
    _check_names(found, found.logits.shape[1], names)
    if none_inputs is None:
        return found
    more = collect(network, none_inputs, labelled=False, like=found.example, **options).logits
    column = np.concatenate([np.asarray(found.labels), np.full(len(more), int(NONE))])
    return found._replace(logits=torch.cat([found.logits, more]), labels=column)


def as_inputs(inputs: Any, network: nn.Module, like: Batch | None = None, rows: int | None = None) -> Any:
    """A source for `batches`. A list of rows, each of one axis less than a batch of the fit, or as many as `rows`, is
    one array."""
    if isinstance(inputs, list) and inputs and _is_list_of_rows(inputs, like, rows):
        parts = [part.numpy(force=True) if isinstance(part, Tensor) else part for part in inputs]
        inputs = np.stack([np.asarray(part) for part in parts])
    return as_tensors(inputs, network)


def run_network(network: nn.Module, batch: Batch, classes: int | None = None) -> Tensor:
    """The logits (n, K) of a batch, or (n, 1) of a network with one output; floats are cast to its precision."""
    positional, named = (tuple(_cast(part, network) for part in batch[0]), batch[1])
    named = {name: _cast(part, network) for name, part in named.items()}
    _check_keys(network, named)
    logits = logits_of(network(*positional, **named))
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


def check_network(network: Any) -> None:
    if isinstance(network, nn.Module):
        return
    if isinstance(network, type):
        raise TypeError(f"network must be a torch.nn.Module, got the class {network.__name__}: create one of it first")
    remedy = ""
    if hasattr(network, "predict_proba") or hasattr(network, "decision_function"):
        remedy = ": for scikit-learn models use slova.sklearn.SlovaClassifier"
    raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}{remedy}")


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


def _check_names(found: Collected, columns: int, given: Sequence[str] | None) -> None:
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
            raise ValueError("labels must be given: fit(network, inputs, labels)")
        return source[0] if len(source) == 2 else source[:-1], source[-1]
    if isinstance(source, arrays[:2]) or hasattr(source, "to_numpy"):
        raise ValueError("labels must be given: fit(network, inputs, labels)")
    return source, None


def _is_list_of_rows(inputs: list[Any], like: Batch | None, rows: int | None) -> bool:
    if not all(isinstance(part, Tensor | np.ndarray) for part in inputs):
        return False
    if rows is not None:
        return len(inputs) == rows
    axes = like[0][0].ndim - 1 if like is not None and like[0] else None
    return all(part.ndim == axes and part.shape == inputs[0].shape for part in inputs)


def _check_rows(source: Any, labels: Any) -> None:
    parts = source.values() if isinstance(source, Mapping) else source if isinstance(source, tuple) else [source]
    shapes = [tuple(part.shape) for part in parts if isinstance(part, Tensor)]
    count = np.shape(labels)[0] if hasattr(labels, "shape") else len(labels)
    if any(not shape or shape[0] != count for shape in shapes):
        given = ", ".join(map(str, shapes))
        raise ValueError(f"inputs and labels must have the same number of rows, got {given}, and labels ({count},)")


def _check_keys(network: nn.Module, named: Mapping[str, Any]) -> None:
    """The keys of a batch are arguments of the network."""
    if not named:
        return
    parameters = inspect.signature(network.forward).parameters
    unknown = [name for name in named if name not in parameters]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        taken = ", ".join(name for name, each in parameters.items() if each.kind is not each.VAR_POSITIONAL)
        raise ValueError(
            f"{type(network).__name__} takes {taken}, and not {', '.join(unknown)}: leave these keys out of the batches"
        )


def _cast(part: Any, network: nn.Module) -> Any:
    if not isinstance(part, Tensor) or not part.is_floating_point():
        return part
    kinds = {weight.dtype for weight in network.parameters() if weight.is_floating_point()}
    return part.to(next(iter(kinds))) if len(kinds) == 1 else part


def _without_rows(batch: Batch) -> Batch:
    """The inputs of a batch, on the host, with no rows."""
    return tuple(part[:0].cpu() for part in batch[0]), {name: part[:0].cpu() for name, part in batch[1].items()}
