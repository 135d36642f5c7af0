"""Synthetic outliers: images that belong to no class, generated from a batch of training images.

Outliers are labelled NONE. A one-vs-all network that is trained on them learns to reject unknown inputs::

    images, labels = add_outliers(images, labels)       # appends half as many outliers as there are images
    loss = ova_loss(network(images), labels)

Images are floats (N, C, H, W) in [0, 1], in any precision and on any device. Each kind is a function that returns as
many outliers as it is given images. All random numbers are drawn on the device of the images, without synchronisation,
so that a training step can be captured as a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from slova._backend import Array
from slova._validation import NONE_INDEX, check_images
from slova.vision.patches import reorder_patches

__all__ = [
    "MIX",
    "OUTLIERS",
    "Outlier",
    "add_outliers",
    "average",
    "collage",
    "low_pass",
    "permute_pixels",
    "sample_from",
    "shuffle_patches",
    "uniform",
    "zoom",
]

Outlier = Callable[[Tensor], Tensor]
KERNEL = 15  # pixels of the blur
MIN_BATCH = 4  # images that a kind is given at least, because some kinds mix several


def add_outliers(
    images: Tensor, labels: Tensor, *, share: float = 0.5, kinds: Sequence[Outlier] | None = None
) -> tuple[Tensor, Tensor]:
    """Append `share` times as many outliers as there are images, in equal parts of the kinds (`MIX` by default).

    Returns the images (N + M, C, H, W) and labels (N + M,); the last M labels are NONE.
    """
    _check_batch(images, labels)
    if not 0 <= share < math.inf:
        raise ValueError(f"share must be finite and not negative, got {share}")
    chosen = MIX if kinds is None else tuple(kinds)
    count = round(share * len(images))
    if not chosen or count < 1:
        return images, labels
    rows = torch.arange(count, device=images.device).tensor_split(len(chosen))
    outliers = torch.cat([_generate(kind, images, part) for kind, part in zip(chosen, rows, strict=True) if len(part)])
    return torch.cat([images, outliers.to(images)]), torch.cat([labels, labels.new_full((len(outliers),), NONE_INDEX)])


def _check_batch(images: Tensor, labels: Tensor) -> None:
    on_host = images.device.type == "cpu" and not torch.compiler.is_compiling()  # elsewhere it would synchronise
    check_images(images, "add outliers before normalising images", values=on_host)
    if labels.shape != images.shape[:1]:
        raise ValueError(f"labels {tuple(labels.shape)} do not match images {tuple(images.shape)}")
    if not labels.dtype.is_signed:
        raise TypeError(f"labels must have a dtype that can hold NONE ({NONE_INDEX}), got {labels.dtype}")


def _generate(kind: Outlier, images: Tensor, rows: Tensor) -> Tensor:
    """Outliers of one kind from these rows of the batch, wrapping around where there are fewer than `MIN_BATCH`."""
    shown = rows[0] + torch.arange(max(len(rows), MIN_BATCH), device=images.device)
    given = images[shown % len(images)]
    outliers = kind(given)
    if outliers.shape != given.shape:
        name, shapes = getattr(kind, "__name__", repr(kind)), f"{tuple(outliers.shape)} from {tuple(given.shape)}"
        raise ValueError(f"a kind must return as many images as it gets, of the same shape, but {name} made {shapes}")
    return outliers[: len(rows)]


def low_pass(images: Tensor) -> Tensor:
    """Smooth noise (Hein et al. 2019): half permuted pixels, half uniform noise, blurred and stretched to [0, 1].

    The width of the blur is one random number between 1 and 2.5 pixels per batch.
    """
    half = len(images) // 2
    noise = torch.cat([permute_pixels(images[:half]), torch.rand_like(images[half:])]).float()
    return _stretch(_blur(noise, 1 + 1.5 * torch.rand((), device=images.device))).to(images)


def uniform(images: Tensor) -> Tensor:
    """Uniform noise."""
    return torch.rand_like(images)


def permute_pixels(images: Tensor) -> Tensor:
    """Permute the pixels of each image; a pixel keeps its colour."""
    order = torch.rand(len(images), 1, images.shape[-1] * images.shape[-2], device=images.device).argsort(-1)
    return images.flatten(2).gather(2, order.expand(-1, images.shape[1], -1)).view_as(images)


def average(images: Tensor) -> Tensor:
    """The mean of each image and two other images of the batch, chosen at random."""
    return (images + sum(_others(images, 2))) / 3


def shuffle_patches(images: Tensor, size: int | None = None) -> Tensor:
    """Permute square patches of each image, which keeps its texture and not its shape.

    `size` is in pixels, a quarter of the shorter side by default; incomplete patches stay in place.
    """
    size = max(1, min(images.shape[-2:]) // 4) if size is None else size
    return reorder_patches(images, size, lambda count: torch.rand(len(images), count, device=images.device))


def zoom(images: Tensor) -> Tensor:
    """Enlarge a random crop, a sixth to a third of each side, to the whole image."""
    scale = _between(images, 1 / 6, 1 / 3)
    place = (2 * torch.rand(len(images), 2, device=images.device) - 1) * (1 - scale)
    crop = torch.cat([torch.diag_embed(scale.expand(-1, 2)), place[:, :, None]], dim=2)
    grid = functional.affine_grid(crop, list(images.shape), align_corners=False)
    return functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False).to(images)


def collage(images: Tensor) -> Tensor:
    """Join quarters of four images, which meet at a random point near the centre."""
    height, width = images.shape[-2:]
    across = torch.arange(width, device=images.device) < width * _between(images, 0.3, 0.7)
    down = torch.arange(height, device=images.device) < height * _between(images, 0.3, 0.7)
    left, above = across[:, None, None, :], down[:, None, :, None]
    others = _others(images, 3)
    return torch.where(above, torch.where(left, images, others[0]), torch.where(left, others[1], others[2]))


def sample_from(pool: Array) -> Outlier:
    """A kind that samples real outliers from a pool (M, C, H, W) of uint8, or floats in [0, 1].

    The pool must be on the device of the batches. It is validated here, once: call this before the training loop.
    """
    source = _check_pool(pool)

    def sample(images: Tensor) -> Tensor:
        chosen = source[torch.randint(len(source), (len(images),), device=images.device)]
        return chosen / 255 if chosen.dtype == torch.uint8 else chosen

    return sample


def _check_pool(pool: Array) -> Tensor:
    found = torch.from_numpy(np.require(pool, requirements=["C", "W"])) if isinstance(pool, np.ndarray) else pool
    if not isinstance(found, Tensor):
        raise TypeError(f"pool must be a tensor or a numpy array, got {type(pool).__name__}")
    if found.ndim != 4 or not found.numel():
        raise ValueError(f"pool must contain at least one image, as (M, C, H, W), got {tuple(found.shape)}")
    if found.dtype != torch.uint8:
        captured = found.is_cuda and torch.cuda.is_current_stream_capturing()
        advice = "a pool of 0 to 255 must be uint8, or divided by 255"
        check_images(found, advice, values=not torch.compiler.is_compiling() and not captured)
    return found


def _between(images: Tensor, low: float, high: float) -> Tensor:
    """One random number per image."""
    return low + (high - low) * torch.rand(len(images), 1, device=images.device)


def _others(images: Tensor, count: int) -> list[Tensor]:
    """For each image `count` others of the batch, all different if the batch is large enough: the batch shifted by
    random numbers of rows."""
    rows = torch.arange(len(images), device=images.device)
    shifts = 1 + torch.rand(max(1, len(images) - 1), device=images.device).argsort()
    return [images[(rows + shifts[index % len(shifts)]) % len(images)] for index in range(count)]


def _blur(images: Tensor, width: Tensor) -> Tensor:
    size = min(KERNEL, 2 * min(images.shape[-2:]) + 1)  # a reflection cannot be longer than the image
    offsets = torch.arange(size, device=images.device) - size // 2
    kernel = torch.softmax(-(offsets**2) / (2 * width**2), dim=0)
    rows = kernel.view(1, 1, -1, 1).repeat(images.shape[1], 1, 1, 1)
    padded = _reflect(_reflect(images, size // 2).mT, size // 2).mT
    blurred = functional.conv2d(padded, rows, groups=images.shape[1])
    return functional.conv2d(blurred, rows.mT, groups=images.shape[1])


def _reflect(images: Tensor, length: int) -> Tensor:
    """Pad columns on both sides by reflection; the column at the edge is repeated."""
    return torch.cat([images[..., :length].flip(-1), images, images[..., -length:].flip(-1)], dim=-1)


def _stretch(images: Tensor) -> Tensor:
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return (images - low) / (high - low).clamp_min(1e-6)  # an image of one colour becomes black


OUTLIERS: tuple[Outlier, ...] = (low_pass, permute_pixels, uniform, average, shuffle_patches, zoom, collage)

# Chosen on validation data: training on permuted pixels makes uniform noise unnecessary, but not vice versa.
MIX: tuple[Outlier, ...] = (low_pass, permute_pixels, average, shuffle_patches, zoom, collage)
