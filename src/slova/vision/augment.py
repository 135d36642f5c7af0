"""Augmentation for one training that prepares a network for clean, shifted and unknown images.

Some of the images are degraded, some are mixed, all of them keep their labels, and outliers are appended with the label
NONE. All random numbers are drawn on the device of the images, without synchronisation, so that a training step can be
captured as a CUDA graph. The kinds of degradations and outliers are those for training; a calibration fit and the
choice between models use others (`held_out_degradations`, `held_out_outliers`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from slova._batches import can_be_read
from slova._validation import NONE_INDEX
from slova.vision import draws
from slova.vision.checks import DIVIDE, check_image_labels, check_images, check_kinds, check_number
from slova.vision.degradations import TRAINING_DEGRADATIONS, Degradation
from slova.vision.mixtures import TRAINING_MIXTURES
from slova.vision.outliers import MIN_BATCH, TRAINING_OUTLIERS, Outlier, apply_kind

__all__ = ["augment"]

Channels = float | Sequence[float] | Tensor
USUAL: dict[str, Sequence[Degradation | Outlier]] = {
    "degradations": TRAINING_DEGRADATIONS,
    "mixtures": TRAINING_MIXTURES,
    "outlier_kinds": TRAINING_OUTLIERS,
}
SLACK = 1e-6  # by which a sum of shares may exceed 1
ROUNDING = 0.02  # by which normalised images in half precision may leave [0, 1]


def augment(
    images: Tensor,
    labels: Tensor,
    *,
    degraded: float = 0.25,
    mixed: float = 0.5,
    outliers: float = 0.5,
    degradations: Sequence[Degradation] | None = None,
    mixtures: Sequence[Degradation] | None = None,
    outlier_kinds: Sequence[Outlier] | None = None,
    normalize: tuple[Channels, Channels] | None = None,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Degrade and mix some images of a batch and append outliers: images (N + M, C, H, W) and labels (N + M,).

    - `degraded`: the share of images that are degraded, chosen at random; they keep their labels, as mixed ones do;
    - `mixed`: the share, of others, that are mixed with changed versions of themselves (AugMix) or fractals (PixMix);
    - `outliers`: M / N; outliers are made from the images as they were given, and have the label NONE;
    - `degradations`, `mixtures`, `outlier_kinds`: by default `TRAINING_DEGRADATIONS` and so on, each as likely;
    - `normalize`: mean and standard deviation of images that are normalised already; other images are in [0, 1];
    - `generator`: on the device of the images; by default the one that `torch.manual_seed` sets.

    A batch must have at least four images, because some outliers mix as many; smaller ones give poorer outliers.

    >>> more, truth = augment(torch.rand(8, 3, 32, 32), torch.arange(8))
    >>> more.shape, truth
    (torch.Size([12, 3, 32, 32]), tensor([ 0,  1,  2,  3,  4,  5,  6,  7, -1, -1, -1, -1]))
    """
    check_images(images, "", values=False)
    check_image_labels(labels, images)
    _check_options(degraded, mixed, outliers, generator, images.device)
    chosen = zip((degradations, mixtures, outlier_kinds), USUAL.items(), strict=True)
    kinds = [usual if given is None else check_kinds(given, name) for given, (name, usual) in chosen]
    with torch.autocast(images.device.type, enabled=False):
        mean, std = (0.0, 1.0) if normalize is None else _check_normalize(normalize, images)
        pixels = _in_unit_range(images.float() * std + mean, normalized=normalize is not None)
        made = _make_all(kinds, pixels, (degraded, mixed, outliers), generator)
        worse, mixes, none = (((new.clamp(0, 1) - mean) / std).to(images) for new, _ in made)
        whole = torch.cat([images.index_copy(0, made[1][1], mixes).index_copy(0, made[0][1], worse), none])
    return whole, torch.cat([labels, labels.new_full((len(none),), NONE_INDEX)])


