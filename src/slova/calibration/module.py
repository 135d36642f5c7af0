"""A calibrator as a torch module, whose numbers are buffers that move and save with the network.

>>> from slova import Scorer, TemperatureScaling
>>> module = CalibratorModule(TemperatureScaling(2.0))
>>> module(torch.tensor([[0.9, 0.1]]).log()).exp()
tensor([[0.7500, 0.2500]])
>>> module.state_dict()
OrderedDict([('temperature', tensor(2., dtype=torch.float64))])
>>> list(CalibratorModules(Scorer(classes=2, calibrator=TemperatureScaling(2.0)), ["calibrator"]))
['calibrator']
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from slova.calibration.calibrator import Calibrator

__all__ = ["CalibratorModule", "CalibratorModules"]


class CalibratorModule(nn.Module):
    """The same function as the calibrator, on buffers that are copies of its numbers. They follow the module's device
    and keep their precision whatever its dtype: in half precision an exponent of 1e5 would be infinite."""

    def __init__(self, calibrator: Calibrator) -> None:
        super().__init__()
        self.calibrator = calibrator
        self.elementwise, self.order_preserving = calibrator.elementwise, calibrator.order_preserving
        numbers = {field.name: getattr(calibrator, field.name) for field in dataclasses.fields(calibrator)}  # type: ignore[arg-type]
        self._names = [name for name, value in numbers.items() if _numeric(value)]
        for name in self._names:
            self.register_buffer(name, torch.tensor(numbers[name], dtype=torch.float64))

    def forward(self, *inputs: Tensor) -> Tensor:
        log_probs: Tensor = self.on_buffers(*inputs)
        return log_probs

    @property
    def on_buffers(self) -> Any:
        """The calibrator with the buffers as its numbers."""
        return _with_numbers(self.calibrator, {name: getattr(self, name) for name in self._names})

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CalibratorModule:
        device = fn(torch.empty(0)).device
        exact = torch.float32 if device.type == "mps" else torch.float64
        for name in self._names:
            self._buffers[name] = getattr(self, name).to(device=device, dtype=exact)
        return self

    @property
    def value(self) -> Calibrator:
        """A calibrator of the numbers that the buffers hold now."""
        arrays = {name: getattr(self, name).cpu().numpy().copy() for name in self._names}
        numbers = {name: array if array.ndim else array.item() for name, array in arrays.items()}
        return dataclasses.replace(self.calibrator, **numbers)  # type: ignore[type-var]


class CalibratorModules(nn.ModuleDict):
    """The calibrators among these fields of a value, such as a scorer, by name."""

    def __init__(self, owner: Any, names: Sequence[str]) -> None:
        given = {name: getattr(owner, name) for name in names}
        super().__init__({name: CalibratorModule(part) for name, part in given.items() if part is not None})

    def on_buffers(self, owner: Any) -> Any:
        """The value with calibrators whose numbers are the buffers."""
        return dataclasses.replace(owner, **{name: part.on_buffers for name, part in self.items()})

    def current(self, owner: Any) -> Any:
        """The value with calibrators of the numbers that the buffers hold now."""
        return dataclasses.replace(owner, **{name: part.value for name, part in self.items()})


def _with_numbers(calibrator: Calibrator, numbers: dict[str, Tensor]) -> Any:
    """A new calibrator of these numbers, without the checks of its constructor, which would copy them to the host."""
    unchecked = object.__new__(type(calibrator))
    for name, value in {**vars(calibrator), **numbers}.items():
        object.__setattr__(unchecked, name, value)
    return unchecked


def _numeric(value: Any) -> bool:
    return isinstance(value, float | int | np.ndarray) and not isinstance(value, bool)
