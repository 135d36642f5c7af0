"""Synthetic outliers: images that belong to no class, generated from a batch of training images.

Outliers are labelled NONE. A one-vs-all network that is trained on them learns to reject unknown inputs.

Images are floats (N, C, H, W) in [0, 1], in any precision and on any device. Each kind is a function that returns as
many outliers as it is given images, from the images and a random generator. Without a generator the numbers are drawn
on the device of the images, without synchronisation, so that a training step can be captured as a CUDA graph.

`TRAINING_OUTLIERS` are for training. Those for the calibration fit and for choosing between models are in
`held_out_outliers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

from slova._backend import Array
from slova._batches import can_be_read
from slova._validation import NONE_INDEX
from slova.vision import draws
from slova.vision.checks import check_image_labels, check_images, check_kinds, check_number
from slova.vision.patches import reorder_patches

__all__ = [
    "TRAINING_OUTLIERS",
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

Outlier = Callable[[Tensor, Generator | None], Tensor]
KERNEL = 15  # pixels of the blur
MIN_BATCH = 4  # images that a kind is given at least, because some kinds mix several


def add_outliers(
    images: Tensor, labels: Tensor, *, share: float = 0.5, kinds: Sequence[Outlier] | None = None
) -> tuple[Tensor, Tensor]:
    """Append `share` times as many outliers as there are images, in equal parts of the kinds (`TRAINING_OUTLIERS`).

    Returns the images (N + M, C, H, W) and labels (N + M,); the last M labels are NONE.

    >>> images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    >>> more, truth = add_outliers(images, labels)                      # half as many outliers as there are images
    >>> more.shape, truth
    (torch.Size([12, 3, 32, 32]), tensor([ 0,  1,  2,  3,  4,  5,  6,  7, -1, -1, -1, -1]))
    >>> len(add_outliers(images, labels, share=1.0, kinds=[uniform])[0])       # noise only
    16
    >>> [kind.__name__ for kind in TRAINING_OUTLIERS]
    ['low_pass', 'permute_pixels', 'average', 'shuffle_patches', 'zoom', 'collage']
    """
    check_images(images, "add outliers before normalising images", values=can_be_read(images))
    check_image_labels(labels, images)
    check_number(share, "share")
    if not 0 <= share < math.inf:
        raise ValueError(f"share must be finite and not negative, got {share}")
    chosen = TRAINING_OUTLIERS if kinds is None else check_kinds(kinds, "kinds")
    count = round(share * len(images))
    if not chosen or count < 1:
        return images, labels
    rows = torch.arange(count, device=images.device).tensor_split(len(chosen))
    outliers = torch.cat([_generate(kind, images, part) for kind, part in zip(chosen, rows, strict=True) if len(part)])
    return torch.cat([images, outliers.to(images)]), torch.cat([labels, labels.new_full((len(outliers),), NONE_INDEX)])


def _generate(kind: Outlier, images: Tensor, rows: Tensor) -> Tensor:
    """Outliers of one kind from these rows of the batch, wrapping around where there are fewer than `MIN_BATCH`."""
    shown = rows[0] + torch.arange(max(len(rows), MIN_BATCH), device=images.device)
    return apply_kind(kind, images[shown % len(images)], None)[: len(rows)]


def apply_kind(kind: Outlier, images: Tensor, generator: Generator | None) -> Tensor:
    """What the kind makes of the images, which must be as many images of the same shape."""
    made = kind(images, generator)
    if made.shape != images.shape:
        name, shapes = getattr(kind, "__name__", repr(kind)), f"{tuple(made.shape)} from {tuple(images.shape)}"
        raise ValueError(f"a kind must return as many images as it gets, of the same shape, but {name} made {shapes}")
    return made


def low_pass(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Smooth noise (Hein et al. 2019): half permuted pixels, half uniform noise, blurred and stretched to [0, 1].

    The width of the blur is one random number between 1 and 2.5 pixels per batch.
    """
    half = len(images) // 2
    noise = torch.cat([permute_pixels(images[:half], generator), draws.noise_like(images[half:], generator)]).float()
    return _stretch(_blur(noise, 1 + 1.5 * draws.rand((), images, generator))).to(images)


