"""The shifts of each data set. Their strengths are in `severities.toml`, by the name of the function."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from slova._backend import Array
from slova_bench.shifts import blur, digital, digits, noise, spatter, synthetic_ood, weather
from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["CIFAR", "DIGITS", "Family", "Shift", "family"]


class Shift(NamedTuple):
    """`change(images, rng, strength)` and its strength at severities 1 to 5."""

    change: Callable[[Array, PerImageRng, Any], Array]
    strengths: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """The shifts and OOD images for images of one shape: shifts keep the class, OOD images show none of the classes."""

    shape: tuple[int, int, int]
    shifts: Mapping[str, Shift]
    ood: Mapping[str, Callable[[Array, PerImageRng], Array]]

    @property
    def names(self) -> tuple[str, ...]:
        """The shifts of this family, five severities each."""
        return tuple(self.shifts)


def family(split: str) -> Family:
    """The shifts for the images of this data set or split, such as "cifar10" or "digits-test"."""
    name = split.partition("-")[0]
    if name not in FAMILIES:
        raise ValueError(f"{split!r} has no shifts; data sets with shifts: {', '.join(FAMILIES)}")
    return FAMILIES[name]


def _shifts(group: str) -> dict[str, Shift]:
    """The shifts of a group of `severities.toml`."""
    strengths = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[group]
    functions = {name: own for module in MODULES for name, own in vars(module).items()}
    return {
        name: Shift(functions[name], tuple(NAMED[name](*one) if name in NAMED else one for one in own))
        for name, own in strengths.items()
    }


MODULES = (blur, digital, digits, noise, spatter, weather)
NAMED = {"snow": weather.Snowfall, "spatter": spatter.Liquid}  # strengths of many numbers
CIFAR = Family(
    shape=(3, 32, 32),
    shifts=_shifts("cifar"),
    ood={"uniform": synthetic_ood.uniform, "permuted": synthetic_ood.permuted, "low_pass": synthetic_ood.low_pass},
)
DIGITS = Family(
    shape=(1, 8, 8),
    shifts=_shifts("digits"),
    ood={
        "uniform": synthetic_ood.uniform,
        "permuted": synthetic_ood.permuted,
        "inverted": synthetic_ood.inverted,
        "photographs": synthetic_ood.photographs,
    },
)

FAMILIES = {"cifar10": CIFAR, "cifar100": CIFAR, "svhn": CIFAR, "digits": DIGITS}
