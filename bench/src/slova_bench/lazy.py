"""Networks that are made on first use: stored logits need none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from torch import nn

__all__ = ["Networks"]


class Networks(Sequence[nn.Sequential]):
    """Networks that are made on first use."""

    def __init__(self, make: Sequence[Callable[[], nn.Sequential]]) -> None:
        self.make = [cache(one) for one in make]

    def __len__(self) -> int:
        return len(self.make)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.make[index]()
        part = Networks([])
        part.make = self.make[index]
        return part
