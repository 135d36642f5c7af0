"""The metrics as `torchmetrics.Metric`s, for training loops that log those; torchmetrics merges the states.

>>> from slova.metrics import Ece
>>> metric = as_metric(Ece, bins=15)       # a StateMetric
>>> metric.update(torch.tensor([[0.75, 0.25], [0.75, 0.0]]), torch.tensor([0, 1]))
>>> metric.compute()                       # exactly slova.metrics.ece of all rows, on all processes
tensor(0.2500)

Each field of a mergeable state becomes a torchmetrics state that is summed, or whose least or largest is kept, when
processes are brought together; the result is that of all their rows.
"""

from __future__ import annotations

import inspect
import operator
from dataclasses import fields
from typing import Any

import numpy as np

from slova._mergeable import Estimate, Mergeable

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise ImportError(f"slova.metrics.torchmetrics needs {error.name}: pip install torchmetrics") from error

__all__ = ["StateMetric", "as_metric"]

# How a field merges: the name that torchmetrics has for it, and the number that changes nothing.
REDUCTIONS: dict[Any, tuple[str, float]] = {
    operator.add: ("sum", 0.0),
    np.minimum: ("min", np.inf),
    np.maximum: ("max", -np.inf),
}


def as_metric(state: type[Mergeable], *, value: str = "value", classes: int = 2, **options: Any) -> StateMetric:
    """A torchmetrics metric of any state of `slova.metrics`, with the arguments of `state.of`.

    `value`: the value to compute, such as "aurc" of `Selection`; of an `Estimate` its middle. `classes`: their number,
    which only `ClasswiseEce` needs beforehand. `options`: those of `state.of`, such as `bins`.
    """
    return StateMetric(state, value, classes, options)


class StateMetric(Metric):
    """A torchmetrics metric made by `as_metric`."""

    full_state_update = False

    def __init__(self, state: type[Mergeable], value: str, classes: int, options: dict[str, Any]) -> None:
        super().__init__()
        self._of, self._value, self._options = state, value, options
        self._example = state.of(*_example(state, classes), **options)  # type: ignore[attr-defined]
        self._merged = [field.name for field in fields(state) if field.metadata["merge"] is not None]
        for field in fields(state):
            if field.name in self._merged:
                reduction, nothing = REDUCTIONS[field.metadata["merge"]]
                empty = torch.as_tensor(np.asarray(getattr(self._example, field.name)))
                self.add_state(field.name, torch.full_like(empty, nothing), dist_reduce_fx=reduction)

    def update(self, *arrays: Any, **named: Any) -> None:
        """What `state.of` takes: probs or log_probs (N, K) and labels (N,), or inside (N,) and outside (M,)."""
        merged = self.state + self._of.of(*arrays, **named, **self._options)  # type: ignore[attr-defined]
        for name in self._merged:
            before = getattr(self, name)
            after = torch.as_tensor(np.asarray(getattr(merged, name)))
            setattr(self, name, after.to(before.device, before.dtype))

    def compute(self) -> torch.Tensor:
        try:
            found = getattr(self.state, self._value)
        except ZeroDivisionError:
            raise ValueError(f"there are no rows yet, so there is no {self._value}") from None
        number = found.value if isinstance(found, Estimate) else found
        return torch.tensor(float(number), dtype=torch.get_default_dtype(), device=self.device)

    @property
    def state(self) -> Any:
        """The state, with all its values, to save or to merge."""
        numbers = {name: getattr(self, name).cpu().numpy() for name in self._merged}
        found = {field.name: numbers.get(field.name, getattr(self._example, field.name)) for field in fields(self._of)}
        return self._of(**{name: _plain(value) for name, value in found.items()})


def _example(state: type[Mergeable], classes: int) -> list[Any]:
    """One row for each argument of `state.of`, to learn the shapes from."""
    rows = {
        "probs": np.full((1, classes), 1 / classes),
        "log_probs": np.full((1, classes), -np.log(classes)),
        "labels": np.zeros(1, np.int64),
        "inside": np.full(1, 0.5),
        "outside": np.full(1, 0.5),
    }
    required = inspect.signature(state.of).parameters.values()  # type: ignore[attr-defined]
    return [rows[one.name] for one in required if one.default is one.empty]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray) and not value.ndim else value
