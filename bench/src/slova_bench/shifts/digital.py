"""Digital corruptions. uint8 (N, 3, H, W) in, uint8 or [0, 1] out (clipped by the caller)."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image
from scipy import ndimage

from slova._backend import Array
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.warps import sampled

__all__ = ["brightness", "contrast", "elastic_transform", "jpeg_compression", "pixelate", "saturate"]


def brightness(images: Array, rng: PerImageRng, amount: float) -> Array:
    """The value of HSV raised by this amount."""
    value, saturation, falls = _hsv(images / 255)
    value = np.clip(value + amount, 0, 1)
    return value - value * saturation * falls


def saturate(images: Array, rng: PerImageRng, change: tuple[float, float]) -> Array:
    """The saturation of HSV, times the first and plus the second; grey turns red if anything is added."""
    value, saturation, falls = _hsv(images / 255)
    return value - value * np.clip(saturation * change[0] + change[1], 0, 1) * falls


def contrast(images: Array, rng: PerImageRng, share: float) -> Array:
    """This share of the distance from each channel's mean."""
    means = (images / 255).mean(axis=(2, 3), keepdims=True)
    return (images / 255 - means) * share + means


def pixelate(images: Array, rng: PerImageRng, share: float) -> Array:
    """Shrunk to this share of its side and enlarged again, in boxes."""
    size = images.shape[2]
    small = int(size * share)
    pictures = [picture.resize((small, small), Image.Resampling.BOX) for picture in _pictures(images)]
    return _channels_first([picture.resize((size, size), Image.Resampling.BOX) for picture in pictures])


def jpeg_compression(images: Array, rng: PerImageRng, quality: int) -> Array:
    """JPEG compression of this quality."""
    return _channels_first([_through_jpeg(picture, quality) for picture in _pictures(images)])


def elastic_transform(images: Array, rng: PerImageRng, rubber: tuple[float, float, float]) -> Array:
    """A random affine map, then a random smooth field of shifts: (size and sigma of the field, reach of the map)."""
    field, sigma, reach = rubber
    size = images.shape[2]
    grid = np.mgrid[:size, :size].astype(float)
    rows, columns = _affine(rng.uniform(-reach, reach, 3, 2), grid)
    tilted = sampled(images / 255, rows, columns, "mirror")
    push = rng.uniform(-1, 1, 2, size, size)
    push = field * ndimage.gaussian_filter(push, (0, 0, sigma, sigma), mode="reflect", truncate=3)
    return sampled(tilted, grid[0] + push[:, 0], grid[1] + push[:, 1], "reflect")


def _affine(moves: Array, grid: Array) -> tuple[Array, Array]:
    """Rows and columns to read from, when three corners of the middle third (column, row) move like this."""
    size = grid.shape[1]
    low, high = size // 2 - size // 3, size // 2 + size // 3
    corners = np.array([[high, high], [high, low], [low, low]], dtype=float)
    moved = np.concatenate([corners + moves, np.ones((len(moves), 3, 1))], axis=2)
    back = np.linalg.solve(moved, np.broadcast_to(corners, moves.shape))  # (column, row, 1) @ back is where it was
    places = np.stack([grid[1], grid[0], np.ones_like(grid[0])], axis=-1)
    columns, rows = np.floor(np.moveaxis(places.reshape(-1, 3) @ back, 2, 0) * 32 + 0.5) / 32  # as in OpenCV
    return rows.reshape(-1, size, size), columns.reshape(-1, size, size)


def _hsv(images: Array) -> tuple[Array, Array, Array]:
    """Value, saturation, and the hue as the distance of each channel below the value, relative to the range.

    A grey pixel has the hue of red, so that channel = value - value * saturation * fall holds everywhere.
    """
    value = images.max(axis=1, keepdims=True)
    span = value - images.min(axis=1, keepdims=True)
    red = np.array([0.0, 1.0, 1.0])[:, None, None]
    falls = np.where(span > 0, (value - images) / np.where(span > 0, span, 1), red)
    return value, span / np.where(value > 0, value, 1), falls


def _pictures(images: Array) -> list[Array]:
    return [Image.fromarray(pixels) for pixels in np.ascontiguousarray(images.transpose(0, 2, 3, 1))]


def _through_jpeg(picture: Array, quality: int) -> Array:
    file = BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return Image.open(file)


def _channels_first(pictures: list[Array]) -> Array:
    return np.stack([np.asarray(picture) for picture in pictures]).transpose(0, 3, 1, 2)
