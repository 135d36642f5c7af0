"""The reordering of patches, for outliers and degradations."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

__all__ = ["reorder_patches"]


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
