"""Export a classifier: trace the network, write the file in memory, read it back, compare, and only then write it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import Batch
from slova.classifier import Classifier
from slova.export.example_inputs import given_rows, random_rows
from slova.export.file_metadata import OUTPUTS, ExportError
from slova.export.job import NO_ROWS, Exported, Job, Rows, check_and_write
from slova.export.parity import Bounds, Parity
from slova.export.torch_program import Answers, Logits, archived, input_names, run_batch, traced

__all__ = ["export_classifier", "exported_network"]

HALF = (torch.float16, torch.bfloat16)


def export_classifier(
    classifier: Classifier, path: str | Path, inputs: Any, *, reject: float | None, tolerance: float | None
) -> Parity:
    """See `Classifier.export`. The network must be in evaluation mode."""
    network, like = classifier.network, classifier.example
    device = next(network.parameters(), torch.empty(0)).device
    drawn = inputs is None
    stream = iter([random_rows(network, like, device)]) if drawn else given_rows(inputs, network, like, device)
    threshold = classifier.reject if reject is None else reject
    job = Job(Path(path), classifier.scorer, classifier.names, threshold, classifier.passes)
    return export_network(network, stream, job, tolerance)


def export_network(network: nn.Module, stream: Iterator[Batch], job: Job, tolerance: float | None) -> Parity:
    """Trace the network with the first batch, and write the file if it agrees with the network on all batches."""
    first = next(stream, None)
    if first is None:
        raise ExportError(NO_ROWS)
    bounds = Bounds.of(half=_is_half(network, first), tolerance=tolerance)
    logits, distances = _run(network, job, first)
    job.scorer.predict(logits, distances=distances)  # raises early if the shapes do not match
    names = input_names(network, first)
    exported = exported_network(network, first, names, job)
    return check_and_write(exported, _rows(network, itertools.chain([first], stream), names, job), job, bounds)


def exported_network(network: nn.Module, batch: Batch, names: list[str], job: Job) -> Exported:
    """The network followed by the scorer. In a graph, the network is traced by torch, and the scorer records itself."""
    inputs, keywords = (*batch[0], *batch[1].values()), list(batch[1])
    answers = Answers(network, keywords, job.passes, job.scorer, job.reject)
    if job.path.suffix == ".pt2":
        return archived(traced(answers, inputs), names, job.metadata(None))
    try:
        from slova.export.onnx_graph import joined, translated
    except ImportError as error:
        raise ImportError(f'an .onnx export needs {error.name}: pip install "slova[onnx]"') from error
    try:
        model = translated(traced(Logits(network, keywords, job.passes), inputs), names, ["logits", "distances"])
        return joined(model, job)
    except (AttributeError, TypeError):  # a custom head or calibrator that needs torch
        return joined(translated(traced(answers, inputs), names, list(OUTPUTS)), job)


def _rows(network: nn.Module, stream: Iterable[Batch], names: list[str], job: Job) -> Iterator[Rows]:
    """Each batch with its logits and distances. All batches must have rows of one shape, as the file expects them."""
    first_shapes: dict[str, Any] = {}
    for batch in stream:
        inputs = dict(zip(names, batch[0], strict=False)) | batch[1]
        shapes = {name: tuple(value.shape[1:]) for name, value in inputs.items()}
        first_shapes = first_shapes or shapes
        if shapes != first_shapes:
            raise ExportError(f"an exported classifier takes rows of one shape, got {first_shapes} and then {shapes}")
        yield inputs, *_run(network, job, batch)


@torch.no_grad()
def _run(network: nn.Module, job: Job, batch: Batch) -> tuple[Tensor, Tensor | None]:
    logits, distances = run_batch(network, job.passes, batch)
    return logits.cpu(), None if distances is None else distances.cpu()


def _is_half(network: nn.Module, batch: Batch) -> bool:
    tensors: list[Tensor] = [*network.parameters(), *batch[0], *batch[1].values()]
    return any(tensor.dtype in HALF for tensor in tensors)
