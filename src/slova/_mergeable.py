"""States that merge: what a batch leaves behind, in a size that does not depend on the number of rows.

A state is a frozen dataclass of numbers and small arrays. `of(...)` makes it from a batch, `+` merges two of them, in
any order, `save` and `load` carry it elsewhere, its properties are the values. Each field says in its metadata how it
merges.
"""

from __future__ import annotations

import operator
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from slova import artifact

__all__ = ["LEAST", "MOST", "SAME", "SUM", "Estimate", "Mergeable"]

SUM = {"merge": operator.add}
LEAST = {"merge": np.minimum}
MOST = {"merge": np.maximum}
SAME = {"merge": None}


class Estimate(NamedTuple):
    """A value that a fixed-size state cannot know exactly: the exact one is within `bound`, up to rounding (1e-12)."""

    value: float
    bound: float

    @classmethod
    def between(cls, low: float, high: float) -> Estimate:
        return cls(float((low + high) / 2.0), float((high - low) / 2.0))


@dataclass(frozen=True)
class Mergeable:
    """Merges field by field; states of different metrics, options, bins or classes refuse."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(**{field.name: _merged(self, other, field) for field in fields(self)})

    def save(self, path: str | Path) -> None:
        """Write it to a file, for another process or machine to load and add."""
        tensors, meta = artifact.pack(self, "state", {type(self).__name__: type(self)})
        artifact.save(path, "state", tensors, {"state": meta})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        tensors, meta = artifact.load(path, "state")
        loaded: Self = artifact.unpack(tensors, meta["state"], "state", {cls.__name__: cls})
        return loaded


def _merged(left: Mergeable, right: Mergeable, field: Field[Any]) -> Any:
    ours, theirs, merge = getattr(left, field.name), getattr(right, field.name), field.metadata["merge"]
    what = f"{type(left).__name__} states do not merge: {field.name}"
    if np.shape(ours) != np.shape(theirs):
        raise ValueError(f"{what} {np.shape(ours)} and {np.shape(theirs)}; the same bins and classes are wanted")
    if merge is None and ours != theirs:
        raise ValueError(f"{what} {ours} and {theirs}; the same option is wanted")
    return ours if merge is None else merge(ours, theirs)
