"""What is served: tensors in, a label (NONE where it was rejected), confidence, P(none), P(several) and log_probs out.

The first axis of every tensor counts rows; -1 in a shape means any number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slova.heads import NONE

__all__ = ["Arrays", "Model", "ModelError", "Tensor"]

Arrays = dict[str, np.ndarray[Any, Any]]


class ModelError(ValueError):
    """The file cannot be served."""


@dataclass(frozen=True)
class Tensor:
    name: str
    datatype: str
    shape: tuple[int, ...]

    def takes(self, shape: Sequence[int]) -> bool:
        return len(shape) == len(self.shape) and all(
            0 <= size < 1 << 48 and wanted in (-1, size) for size, wanted in zip(shape, self.shape, strict=True)
        )

    def described(self) -> dict[str, Any]:
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape)}


@dataclass(frozen=True, kw_only=True)
class Model:
    """`run(inputs, wanted)` gives the wanted outputs of some rows, its labels rejected below `built_in`; an answer is
    rejected below `reject`. `validation` counts the rows of the validation set in 100 bins of equal width of
    confidence."""

    name: str
    platform: str
    inputs: tuple[Tensor, ...]
    classes: int
    run: Callable[[Arrays, Sequence[str]], Mapping[str, np.ndarray[Any, Any]]]
    head: str = ""
    names: tuple[str, ...] | None = None
    built_in: float = 0.0
    reject: float = 0.0
    validation: np.ndarray[Any, Any] | None = None

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        numbers = (Tensor(name, "FP32", (-1,)) for name in ("confidence", "none", "several"))
        return (Tensor("label", "INT64", (-1,)), *numbers, Tensor("log_probs", "FP32", (-1, self.classes)))

    def needed(self, wanted: Sequence[str], reject: float) -> tuple[str, ...]:
        """What has to be computed so that `rejected` can give what is wanted; the confidence is always watched."""
        also = ("label", "confidence") if reject >= self.built_in else ("label", "confidence", "log_probs")
        return tuple(output.name for output in self.outputs if output.name in {*wanted, *also})

    def rejected(self, answer: Arrays, reject: float) -> Arrays:
        """The answer with NONE exactly where the confidence is below `reject`, or NaN. A label that the model itself
        rejected is the likeliest class again, if `reject` is the lower threshold."""
        label = answer["label"]
        if reject < self.built_in:
            label = np.where(label == NONE, answer["log_probs"].argmax(axis=-1), label)
        return {**answer, "label": np.where(answer["confidence"] >= reject, label, NONE)}

    def spoken(self, label: int) -> str | int | None:
        """The label in an answer for people: a name where there are names, None for NONE."""
        if label == NONE:
            return None
        return label if self.names is None else self.names[label]

    def described(self) -> dict[str, Any]:
        """For whoever wants to ask it something."""
        names = None if self.names is None else list(self.names)
        inputs = [tensor.described() for tensor in self.inputs]
        return {"model": self.name, "inputs": inputs, "classes": self.classes, "names": names, "reject": self.reject}
