"""An export: what to write where, and the comparison before the file is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import slova
from slova._backend import Array
from slova._labels import class_names
from slova.artifact import atomic_path
from slova.export.file_metadata import ExportError, Metadata, Validation, check_suffix
from slova.export.parity import Bounds, Parity, compare
from slova.scorer import Scorer

__all__ = ["BATCH", "NO_ROWS", "ROWS", "Exported", "Job", "Rows", "check_and_write"]

ROWS = 64  # random rows
BATCH = 256  # given rows per batch; all of them are compared
NO_ROWS = "there are no inputs to compare the exported classifier on"

Rows = tuple[dict[str, Array], Array, Array | None]
"""Inputs by name, their logits (N, K), and their distances (N, D) where the scorer takes some."""


class Exported(NamedTuple):
    """The content of a file, and the function of inputs by name that it computes, read back from that content."""

    content: bytes
    answer: Callable[[dict[str, Array]], tuple[Any, ...]]


@dataclass(frozen=True)
class Job:
    """The parts of an export beside the network, and the path of the file."""

    path: Path
    scorer: Scorer
    names: Sequence[str] | None
    reject: float
    passes: Any = None  # of a classifier's network

    def __post_init__(self) -> None:
        check_suffix(self.path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path} cannot be written: there is no folder {self.path.parent}")
        if self.names is not None:
            class_names(self.names, self.scorer.classes)
        if not 0 <= self.reject <= 1:
            raise ValueError(f"reject must lie in [0, 1], got {self.reject}")

    def metadata(self, opset: int | None) -> Metadata:
        validation = self.scorer.validation
        return Metadata(
            version=slova.__version__,
            classes=self.scorer.classes,
            head=self.scorer.head.name,
            reject=float(self.reject),
            names=None if self.names is None else class_names(self.names),
            opset=opset,
            validation=None if validation is None else Validation.of(validation),
        )


def check_and_write(exported: Exported, stream: Iterable[Rows], job: Job, bounds: Bounds) -> Parity:
    """Compare on all rows, batch by batch, and on a single row; then write the file atomically."""
    parity = Parity.empty(bounds.tolerance)
    for inputs, logits, distances in stream:
        if not parity.rows:
            one = exported.answer({name: value[:1] for name, value in inputs.items()})
            first = None if distances is None else distances[:1]
            compare(one, job.scorer, logits[:1], job.reject, bounds, distances=first)
        found = exported.answer(inputs)
        found = compare(found, job.scorer, logits, job.reject, bounds, first=parity.rows, distances=distances)
        parity = parity.joined(found)
    if not parity.rows:
        raise ExportError(NO_ROWS)
    with atomic_path(job.path) as temporary:
        temporary.write_bytes(exported.content)
    return parity
