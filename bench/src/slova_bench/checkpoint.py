"""Checkpoints of a training: safetensors, written between epochs at most every 30 seconds, removed at the end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

from torch import Tensor

from slova import artifact

__all__ = ["Checkpoint", "State"]

SECONDS = 30.0


class State(Protocol):
    """A state that can be saved as tensors and restored from them."""

    def tensors(self) -> dict[str, Tensor]: ...
    def restore(self, tensors: dict[str, Tensor]) -> None: ...


class Checkpoint:
    """A checkpoint file; without a path all operations are no-ops. An unreadable file is an error."""

    def __init__(self, path: Path | None, state: State, *, seconds: float = SECONDS) -> None:
        self.path, self.state = path, state
        self.seconds, self.saved = seconds, time.monotonic()

    def resume(self) -> int:
        """Restore the state and return the number of completed epochs."""
        if self.path is None or not self.path.exists():
            return 0
        tensors, meta = artifact.load(self.path, "checkpoint", framework="torch")
        self.state.restore(tensors)
        return int(meta["epoch"])

    def save(self, epoch: int) -> None:
        if self.path is None or time.monotonic() - self.saved < self.seconds:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        artifact.save(self.path, "checkpoint", self.state.tensors(), {"epoch": epoch})
        self.saved = time.monotonic()

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)