def _make_all(
    kinds: Sequence[Sequence[Degradation | Outlier]],
    images: Tensor,
    shares: tuple[float, float, float],
    generator: Generator | None,
) -> list[tuple[Tensor, Tensor]]:
    """Degraded images, mixed ones and outliers, each with the rows they are made of; no image is degraded and mixed."""
    worse, mixed, none = (round(share * len(images)) for share in shares)
    order, other = (draws.permutation(len(images), images, generator) for _ in range(2))
    orders = ((order, worse), (order.roll(-worse), mixed), (other, none))
    return [_make(kind, images, *one, generator) for kind, one in zip(kinds, orders, strict=True)]


def _make(
    kinds: Sequence[Degradation | Outlier], images: Tensor, order: Tensor, count: int, generator: Generator | None
) -> tuple[Tensor, Tensor]:
    """`count` images that the kinds make from images in this order, and the rows of these (distinct up to N).

    Each kind makes one part of them. Which one is drawn on the device, so that each kind is as likely where there are
    fewer images than kinds; what the kinds make beyond `count` is not used.
    """
    if not kinds or not count * len(images):
        return images[:0], torch.arange(0, device=images.device)
    size = math.ceil(count / len(kinds))
    first = (draws.rand((), images, generator) * len(kinds)).long()
    shown = torch.arange(max(size, MIN_BATCH), device=images.device)
    parts = [order[((first + turn) % len(kinds) * size + shown) % len(images)] for turn in range(len(kinds))]
    made = [apply_kind(kind, images[rows], generator)[:size] for kind, rows in zip(kinds, parts, strict=True)]
    slots = (torch.arange(len(kinds) * size, device=images.device) - first * size) % (len(kinds) * size)
    found = torch.cat(made).float()[slots][:count]
    return found, order[torch.arange(count, device=images.device) % len(images)]


def _in_unit_range(images: Tensor, *, normalized: bool) -> Tensor:
    if normalized:
        advice = "normalize must be what they were normalised by"
        on_bytes = f"{advice}, and images of 0 to 255 be divided by 255 before"
    else:
        advice, on_bytes = "pass normalize=(mean, std)", DIVIDE
    slack = ROUNDING if normalized else 0.0
    check_images(images, advice, values=can_be_read(images), slack=slack, advice_on_bytes=on_bytes)
    return images.clamp(0, 1).contiguous()


def _check_options(
    degraded: float, mixed: float, outliers: float, generator: Generator | None, device: torch.device
) -> None:
    check_number(outliers, "outliers")
    for name, share in (("degraded", degraded), ("mixed", mixed)):
        check_number(share, name)
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be a share in [0, 1], got {share}")
    if degraded + mixed > 1 + SLACK:
        raise ValueError(f"degraded + mixed must be at most 1, got {degraded} and {mixed}; mixed=0 mixes no images")
    if not 0 <= outliers < math.inf:
        raise ValueError(f"outliers must be finite and not negative, got {outliers}")
    if generator is None:
        return
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be a torch.Generator, got {type(generator).__name__}")
    places = {device.index, generator.device.index} - {None}  # "cuda" without a number is the current one
    if generator.device.type != device.type or len(places) > 1:
        raise ValueError(f"generator must be on the device of the images, {device}, got {generator.device}")


def _check_normalize(normalize: tuple[Channels, Channels], images: Tensor) -> tuple[Tensor, Tensor]:
    if len(normalize) != 2:
        raise ValueError(f"normalize must be (mean, std), got {len(normalize)} values")
    mean, std = (_per_channel(values, images) for values in normalize)
    if can_be_read(images) and not bool((std > 0).all()):
        raise ValueError(f"the standard deviations of normalize must be positive, got {std.flatten().tolist()}")
    return mean, std


def _per_channel(values: Channels, images: Tensor) -> Tensor:
    """(C, 1, 1) on the device of the images, without a copy from the host, which cannot be captured."""
    if isinstance(values, Tensor) and values.device == images.device:
        found = values.float().reshape(-1)
    else:
        numbers = [values] if isinstance(values, int | float) else [float(value) for value in values]
        found = torch.cat([torch.full((1,), number, device=images.device) for number in numbers])
    if len(found) not in (1, images.shape[1]):
        raise ValueError(f"normalize must have one value per channel ({images.shape[1]}), got {len(found)}")
    return found.view(-1, 1, 1)
