"""A network and a scorer as one torch program: inputs -> label, confidence, none, ambiguous (N,), log_probs (N, K)."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from slova._batches import Batch, logits_of
from slova.export.file_metadata import PROGRAM, ExportError, Metadata, sentence
from slova.export.job import Exported
from slova.scorer import Scorer
from slova.vision.passes import Passes

__all__ = ["Answers", "Logits", "archived", "input_names", "quiet", "run_batch", "traced", "translated"]


class Logits(nn.Module):
    """The logits of a network, and the distances where it has passes. `names` are the keyword arguments of the network,
    which are the last inputs."""

    def __init__(self, network: nn.Module, names: Sequence[str] = (), passes: Passes | None = None) -> None:
        super().__init__()
        self.network, self.names, self.passes = network, tuple(names), passes

    def forward(self, *inputs: Any) -> tuple[Tensor, ...]:
        logits, distances = self.run(*inputs)
        return (logits,) if distances is None else (logits, distances)

    def run(self, *inputs: Any) -> tuple[Tensor, Tensor | None]:
        first = len(inputs) - len(self.names)
        return run_batch(
            self.network, self.passes, (inputs[:first], dict(zip(self.names, inputs[first:], strict=True)))
        )


class Answers(Logits):
    """The five outputs of an exported classifier: those of `Scorer.predict`, and the log-probabilities of all
    classes."""

    def __init__(
        self, network: nn.Module, names: Sequence[str], passes: Passes | None, scorer: Scorer, reject: float
    ) -> None:
        super().__init__(network, names, passes)
        self.scorer, self.reject = scorer, reject

    def forward(self, *inputs: Any) -> tuple[Tensor, ...]:
        logits, distances = self.run(*inputs)
        label, *probs = self.scorer.predict(logits, reject=self.reject, distances=distances)
        return (label, *(prob.float() for prob in probs), self.scorer(logits, distances).log_probs.float())


def run_batch(network: nn.Module, passes: Passes | None, batch: Batch) -> tuple[Tensor, Tensor | None]:
    """Logits and distances, by the plain call of the network."""

    def run(each: Batch) -> Tensor:
        return logits_of(network(*each[0], **each[1]))

    return (run(batch), None) if passes is None else passes(network, batch, run)


def traced(answers: Logits, inputs: tuple[Any, ...]) -> ExportedProgram:
    """The program, for any number of rows."""
    try:
        with quiet():
            return torch.export.export(answers, inputs, dynamic_shapes=_shapes(inputs), strict=False)
    except Exception as error:  # any error of the network's code
        raise ExportError(f"torch.export cannot trace the network: {sentence(error)}") from error


def archived(program: ExportedProgram, names: list[str], metadata: Metadata) -> Exported:
    """An archive for `torch.export.load`. Its weights require no gradients, and it contains neither the rows it was
    traced with nor paths of source files."""
    buffer = io.BytesIO()
    program.example_inputs = None
    for name, weight in program.named_parameters():
        program.state_dict[name] = nn.Parameter(weight.detach(), requires_grad=False)  # the network is not changed
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    with quiet():
        torch.export.save(program, buffer, extra_files={PROGRAM: json.dumps(metadata.lines)})
        module = torch.export.load(io.BytesIO(buffer.getvalue())).module()

    def answer(inputs: dict[str, Any]) -> tuple[Any, ...]:
        with torch.no_grad():
            return tuple(module(*(torch.as_tensor(inputs[name]) for name in names)))

    return Exported(buffer.getvalue(), answer)


def translated(program: ExportedProgram, names: list[str], outputs: list[str]) -> Any:
    """The program as an ONNX graph, weights in one file; `outputs` are the names of as many outputs as there are."""
    from slova.export.onnx_operators import OPSET, translation_table

    try:
        with quiet():
            found = torch.onnx.export(
                program, dynamo=True, external_data=False, opset_version=OPSET,
                custom_translation_table=translation_table(),
                input_names=names, output_names=outputs, dynamic_shapes=_shapes(tuple(names)), verbose=False,
            )  # fmt: skip
        assert found is not None
        parts: list[Any] = [found.model, found.model.graph, *found.model.graph.all_nodes()]
        for part in parts:
            part.metadata_props.clear()  # paths of source files
        return found.model_proto
    except Exception as error:  # an operator without translation
        raise ExportError(f"the network cannot be written as an ONNX graph: {sentence(error)}") from error


def input_names(network: nn.Module, batch: Batch) -> list[str]:
    """The names of the parameters of the network. Of `*inputs` a single one is called "input", several are numbered."""
    parameters = inspect.signature(network.forward).parameters.values()
    own = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    more = [f"input_{i}" for i in range(len(own), len(batch[0]))]
    found = ["input"] if not own and len(more) == 1 else [*own, *more][: len(batch[0])]
    return [*found, *batch[1]]


def _shapes(inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The first axis of each input is the batch, of dynamic size."""
    return {"inputs": tuple({0: torch.export.Dim("batch")} for _ in inputs)}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of exporters about missing packages and about deprecated functions of their own."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
