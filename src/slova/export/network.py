"""From a classifier to a checked file: trace, write, read back, compare, and only then give the file its name."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import slova
from slova._backend import Array, to_numpy
from slova._batches import Batch, logits_of
from slova.artifact import atomic_path
from slova.classifier import Classifier
from slova.export.example_inputs import given_rows, random_logits, random_rows
from slova.export.file_metadata import ExportError, Metadata, Validation, check_suffix
from slova.export.parity import Bounds, Parity, compare
from slova.export.torch_program import Answers, Exported, archived, input_names, traced
from slova.scorer import HEADS, Scorer

__all__ = ["Job", "check_and_write", "export_classifier", "export_scorer", "exported_network"]

HALF = (torch.float16, torch.bfloat16)
NOTHING = "there are no inputs to compare the exported classifier on"

Rows = tuple[dict[str, Tensor], Tensor]  # inputs by their names, and the logits for them


def export_classifier(
    classifier: Classifier, path: str | Path, inputs: Any, *, reject: float | None, tolerance: float | None
) -> Parity:
    """What `Classifier.export` does, with the network in evaluation mode."""
    network, like = classifier.network, classifier.example
    device = next(network.parameters(), torch.empty(0)).device
    drawn = inputs is None
    stream = iter([random_rows(network, like, device)]) if drawn else given_rows(inputs, network, like, device)
    job = Job(Path(path), classifier.scorer, classifier.names, classifier.reject if reject is None else reject)
    return export_network(network, stream, job, tolerance)


def export_scorer(
    scorer: Scorer,
    path: str | Path,
    logits: Array | None = None,
    *,
    names: Sequence[str] | None = None,
    reject: float = 0.0,
    tolerance: float | None = None,
) -> Parity:
    """A graph from logits (N, K) to answers, compared with the scorer on these, or on random ones of every kind."""
    rows = random_logits(scorer.classes) if logits is None else torch.as_tensor(to_numpy(logits)).float()
    network = _Logits()
    stream = given_rows(rows, network, None, rows.device)
    return export_network(network, stream, Job(Path(path), scorer, names, reject), tolerance)


@dataclass(frozen=True)
class Job:
    """What to export beside the network, and where to."""

    path: Path
    scorer: Scorer
    names: Sequence[str] | None
    reject: float

    def __post_init__(self) -> None:
        check_suffix(self.path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path} cannot be written: there is no folder {self.path.parent}")
        if self.names is not None and len(self.names) != self.scorer.classes:
            raise ValueError(f"got {len(self.names)} names for {self.scorer.classes} classes")
        if not 0 <= self.reject <= 1:
            raise ValueError(f"reject must lie in [0, 1], got {self.reject}")

    def metadata(self, opset: int | None) -> Metadata:
        head, validation = self.scorer.head, self.scorer.validation
        return Metadata(
            version=slova.__version__,
            classes=self.scorer.classes,
            head=next((name for name, known in HEADS.items() if known is head), getattr(head, "__name__", "unknown")),
            reject=float(self.reject),
            names=None if self.names is None else tuple(str(name) for name in self.names),
            opset=opset,
            validation=None if validation is None else Validation.of(validation),
        )


def export_network(network: nn.Module, stream: Iterator[Batch], job: Job, tolerance: float | None) -> Parity:
    """The file, traced with the first batch, if it answers like the network to all of them."""
    first = next(stream, None)
    if first is None:
        raise ExportError(NOTHING)
    bounds = Bounds.of(half=_is_half(network, first), tolerance=tolerance)
    job.scorer.predict(_logits(network, first)[:1])  # what does not fit is said before any work is done
    names = input_names(network, first)
    exported = exported_network(network, first, names, job)
    return check_and_write(exported, _rows(network, itertools.chain([first], stream), names), job, bounds)


def exported_network(network: nn.Module, batch: Batch, names: list[str], job: Job) -> Exported:
    inputs = (*batch[0], *batch[1].values())
    program = traced(Answers(network, job.scorer, job.reject, list(batch[1])), inputs)
    if job.path.suffix == ".pt2":
        return archived(program, names, job.metadata(None))
    try:
        from slova.export.onnx_graph import graphed
        from slova.export.onnx_operators import OPSET
    except ImportError as error:
        raise ImportError(f'an .onnx export needs {error.name}: pip install "slova[onnx]"') from error
    return graphed(program, names, job.metadata(OPSET))


def check_and_write(exported: Exported, stream: Iterable[Rows], job: Job, bounds: Bounds) -> Parity:
    """Compared on all rows, batch by batch, and on the first by itself, then written whole or not at all."""
    parity = Parity.of_none(bounds.tolerance)
    for inputs, logits in stream:
        if not parity.rows:
            one = exported.answer({name: value[:1] for name, value in inputs.items()})
            compare(one, job.scorer, logits[:1], job.reject, bounds)
        found = compare(exported.answer(inputs), job.scorer, logits, job.reject, bounds, first=parity.rows)
        parity = parity.joined(found)
    if not parity.rows:
        raise ExportError(NOTHING)
    with atomic_path(job.path) as temporary:
        temporary.write_bytes(exported.content)
    return parity


def _rows(network: nn.Module, stream: Iterable[Batch], names: list[str]) -> Iterator[Rows]:
    """Each batch, with what the network says of it; all must have rows of one shape, as the file will want them."""
    wanted: dict[str, Any] = {}
    for batch in stream:
        inputs = dict(zip(names, batch[0], strict=False)) | batch[1]
        shapes = {name: tuple(value.shape[1:]) for name, value in inputs.items()}
        wanted = wanted or shapes
        if shapes != wanted:
            raise ExportError(f"an exported classifier takes rows of one shape, got {wanted} and then {shapes}")
        yield inputs, _logits(network, batch)


class _Logits(nn.Module):
    """The network of a scorer, which takes logits."""

    def forward(self, logits: Tensor) -> Tensor:
        return logits


@torch.no_grad()
def _logits(network: nn.Module, batch: Batch) -> Tensor:
    return logits_of(network(*batch[0], **batch[1])).cpu()


def _is_half(network: nn.Module, batch: Batch) -> bool:
    tensors: list[Tensor] = [*network.parameters(), *batch[0], *batch[1].values()]
    return any(tensor.dtype in HALF for tensor in tensors)
