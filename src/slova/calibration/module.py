"""A calibration map as a torch module: its numbers are buffers that move and save with the network."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from slova.calibration.calibrator import Map

__all__ = ["CalibratorModule"]


class CalibratorModule(nn.Module):
    """The same function as the map; the numbers follow the module's device and keep their precision whatever its dtype:
    in half precision an exponent of 1e5 would be infinite."""

    def __init__(self, map: Map) -> None:
        super().__init__()
        self.map = map
        self.elementwise, self.order_preserving = map.elementwise, map.order_preserving
        self._names = [field.name for field in dataclasses.fields(map) if _numeric(getattr(map, field.name))]  # type: ignore[arg-type]
        for name in self._names:
            self.register_buffer(name, torch.as_tensor(getattr(map, name), dtype=torch.float64))

    def forward(self, log_probs: Tensor) -> Tensor:
        on_device = copy.copy(self.map)
        for name in self._names:
            object.__setattr__(on_device, name, getattr(self, name))
        return on_device(log_probs)  # type: ignore[no-any-return]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CalibratorModule:
        device = fn(torch.empty(0)).device
        exact = torch.float32 if device.type == "mps" else torch.float64
        for name in self._names:
            self._buffers[name] = getattr(self, name).to(device=device, dtype=exact)
        return self

    @property
    def value(self) -> Map:
        """The map as a plain value again, with the numbers the buffers hold now."""
        return dataclasses.replace(self.map, **{name: getattr(self, name).cpu().numpy() for name in self._names})  # type: ignore[type-var]


def _numeric(value: Any) -> bool:
    return isinstance(value, float | int | np.ndarray) and not isinstance(value, bool)
