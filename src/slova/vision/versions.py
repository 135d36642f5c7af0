"""Reads a validation set once: each batch as it is, degraded, and as synthetic images of no class."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from slova._batches import Batch, cast_inputs, run_network
from slova._warnings import CalibrationWarning, warnings_at_caller
from slova.vision.degradations import degrade
from slova.vision.features import find_member_layers
from slova.vision.held_out_degradations import CALIBRATION_DEGRADATIONS
from slova.vision.held_out_outliers import CALIBRATION_OUTLIERS
from slova.vision.outliers import apply_kind
from slova.vision.passes import check_layers, find_images, replace_input, run_passes
from slova.vision.shift_aware import Outputs, ShiftOptions

__all__ = ["VersionReader"]

ROUNDING = 0.02  # by which images may leave [0, 1] when their normalisation is undone
PARTNERS = 8  # images that a kind of outliers is given if there are as many, because some mix several
REMEDY = "give normalize=(mean, std) if they are normalised, or shift_aware=False"


class VersionReader:
    """Reads batches and keeps logits and channels on the host: `clean`, `degraded`, `synthetic`, and `none`, inputs of
    no class that were given. `layers` are found in the first batch; they are empty where there are no distances, and
    `off` says why if the inputs are images."""

    def __init__(self, network: nn.Module, options: ShiftOptions, *, synthetic: bool, seed: int) -> None:
        self.network, self.options, self.wants_synthetic, self.seed = network, options, synthetic, seed
        self.layers: tuple[str, ...] = ()
        self.members = 1  # over which the distances in these layers are averaged
        self.off = ""
        self.images = False  # floats in [0, 1], of which versions are made
        self.parts: dict[str, list[Outputs]] = {"clean": [], "degraded": [], "synthetic": [], "none": []}
        self.count = 0
        self.partners: Tensor | None = None

    def __call__(self, batch: Batch) -> tuple[Tensor, None]:
        """The logits of the batch as it is."""
        if not self.count:
            self._start(batch)
        given = self._given(batch)
        logits = self._read("clean", batch)
        if given is not None:
            self._read_versions(batch, given)
        self.count += len(logits)
        return logits, None

    def read_none(self, batch: Batch) -> tuple[Tensor, None]:
        """The same for inputs of no class."""
        return self._read("none", batch), None

    def of(self, kind: str) -> Outputs | None:
        """All rows of a kind, or None."""
        return Outputs.joined(self.parts[kind]) if self.parts[kind] else None

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The least and the largest value that images of this fit can have: 0 and 1, or what `normalize` makes of them;
        None of other inputs."""
        if not self.images or self.options.normalize is None:
            return (0.0, 1.0) if self.images else None
        mean, std = (torch.as_tensor(part, dtype=torch.float32).cpu().flatten() for part in self.options.normalize)
        ends = torch.stack([-mean / std, (1 - mean) / std])
        return (float(ends.min()), float(ends.max())) if ends.isfinite().all() else None

    def _start(self, batch: Batch) -> None:
        if self.options.shift_aware is False:
            return
        check_layers(self.network, self.options.names)
        self.layers = self.options.names
        images = find_images(batch)
        self.images = images is not None and images.is_floating_point() and images.shape[1] in (1, 3)
        if images is not None and not images.is_floating_point() and not self.layers and not self.options.shift_aware:
            self.off = "images are not floats"
            error = f"images must be floats in [0, 1], got {images.dtype}"
            _warn(f"{error}; divide them by their largest value, or give shift_aware=False")
        if not self.images and not self.layers and self.options.shift_aware:
            raise ValueError(
                "shift_aware=True needs images, floats (N, C, H, W) of 1 or 3 channels, as the first input, or layers="
            )
        if self.images and not self.layers:
            two = tuple(map(_two, batch[0])), {name: _two(part) for name, part in batch[1].items()}
            positional, named = cast_inputs(self.network, two)
            self.layers, self.members = find_member_layers(self.network, *positional, **named)
            if not self.layers:
                self._turn_off(
                    "no layer with channels", "the network has no layer with outputs (N, C, H, W) or (N, T, C)"
                )

    def _turn_off(self, reason: str, error: str) -> None:
        if self.options.shift_aware:
            raise ValueError(f"shift_aware=True is not possible: {error}")
        self.images, self.layers, self.members, self.off = False, self.options.names, 1, reason
        clean = [part if self.layers else part._replace(channels=[]) for part in self.parts["clean"]]
        self.parts = {"clean": clean, "degraded": [], "synthetic": [], "none": []}

    def _given(self, batch: Batch) -> Tensor | None:
        """What versions are made of: images in [0, 1], or the first input; None without versions."""
        if self.images:
            images = self._undone(find_images(batch))
            low, high = float(images.min()), float(images.max())
            if low >= -ROUNDING and high <= 1 + ROUNDING:
                return images.clamp(0, 1)
            error = f"images must lie in [0, 1], got values from {low:.3g} to {high:.3g}"
            if self.options.normalize is not None:
                raise ValueError(f"{error} when `normalize` is undone")
            self._turn_off("images outside [0, 1]", error)
            _warn(f"{error}; {REMEDY}")
        if self.layers and self.options.degrade is not None:
            first: Tensor = _first(batch)
            return first
        return None

    def _read_versions(self, batch: Batch, given: Tensor) -> None:
        old: Any = find_images(batch) if self.images else _first(batch)
        seed = self.seed + self.count
        change: Any = self.options.degrade or partial(degrade, kinds=CALIBRATION_DEGRADATIONS)
        self._read("degraded", replace_input(batch, old, self._redone(change(given, seed=seed), old)))
        if self.images and self.wants_synthetic:
            made = self._synthetic(given, seed)
            if made is not None:
                self._read("synthetic", replace_input(batch, old, self._redone(made, old)))

    def _synthetic(self, images: Tensor, seed: int) -> Tensor | None:
        """As many images of no class, each of a kind chosen at random; None if there is one image only."""
        kept = images[:0] if self.partners is None else self.partners
        pool = torch.cat([images, kept])[: max(len(images), PARTNERS)]
        self.partners = pool[-PARTNERS:]
        if len(pool) < 2:
            return None
        generator = torch.Generator().manual_seed(seed)
        numbers = torch.randperm(len(images), generator=generator).to(images.device) % len(CALIBRATION_OUTLIERS)
        made = torch.zeros_like(images)
        for number, kind in enumerate(CALIBRATION_OUTLIERS):
            chosen = (numbers == number)[:, None, None, None]
            made = torch.where(chosen, apply_kind(kind, pool, generator)[: len(images)].to(made), made)
        return made.clamp(0, 1)

    def _read(self, kind: str, batch: Batch) -> Tensor:
        """Runs the network, and keeps the rows."""
        run = partial(run_network, self.network)
        logits, channels = run_passes(self.network, batch, run, self.layers, self.options.views)
        logits = logits.float().cpu()
        found = [channels[name].float().cpu().numpy() for name in self.layers]
        self.parts[kind].append(Outputs(logits.numpy(), found, self.count + np.arange(len(logits))))
        return logits

    def _undone(self, images: Tensor | None) -> Tensor:
        assert images is not None
        if self.options.normalize is None:
            return images.float()
        mean, std = (_per_channel(part, images) for part in self.options.normalize)
        return images.float() * std + mean

    def _redone(self, images: Tensor, like: Tensor) -> Tensor:
        if not self.images or self.options.normalize is None:
            return images.to(like)
        mean, std = (_per_channel(part, like) for part in self.options.normalize)
        return ((images - mean) / std).to(like)


def _warn(reason: str) -> None:
    with warnings_at_caller():
        warnings.warn(f"the fit is not distance-aware: {reason}", CalibrationWarning, stacklevel=2)


def _per_channel(values: Any, images: Tensor) -> Tensor:
    found = torch.as_tensor(values, dtype=torch.float32, device=images.device).flatten()
    if len(found) not in (1, images.shape[1]):
        raise ValueError(f"normalize must hold one number per channel, got {len(found)} for {images.shape[1]} channels")
    return found[:, None, None]


def _first(batch: Batch) -> Any:
    return next(iter((*batch[0], *batch[1].values())))


def _two(part: Any) -> Any:
    return part[:2] if isinstance(part, Tensor) and part.ndim else part
