"""A model to serve. Its outputs are label (NONE if rejected), confidence, none, ambiguous and log_probs.

The first axis of every tensor is the batch; -1 in a shape means any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from slova.heads import NONE
from slova.prediction import COLUMNS

__all__ = ["DTYPES", "Arrays", "Model", "ModelError", "Tensor", "Values"]

Values = np.ndarray[Any, Any]
Arrays = dict[str, Values]
DTYPES = {"BOOL": np.dtype("?")} | {
    f"{name}{8 * size}": np.dtype(f"<{kind}{size}")
    for name, kind, sizes in (("UINT", "u", (1, 2, 4, 8)), ("INT", "i", (1, 2, 4, 8)), ("FP", "f", (2, 4, 8)))
    for size in sizes
}  # the numeric data types of the Open Inference Protocol


class ModelError(ValueError):
    """A file cannot be served."""


@dataclass(frozen=True)
class Tensor:
    """The name, data type and shape of an input or output."""

    name: str
    datatype: str
    shape: tuple[int, ...]

    def accepts(self, shape: Sequence[int]) -> bool:
        return len(shape) == len(self.shape) and all(
            0 <= size < 1 << 48 and wanted in (-1, size) for size, wanted in zip(shape, self.shape, strict=True)
        )

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model and its description. `run(inputs, outputs)` computes the requested outputs, with labels rejected below
    `exported_reject`; `reject` is the default threshold of requests. `validation` counts the rows of the validation set
    in 100 equal-width bins of confidence; `examples` are rows that the page offers, None without."""

    name: str
    platform: str
    inputs: tuple[Tensor, ...]
    classes: int
    run: Callable[[Arrays, Sequence[str]], Mapping[str, Values]]
    head: str = ""
    names: tuple[str, ...] | None = None
    exported_reject: float = 0.0
    reject: float = 0.0
    validation: Values | None = None
    examples: Any = None

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        numbers = (Tensor(name, "FP32", (-1,)) for name in COLUMNS[1:])
        return (Tensor("label", "INT64", (-1,)), *numbers, Tensor("log_probs", "FP32", (-1, self.classes)))

    def required_outputs(self, wanted: Sequence[str], reject: float) -> tuple[str, ...]:
        """The outputs to compute that `apply_reject` needs for the requested ones; confidence is always monitored."""
        also = ("label", "confidence") if reject >= self.exported_reject else ("label", "confidence", "log_probs")
        return tuple(output.name for output in self.outputs if output.name in {*wanted, *also})

    def apply_reject(self, answer: Arrays, reject: float) -> Arrays:
        """The outputs with label NONE exactly where the confidence is below `reject` or NaN. If `reject` is below the
        exported threshold, labels that the model rejected become the most probable class again."""
        label = answer["label"]
        if reject < self.exported_reject:
            label = np.where(label == NONE, answer["log_probs"].argmax(axis=-1), label)
        return {**answer, "label": np.where(answer["confidence"] >= reject, label, NONE)}

    def zeros(self, rows: int) -> Arrays | None:
        """Inputs to check that the model runs; None if a shape is dynamic, because not every size may be valid."""
        if any(-1 in tensor.shape[1:] for tensor in self.inputs):
            return None
        return {each.name: np.zeros((rows, *each.shape[1:]), DTYPES[each.datatype]) for each in self.inputs}

    def label_name(self, label: int) -> str | int | None:
        """The label in a plain response: the name if there are names, None for NONE."""
        if label == NONE:
            return None
        return label if self.names is None else self.names[label]

    def describe(self) -> dict[str, Any]:
        """The description of the model that GET /predict returns."""
        names = None if self.names is None else list(self.names)
        inputs = [tensor.describe() for tensor in self.inputs]
        found = {"model": self.name, "inputs": inputs, "classes": self.classes, "names": names, "reject": self.reject}
        return found if self.examples is None else {**found, "examples": self.examples}
