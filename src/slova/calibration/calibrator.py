"""What every calibration map is: numbers, and a function of log-probabilities that they determine."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from slova._backend import Array

__all__ = ["Map"]


@runtime_checkable
class Map(Protocol):
    """A fitted map; it is a frozen dataclass whose numeric fields are all it knows.

    `elementwise`: each probability is mapped by itself, whatever its row. `order_preserving`: of two probabilities of a
    row the larger stays strictly larger.
    """

    elementwise: ClassVar[bool]
    order_preserving: ClassVar[bool]

    def __call__(self, log_probs: Array) -> Array: ...
