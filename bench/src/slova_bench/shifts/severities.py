"""The shifts of each data set, with their strengths at severities 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from slova._backend import Array
from slova_bench.shifts import blur, digital, digits, noise, synthetic_ood, weather
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.spatter import Liquid, spatter
from slova_bench.shifts.weather import Snowfall

__all__ = ["CIFAR", "DIGITS", "Family", "Shift", "family"]


class Shift(NamedTuple):
    """`change(images, rng, strength)` and its strength at severities 1 to 5."""

    change: Callable[[Array, PerImageRng, Any], Array]
    strengths: tuple[Any, Any, Any, Any, Any]


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


CIFAR = Family(
    shape=(3, 32, 32),
    shifts={
        "gaussian_noise": Shift(noise.gaussian_noise, (0.04, 0.06, 0.08, 0.09, 0.10)),
        "shot_noise": Shift(noise.shot_noise, (500, 250, 100, 75, 50)),
        "impulse_noise": Shift(noise.impulse_noise, (0.01, 0.02, 0.03, 0.05, 0.07)),
        "speckle_noise": Shift(noise.speckle_noise, (0.06, 0.1, 0.12, 0.16, 0.2)),
        "gaussian_blur": Shift(blur.gaussian_blur, (0.4, 0.6, 0.7, 0.8, 1)),
        "defocus_blur": Shift(blur.defocus_blur, ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))),
        "glass_blur": Shift(blur.glass_blur, ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))),
        "motion_blur": Shift(blur.motion_blur, ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))),
        "zoom_blur": Shift(blur.zoom_blur, (1.06, 1.11, 1.16, 1.21, 1.26)),
        "snow": Shift(
            weather.snow,
            (
                Snowfall(0.1, 0.2, 1, 0.6, 8, 3, 0.95),
                Snowfall(0.1, 0.2, 1, 0.5, 10, 4, 0.9),
                Snowfall(0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
                Snowfall(0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
                Snowfall(0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
            ),
        ),
        "frost": Shift(weather.frost, ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))),
        "fog": Shift(weather.fog, ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))),
        "brightness": Shift(digital.brightness, (0.05, 0.1, 0.15, 0.2, 0.3)),
        "contrast": Shift(digital.contrast, (0.75, 0.5, 0.4, 0.3, 0.15)),
        "elastic_transform": Shift(
            digital.elastic_transform,
            ((0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2, 0.96, 0.96)),
        ),
        "pixelate": Shift(digital.pixelate, (0.95, 0.9, 0.85, 0.75, 0.65)),
        "jpeg_compression": Shift(digital.jpeg_compression, (80, 65, 58, 50, 40)),
        "spatter": Shift(
            spatter,
            (
                Liquid(0.62, 0.1, 0.7, 0.7, 0.5, False),
                Liquid(0.65, 0.1, 0.8, 0.7, 0.5, False),
                Liquid(0.65, 0.3, 1, 0.69, 0.5, False),
                Liquid(0.65, 0.1, 0.7, 0.69, 0.6, True),
                Liquid(0.65, 0.1, 0.5, 0.68, 0.6, True),
            ),
        ),
        "saturate": Shift(digital.saturate, ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))),
    },
    ood={"uniform": synthetic_ood.uniform, "permuted": synthetic_ood.permuted, "low_pass": synthetic_ood.low_pass},
)

DIGITS = Family(
    shape=(1, 8, 8),
    shifts={
        "gaussian_noise": Shift(noise.gaussian_noise, (0.1, 0.2, 0.3, 0.4, 0.5)),
        "impulse_noise": Shift(noise.impulse_noise, (0.03, 0.06, 0.1, 0.15, 0.2)),
        "gaussian_blur": Shift(blur.gaussian_blur, (0.4, 0.6, 0.8, 1, 1.3)),
        "contrast": Shift(digital.contrast, (0.75, 0.5, 0.4, 0.3, 0.15)),
        "translation": Shift(digits.translation, (0.5, 1, 1.5, 2, 2.5)),
        "rotation": Shift(digits.rotation, (10, 20, 30, 40, 50)),
        "occlusion": Shift(digits.occlusion, (2, 3, 4, 5, 6)),
    },
    ood={
        "uniform": synthetic_ood.uniform,
        "permuted": synthetic_ood.permuted,
        "inverted": synthetic_ood.inverted,
        "photographs": synthetic_ood.photographs,
    },
)

FAMILIES = {"cifar10": CIFAR, "cifar100": CIFAR, "svhn": CIFAR, "digits": DIGITS}
