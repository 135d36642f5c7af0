"""Helpers of outliers and degradations: the check of images, and the reordering of patches."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

__all__ = ["check_images", "reorder_patches"]


def check_images(images: Tensor, advice: str, *, values: bool = True) -> None:
    """Raise unless images are floats (N, C, H, W) in [0, 1]. `values=False` skips the values, because reading them
    synchronises the device."""
    if not images.is_floating_point() or images.ndim != 4:
        raise ValueError(f"images must be floats (N, C, H, W) in [0, 1], got {images.dtype} {tuple(images.shape)}")
    if values and images.numel():
        low, high = float(images.detach().min()), float(images.detach().max())
        if not (low >= 0 and high <= 1):
            raise ValueError(f"images must lie in [0, 1], got values from {low:.3g} to {high:.3g}: {advice}")


def reorder_patches(images: Tensor, size: int, keys: Callable[[int], Tensor]) -> Tensor:
    """Sort the patches of `size` pixels of each image by `keys(count)` (N, count); incomplete patches stay in place."""
    rows, columns = images.shape[-2] // size, images.shape[-1] // size
    if rows * columns < 2:
        raise ValueError(f"images of {tuple(images.shape[-2:])} pixels have fewer than two patches of {size} pixels")
    inner = images[..., : rows * size, : columns * size]
    patches = inner.reshape(*images.shape[:2], rows, size, columns, size).transpose(-3, -2).flatten(2, 3)
    order = keys(rows * columns).argsort(-1)[:, None, :, None, None]
    mixed = patches.gather(2, order.expand_as(patches)).reshape(*images.shape[:2], rows, columns, size, size)
    whole = images.clone()
    whole[..., : rows * size, : columns * size] = mixed.transpose(-3, -2).reshape(inner.shape)
    return whole
