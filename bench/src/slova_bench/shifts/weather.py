"""Weather: something between the lens and the scene. uint8 (N, 3, H, W) in, [0, 1] out (clipped by the caller)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from slova._backend import Array
from slova_bench.data.download import data_folder
from slova_bench.shifts.frost import frost_pictures
from slova_bench.shifts.per_image_rng import PerImageRng
from slova_bench.shifts.warps import streaked, zoom_matrix

__all__ = ["Snowfall", "fog", "frost", "snow"]


class Snowfall(NamedTuple):
    mean: float
    deviation: float
    zoom: float
    threshold: float
    radius: float
    sigma: float
    kept: float  # share of the image that is not whitened


def snow(images: Array, rng: PerImageRng, fall: Snowfall) -> Array:
    """A whitened image behind flakes that fall steeply, and behind the same flakes half a turn on."""
    clear = images / 255
    grey = 0.299 * clear[:, :1] + 0.587 * clear[:, 1:2] + 0.114 * clear[:, 2:]
    white = np.maximum(clear, 1.5 * grey + 0.5)
    flakes = _flakes(rng, fall, images.shape[2]) / 255
    return fall.kept * clear + (1 - fall.kept) * white + flakes + flakes[:, :, ::-1, ::-1]


def _flakes(rng: PerImageRng, fall: Snowfall, size: int) -> Array:
    zoom = zoom_matrix(fall.zoom, size)
    layer = zoom @ (fall.mean + fall.deviation * rng.normal(size, size)) @ zoom.T
    layer = np.where(layer < fall.threshold, 0, np.clip(layer, 0, 1))
    return streaked((layer * 255).astype(np.uint8)[:, None], rng.uniform(-135, -45), (fall.radius, fall.sigma))


def frost(images: Array, rng: PerImageRng, mixture: tuple[float, float]) -> Array:
    """The image and a random cut of a random frost picture, mixed in these amounts.

    The original lists six pictures and rng one of the first five.
    """
    pictures, size = frost_pictures(data_folder() / "frost"), images.shape[2]
    chosen = [pictures[i] for i in rng.integers(0, len(pictures))]
    places = rng.uniform(0, 1, 2)
    cuts = np.stack([_cut(picture, place, size) for picture, place in zip(chosen, places, strict=True)])
    return (mixture[0] * images + mixture[1] * cuts) / 255


def _cut(picture: Array, place: Array, size: int) -> Array:
    row, column = (place * (np.array(picture.shape[1:]) - size)).astype(int)
    return picture[:, row : row + size, column : column + size]


def fog(images: Array, rng: PerImageRng, haze: tuple[float, float]) -> Array:
    """A plasma (thickness, smoothness) added, and everything scaled back to the brightest value of the image."""
    thickness, decay = haze
    clear = images / 255
    brightest = clear.max(axis=(1, 2, 3), keepdims=True)
    return (clear + thickness * _plasma(rng, images.shape[2], decay)[:, None]) * brightest / (brightest + thickness)


def _plasma(rng: PerImageRng, size: int, decay: float) -> Array:
    """Diamond-square heights (N, size, size), each from 0 to 1; the field wraps around."""
    heights, wibble, step = np.zeros((len(rng), size, size)), 100.0, size
    while step >= 2:
        half, shakes = step // 2, wibble**2 * rng.uniform(-1, 1, 3, size // step, size // step)
        corners = heights[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        middles = heights[:, half::step, half::step] = (pairs + np.roll(pairs, -1, axis=2)) / 4 + shakes[:, 0]
        across, along = corners + np.roll(corners, -1, axis=2), corners + np.roll(corners, -1, axis=1)
        heights[:, ::step, half::step] = (middles + np.roll(middles, 1, axis=1) + across) / 4 + shakes[:, 1]
        heights[:, half::step, ::step] = (middles + np.roll(middles, 1, axis=2) + along) / 4 + shakes[:, 2]
        step, wibble = half, wibble / decay
    heights -= heights.min(axis=(1, 2), keepdims=True)
    return heights / heights.max(axis=(1, 2), keepdims=True)
