"""Mergeable states: summaries of batches whose size does not depend on the number of rows.

A state is a frozen dataclass of numbers and small arrays. `of(...)` makes it from a batch, `+` merges two in any
order, its properties are the values. The metadata of each field tells how it merges.
"""

from __future__ import annotations

import operator
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from slova import artifact

SUM = {"merge": operator.add}
LEAST = {"merge": np.minimum}
MOST = {"merge": np.maximum}
SAME = {"merge": None}


class Estimate(NamedTuple):
    """An approximate value of a fixed-size state: the exact one is within `bound`, up to rounding (1e-12)."""

    value: float
    bound: float

    @classmethod
    def between(cls, low: float, high: float) -> Estimate:
        return cls(float((low + high) / 2.0), float((high - low) / 2.0))


@dataclass(frozen=True)
class Mergeable:
    """A state that merges field by field, with states of the same metric, options, bins and classes."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(**{field.name: _merged(self, other, field) for field in fields(self)})

    def save(self, path: str | Path) -> None:
        """Write the state to a file, which another process or machine can load and add."""
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
        raise ValueError(f"{what} {np.shape(ours)} and {np.shape(theirs)}; bins and classes must be the same")
    if merge is None and ours != theirs:
        raise ValueError(f"{what} {ours} and {theirs}; the option must be the same")
    return ours if merge is None else merge(ours, theirs)
