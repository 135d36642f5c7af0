"""Images that belong to no class, made from a batch of training images: labelled NONE, they teach a one-vs-all network
what it does not know.

    images, labels = with_outliers(images, labels)      # half as many outliers as images, at the end of the batch
    loss = ova_loss(network(images), labels)

Images are floats (N, C, H, W) of [0, 1], in any precision and on any device. Each kind gives as many outliers as it is
given images, from random numbers of that device alone: nothing waits for the host, so that a step can be a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from slova._backend import Array
from slova.heads import NONE
from slova.vision.patches import check_images, reordered

__all__ = [
    "KINDS",
    "MIX",
    "averaged",
    "drawn_from",
    "enlarged",
    "low_pass",
    "pasted",
    "permuted",
    "shuffled",
    "uniform",
    "with_outliers",
]

Kind = Callable[[Tensor], Tensor]
KERNEL = 15  # pixels of the blur
FEWEST = 4  # images to cut one together from


def with_outliers(
    images: Tensor, labels: Tensor, *, share: float = 0.5, kinds: Sequence[Kind] | None = None
) -> tuple[Tensor, Tensor]:
    """The batch with `share` times as many outliers behind it, in equal parts of the kinds (`MIX`), labelled NONE."""
    _check(images, labels)
    if not 0 <= share < math.inf:
        raise ValueError(f"share must be finite and not negative, got {share}")
    chosen = MIX if kinds is None else tuple(kinds)
    count = round(share * len(images))
    if not chosen or count < 1:
        return images, labels
    rows = torch.arange(count, device=images.device).tensor_split(len(chosen))
    made = torch.cat([_made(kind, images, own) for kind, own in zip(chosen, rows, strict=True) if len(own)])
    return torch.cat([images, made.to(images)]), torch.cat([labels, labels.new_full((len(made),), NONE)])


def _check(images: Tensor, labels: Tensor) -> None:
    looked_at = images.device.type == "cpu" and not torch.compiler.is_compiling()  # elsewhere it would wait
    check_images(images, "make outliers before they are normalised", values=looked_at)
    if labels.shape != images.shape[:1]:
        raise ValueError(f"labels {tuple(labels.shape)} do not match images {tuple(images.shape)}")
    if not labels.dtype.is_signed:
        raise TypeError(f"labels want a type that can hold NONE ({NONE}), got {labels.dtype}")


def _made(kind: Kind, images: Tensor, rows: Tensor) -> Tensor:
    """Outliers of a kind from these rows of the batch, again from its first where there are too few. A kind that mixes
    images is shown at least four."""
    shown = rows[0] + torch.arange(max(len(rows), FEWEST), device=images.device)
    given = images[shown % len(images)]
    found = kind(given)
    if found.shape != given.shape:
        name, shapes = getattr(kind, "__name__", repr(kind)), f"{tuple(found.shape)} from {tuple(given.shape)}"
        raise ValueError(f"a kind gives as many images as it is given, of the same shape, but {name} made {shapes}")
    return found[: len(rows)]


def low_pass(images: Tensor) -> Tensor:
    """Smooth noise (Hein et al. 2019): one half the pixels of the images, permuted, one half uniform, all blurred by
    one random width of 1 to 2.5 pixels a batch, and each stretched to [0, 1]."""
    half = len(images) // 2
    noise = torch.cat([permuted(images[:half]), torch.rand_like(images[half:])]).float()
    return _stretched(_blurred(noise, 1 + 1.5 * torch.rand((), device=images.device))).to(images)


def uniform(images: Tensor) -> Tensor:
    """Noise without any structure."""
    return torch.rand_like(images)


def permuted(images: Tensor) -> Tensor:
    """Pixel positions permuted, each image in its own way; a pixel keeps its colour."""
    order = torch.rand(len(images), 1, images.shape[-1] * images.shape[-2], device=images.device).argsort(-1)
    return images.flatten(2).gather(2, order.expand(-1, images.shape[1], -1)).view_as(images)


def averaged(images: Tensor) -> Tensor:
    """The mean of each image and two more of the batch, drawn at random: something of three classes, and of none."""
    return (images + sum(_others(images, 2))) / 3


def shuffled(images: Tensor, size: int | None = None) -> Tensor:
    """Square patches of each image in another order: its texture without its shape. A patch is a quarter of the side
    unless told; what does not fill one stays where it is."""
    size = max(1, min(images.shape[-2:]) // 4) if size is None else size
    return reordered(images, size, lambda count: torch.rand(len(images), count, device=images.device))


def enlarged(images: Tensor) -> Tensor:
    """A sixth to a third of each side, from a random place, blown up to the whole image."""
    scale = _between(images, 1 / 6, 1 / 3)
    place = (2 * torch.rand(len(images), 2, device=images.device) - 1) * (1 - scale)
    crop = torch.cat([torch.diag_embed(scale.expand(-1, 2)), place[:, :, None]], dim=2)
    grid = functional.affine_grid(crop, list(images.shape), align_corners=False)
    return functional.grid_sample(images.float(), grid, padding_mode="border", align_corners=False).to(images)


def pasted(images: Tensor) -> Tensor:
    """Four quarters of four images, which meet at a random point near the middle."""
    height, width = images.shape[-2:]
    across = torch.arange(width, device=images.device) < width * _between(images, 0.3, 0.7)
    down = torch.arange(height, device=images.device) < height * _between(images, 0.3, 0.7)
    left, above = across[:, None, None, :], down[:, None, :, None]
    others = _others(images, 3)
    return torch.where(above, torch.where(left, images, others[0]), torch.where(left, others[1], others[2]))


def drawn_from(pool: Array) -> Kind:
    """Real outliers, where one has some: images drawn at random from a pool (M, C, H, W), bytes or floats of [0, 1],
    which lies on the device of the batch. The pool is looked through here, once, so make the kind before the loop."""
    source = _checked_pool(pool)

    def drawn(images: Tensor) -> Tensor:
        chosen = source[torch.randint(len(source), (len(images),), device=images.device)]
        return chosen / 255 if chosen.dtype == torch.uint8 else chosen

    return drawn


def _checked_pool(pool: Array) -> Tensor:
    found = torch.from_numpy(np.require(pool, requirements=["C", "W"])) if isinstance(pool, np.ndarray) else pool
    if not isinstance(found, Tensor):
        raise TypeError(f"a pool wants to be a tensor or a numpy array, got {type(pool).__name__}")
    if found.ndim != 4 or not found.numel():
        raise ValueError(f"a pool wants at least one image, as (M, C, H, W), got {tuple(found.shape)}")
    if found.dtype != torch.uint8:
        recorded = found.is_cuda and torch.cuda.is_current_stream_capturing()
        looked_at = not torch.compiler.is_compiling() and not recorded
        check_images(found, "a pool of 0 to 255 wants to be uint8, or divided by 255", values=looked_at)
    return found


def _between(images: Tensor, low: float, high: float) -> Tensor:
    """A number an image."""
    return low + (high - low) * torch.rand(len(images), 1, device=images.device)


def _others(images: Tensor, count: int) -> list[Tensor]:
    """For each image so many others of the batch, no two of them the same while there are enough: the batch moved on by
    random numbers of places."""
    rows = torch.arange(len(images), device=images.device)
    moves = 1 + torch.rand(max(1, len(images) - 1), device=images.device).argsort()
    return [images[(rows + moves[number % len(moves)]) % len(images)] for number in range(count)]


def _blurred(images: Tensor, width: Tensor) -> Tensor:
    size = min(KERNEL, 2 * min(images.shape[-2:]) + 1)  # a reflection is at most as long as the image
    offsets = torch.arange(size, device=images.device) - size // 2
    kernel = torch.softmax(-(offsets**2) / (2 * width**2), dim=0)
    rows = kernel.view(1, 1, -1, 1).repeat(images.shape[1], 1, 1, 1)
    padded = _reflected(_reflected(images, size // 2).mT, size // 2).mT
    blurred = functional.conv2d(padded, rows, groups=images.shape[1])
    return functional.conv2d(blurred, rows.mT, groups=images.shape[1])


def _reflected(images: Tensor, length: int) -> Tensor:
    """Columns added on both sides, mirrored at the edge, whose own column is repeated."""
    return torch.cat([images[..., :length].flip(-1), images, images[..., -length:].flip(-1)], dim=-1)


def _stretched(images: Tensor) -> Tensor:
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return (images - low) / (high - low).clamp_min(1e-6)  # an image of one colour becomes black


KINDS: tuple[Kind, ...] = (low_pass, permuted, uniform, averaged, shuffled, enlarged, pasted)

# As found on validation data: who has seen permuted pixels needs no uniform noise, but not the other way round.
MIX: tuple[Kind, ...] = (low_pass, permuted, averaged, shuffled, enlarged, pasted)
