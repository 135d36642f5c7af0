"""A network and a scorer as one torch program: (inputs) -> label, confidence, none, several (N,), log_probs (N, K)."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from slova._batches import Batch, logits_of
from slova.export.file_metadata import PROGRAM, ExportError, Metadata
from slova.scorer import Scorer

__all__ = ["Answers", "Exported", "archived", "input_names", "quiet", "sentence", "shapes", "traced"]


class Exported(NamedTuple):
    """The content of a file, and what it answers, read back from that content, to inputs by their names."""

    content: bytes
    answer: Callable[[dict[str, Tensor]], tuple[Any, ...]]


class Answers(nn.Module):
    """The five outputs of an exported classifier: what `Scorer.predict` says, and the log-probabilities of all
    classes. The last inputs are those that the network takes by these names."""

    def __init__(self, network: nn.Module, scorer: Scorer, reject: float, names: Sequence[str] = ()) -> None:
        super().__init__()
        self.network, self.scorer, self.reject, self.names = network, scorer, reject, tuple(names)

    def forward(self, *inputs: Any) -> tuple[Tensor, ...]:
        first = len(inputs) - len(self.names)
        logits = logits_of(self.network(*inputs[:first], **dict(zip(self.names, inputs[first:], strict=True))))
        label, *probs = self.scorer.predict(logits, reject=self.reject)
        return (label, *(prob.float() for prob in probs), self.scorer(logits).log_probs.float())


def traced(answers: Answers, inputs: tuple[Any, ...]) -> ExportedProgram:
    """The program for any number of rows."""
    try:
        with quiet():
            return torch.export.export(answers, inputs, dynamic_shapes=shapes(inputs), strict=False)
    except Exception as error:  # whatever the network's code meets while it is traced
        raise ExportError(f"torch.export cannot trace the network: {sentence(error)}") from error


def archived(program: ExportedProgram, names: list[str], metadata: Metadata) -> Exported:
    """As an archive for `torch.export.load`, whose weights want no gradients; the rows it was traced with, and where
    the code lay on the disk, are nobody's business and stay out of it."""
    buffer = io.BytesIO()
    program.example_inputs = None
    for name, weight in program.named_parameters():
        program.state_dict[name] = nn.Parameter(weight.detach(), requires_grad=False)  # the network keeps its own
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    with quiet():
        torch.export.save(program, buffer, extra_files={PROGRAM: json.dumps(metadata.lines)})
        module = torch.export.load(io.BytesIO(buffer.getvalue())).module()

    def answer(inputs: dict[str, Tensor]) -> tuple[Any, ...]:
        with torch.no_grad():
            return tuple(module(*(inputs[name] for name in names)))

    return Exported(buffer.getvalue(), answer)


def input_names(network: nn.Module, batch: Batch) -> list[str]:
    """What the network itself calls its inputs. `*inputs` have no names: one is "input", several are counted."""
    parameters = inspect.signature(network.forward).parameters.values()
    own = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    more = [f"input_{i}" for i in range(len(own), len(batch[0]))]
    found = ["input"] if not own and len(more) == 1 else [*own, *more][: len(batch[0])]
    return [*found, *batch[1]]


def shapes(inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The first axis of each input is the batch, of any length."""
    return {"inputs": tuple({0: torch.export.Dim("batch")} for _ in inputs)}


def sentence(error: Exception) -> str:
    """The innermost reason; exporters wrap it in pages of advice."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return " ".join(str(error).split())[:400]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Exporters warn of what packages are not installed and which of their own functions are old."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
