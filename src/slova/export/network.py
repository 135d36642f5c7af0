"""Export a classifier: trace the network, write the file in memory, read it back, compare, and only then write it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from slova._batches import Batch, batches, count, device_of
from slova._collect import as_tensors
from slova.classifier import Classifier
from slova.export.file_metadata import OUTPUTS, ExportError
from slova.export.job import BATCH, NO_ROWS, ROWS, Exported, Job, Rows, check_and_write
from slova.export.parity import Bounds, Parity
from slova.export.torch_program import Answers, Logits, archived, input_names, run_batch, traced, translated

__all__ = ["export_classifier", "exported_network"]

HALF = (torch.float16, torch.bfloat16)


def export_classifier(
    classifier: Classifier, path: str | Path, inputs: Any, *, reject: float | None, tolerance: float | None
) -> Parity:
    """See `Classifier.export`. The network must be in evaluation mode."""
    network, like = classifier.network, classifier.example
    stream = iter([_random_rows(network, like)]) if inputs is None else _given_rows(inputs, network, like)
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
        from slova.export.scorer_graph import finished
    except ImportError as error:
        raise ImportError(f'an .onnx export needs {error.name}: pip install "slova[onnx]"') from error
    try:
        model = translated(traced(Logits(network, keywords, job.passes), inputs), names, ["logits", "distances"])
        return finished(model, job)
    except (AttributeError, TypeError):  # a custom head or calibrator that needs torch
        return finished(translated(traced(answers, inputs), names, list(OUTPUTS)), job)


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


def _given_rows(inputs: Any, network: nn.Module, like: Batch | None) -> Iterator[Batch]:
    """Batches of any inputs of `Classifier.predict`. The first has at least two rows, as torch.export would treat a
    size of one as a constant."""
    stream = batches(as_tensors(inputs, network), BATCH, device_of(network), labelled=False, inputs=count(like))
    for number, ((positional, named), _) in enumerate(stream):
        two = tuple(map(_two, positional)), {name: _two(value) for name, value in named.items()}
        yield (positional, named) if number else two


def _random_rows(network: nn.Module, like: Batch | None) -> Batch:
    """Random rows of the shape and type of the inputs of the fit, or of the first layer if it is Linear: normal floats,
    and integers 0 or 1, which are in every vocabulary and mask."""
    generator, device = torch.Generator().manual_seed(0), device_of(network)
    positional, named = _inputs_of_first_layer(network) if like is None else like
    drawn = tuple(_drawn(value, generator).to(device) for value in positional)
    return drawn, {name: _drawn(value, generator).to(device) for name, value in named.items()}


def _inputs_of_first_layer(network: nn.Module) -> Batch:
    layers = [layer for layer in network.modules() if next(layer.parameters(recurse=False), None) is not None]
    if not (layers and isinstance(layers[0], nn.Linear)):
        raise ExportError(
            "the inputs of the network are not known: pass a few rows, as for predict, "
            'such as classifier.export("model.onnx", images)'
        )
    return (torch.empty(0, layers[0].in_features, dtype=layers[0].weight.dtype),), {}


def _drawn(like: Tensor, generator: torch.Generator) -> Tensor:
    shape = (ROWS, *like.shape[1:])
    if like.is_floating_point():
        drawn = torch.randn(shape, generator=generator)
        if like.ndim == 4:  # images, from plain greys to noise, so that some are near to those of the fit
            strength = torch.linspace(0, 1, ROWS).view(-1, 1, 1, 1)
            drawn = strength * drawn + torch.rand(ROWS, 1, 1, 1, generator=generator)
        return drawn.to(like.dtype)
    return torch.randint(0, 2, shape, generator=generator).to(like.dtype)


def _two(value: Tensor) -> Tensor:
    return torch.cat([value, value]) if len(value) == 1 else value
