"""What every calibrator is: numbers, and a function of log-probabilities that they determine."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from slova._types import LogProbs

__all__ = ["Calibrator"]


@runtime_checkable
class Calibrator(Protocol):
    """A fitted calibrator: a frozen dataclass whose numeric fields are all that `__call__` reads.

    `elementwise`: each probability is calibrated by itself, whatever its row. `order_preserving`: of two probabilities
    in a row the larger stays larger, up to rounding. The classes of `CALIBRATORS` also have the word that names them in
    files and on the command line (`name`), what they act on (`takes`) and
    `fit(cls, log_probs, labels, *, weight=None) -> Self`. Weights are relative: their scale has no effect, and rows of
    weight 2 count twice as much as rows of weight 1.
    """

    elementwise: ClassVar[bool]
    order_preserving: ClassVar[bool]

    def __call__(self, log_probs: LogProbs) -> LogProbs: ...
