"""What outliers and degradations share: images are floats (N, C, H, W) of [0, 1], and their patches can change
places."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

__all__ = ["check_images", "reordered"]


def check_images(images: Tensor, advice: str, *, values: bool = True) -> None:
    """Refuses other shapes and types, and other values where these are looked at, which waits for their device."""
    if not images.is_floating_point() or images.ndim != 4:
        raise ValueError(f"images want to be floats (N, C, H, W) of [0, 1], got {images.dtype} {tuple(images.shape)}")
    if values and images.numel():
        low, high = float(images.detach().min()), float(images.detach().max())
        if not (low >= 0 and high <= 1):
            raise ValueError(f"images want to be of [0, 1], got values from {low:.3g} to {high:.3g}: {advice}")


def reordered(images: Tensor, size: int, keys: Callable[[int], Tensor]) -> Tensor:
    """Patches of `size` pixels, sorted by the keys (N, count) that are given for that many; what does not fill a patch
    stays where it is."""
    rows, columns = images.shape[-2] // size, images.shape[-1] // size
    if rows * columns < 2:
        raise ValueError(f"images of {tuple(images.shape[-2:])} pixels have no two patches of {size}")
    inner = images[..., : rows * size, : columns * size]
    patches = inner.reshape(*images.shape[:2], rows, size, columns, size).transpose(-3, -2).flatten(2, 3)
    order = keys(rows * columns).argsort(-1)[:, None, :, None, None]
    mixed = patches.gather(2, order.expand_as(patches)).reshape(*images.shape[:2], rows, columns, size, size)
    whole = images.clone()
    whole[..., : rows * size, : columns * size] = mixed.transpose(-3, -2).reshape(inner.shape)
    return whole