def uniform(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Uniform noise."""
    return draws.noise_like(images, generator)


def permute_pixels(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Permute the pixels of each image; a pixel keeps its colour."""
    order = draws.uniform(images, generator, 1, images.shape[-1] * images.shape[-2]).argsort(-1)
    return images.flatten(2).gather(2, order.expand(-1, images.shape[1], -1)).view_as(images)


def average(images: Tensor, generator: Generator | None = None) -> Tensor:
    """The mean of each image and two other images of the batch, chosen at random."""
    return (images + sum(_others(images, generator, 2))) / 3


def shuffle_patches(images: Tensor, generator: Generator | None = None, *, size: int | None = None) -> Tensor:
    """Permute square patches of each image, which keeps its texture and not its shape.

    `size` is in pixels, a quarter of the shorter side by default; incomplete patches stay in place.
    """
    size = max(1, min(images.shape[-2:]) // 4) if size is None else size
    return reorder_patches(images, size, lambda count: draws.uniform(images, generator, count))


def zoom(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Enlarge a random crop, a sixth to a third of each side, to the whole image."""
    scale = _between(images, generator, 1 / 6, 1 / 3)
    place = (2 * draws.uniform(images, generator, 2) - 1) * (1 - scale)
    crop = torch.cat([torch.diag_embed(scale.expand(-1, 2)), place[:, :, None]], dim=2)
    grid = functional.affine_grid(crop, list(images.shape), align_corners=False)
    return functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False).to(images)


def collage(images: Tensor, generator: Generator | None = None) -> Tensor:
    """Join quarters of four images, which meet at a random point near the centre."""
    height, width = images.shape[-2:]
    across = torch.arange(width, device=images.device) < width * _between(images, generator, 0.3, 0.7)
    down = torch.arange(height, device=images.device) < height * _between(images, generator, 0.3, 0.7)
    left, above = across[:, None, None, :], down[:, None, :, None]
    others = _others(images, generator, 3)
    return torch.where(above, torch.where(left, images, others[0]), torch.where(left, others[1], others[2]))


def sample_from(pool: Array) -> Outlier:
    """A kind that samples real outliers from a pool (M, C, H, W) of uint8, or floats in [0, 1].

    The pool must be on the device of the batches. It is validated here, once: call this before the training loop.

    >>> images, labels = torch.rand(8, 3, 32, 32), torch.arange(8)
    >>> photographs = sample_from(torch.rand(100, 3, 32, 32))
    >>> len(add_outliers(images, labels, kinds=[photographs])[0])
    12
    """
    source = _check_pool(pool)

    def sample(images: Tensor, generator: Generator | None = None) -> Tensor:
        home = images.device if generator is None else generator.device
        places = torch.randint(len(source), (len(images),), generator=generator, device=home)
        chosen = source[places.to(images.device)]
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
        values = not torch.compiler.is_compiling() and not captured
        check_images(found, advice, values=values, advice_on_bytes=advice)
    return found


def _between(images: Tensor, generator: Generator | None, low: float, high: float) -> Tensor:
    """One random number per image."""
    return low + (high - low) * draws.uniform(images, generator, 1)


def _others(images: Tensor, generator: Generator | None, count: int) -> list[Tensor]:
    """For each image `count` others of the batch, all different if the batch is large enough: the batch shifted by
    random numbers of rows."""
    rows = torch.arange(len(images), device=images.device)
    shifts = 1 + draws.permutation(max(1, len(images) - 1), images, generator)
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


# Chosen on validation data: training on permuted pixels makes uniform noise unnecessary, but not vice versa.
TRAINING_OUTLIERS: tuple[Outlier, ...] = (low_pass, permute_pixels, average, shuffle_patches, zoom, collage)
