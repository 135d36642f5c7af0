"""Spatter: drops of water or mud on the lens. uint8 (N, 3, H, W) in, [0, 1] out (clipped by the caller).

Drops of water are shaded by the distance to the edge of a drop. Edges and distances follow OpenCV's Canny and its 5 x 5
distance transform, on a batch.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from slova._backend import Array
from slova_bench.shifts.blur import smoothed
from slova_bench.shifts.per_image_rng import PerImageRng

__all__ = ["Liquid", "edge_distance", "edges", "equalised", "spatter"]

WATER, MUD = (np.array(colour)[:, None, None] / 255 for colour in ([175, 238, 238], [63, 42, 20]))
WEAK, STRONG = 50, 150  # Canny's thresholds
# Of a step, a diagonal and a knight's move to the 5 x 5 pixels around, by the square of the distance.
LENGTHS = np.array([0, 1, 1.4, *[np.inf] * 2, 2.1969, *[np.inf] * 3], np.float32)[
    (np.mgrid[-2:3, -2:3] ** 2).sum(axis=0)
]

_SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


class Liquid(NamedTuple):
    mean: float
    deviation: float
    sigma: float
    threshold: float
    strength: float
    mud: bool


def spatter(images: Array, rng: PerImageRng, liquid: Liquid) -> Array:
    """Liquid where smooth noise is above a threshold: pale water that shines, or brown mud that covers."""
    layer = liquid.mean + liquid.deviation * rng.normal(*images.shape[2:])
    layer = smoothed(layer[:, None], liquid.sigma)
    layer = np.where(layer < liquid.threshold, 0, layer)
    return (_muddy if liquid.mud else _wet)(images / 255, layer, liquid)


def _muddy(images: Array, layer: Array, liquid: Liquid) -> Array:
    mud = smoothed((layer > liquid.threshold).astype(float), liquid.strength)
    mud = np.where(mud < 0.8, 0, mud)
    return images * (1 - mud) + MUD * mud


def _wet(images: Array, layer: Array, liquid: Liquid) -> Array:
    depth = (layer * 255).astype(int).astype(np.uint8)[:, 0]  # overflows beyond 255, as in the original
    water = depth * _shading(depth)
    most = water.max(axis=(1, 2), keepdims=True)
    return images + liquid.strength * (water / np.where(most > 0, most, 1))[:, None] * WATER


def _shading(depth: Array) -> Array:
    """Light from the upper left on a relief whose height is the distance from the edges."""
    height = _box(np.minimum(edge_distance(edges(depth)), 20)).astype(np.uint8)
    relief = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])[None]
    lit = ndimage.correlate(equalised(height).astype(float), relief, mode="mirror")
    return np.rint(_box(np.clip(lit, 0, 255)))


def _box(layers: Array) -> Array:
    """Means of 3 x 3 pixels in single precision, so that a mean of ones is not truncated to 0."""
    return ndimage.correlate(layers.astype(np.float32), np.full((1, 3, 3), 1 / 9), mode="mirror")


def edges(layers: Array) -> Array:
    """Canny edges of uint8 layers (N, H, W): thin ridges of the gradient connected to a strong one."""
    across, down = (
        ndimage.correlate(layers.astype(int), kernel[None], mode="nearest") for kernel in (_SOBEL, _SOBEL.T)
    )
    size = np.abs(across) + np.abs(down)
    thin = (size > WEAK) & _ridge(size, across, down)
    return ndimage.binary_propagation(thin & (size > STRONG), np.ones((1, 3, 3)), mask=thin)


def _ridge(size: Array, across: Array, down: Array) -> Array:
    """Whether a gradient is larger than its neighbours in its own direction, out of four."""
    flat = np.abs(down) < np.tan(np.pi / 8) * np.abs(across)
    steep = np.abs(down) > np.tan(3 * np.pi / 8) * np.abs(across)
    falling = (across ^ down) < 0
    neighbour = partial(_seen_from, np.pad(size, ((0, 0), (1, 1), (1, 1))))
    along_row = (size > neighbour(0, -1)) & (size >= neighbour(0, 1))
    along_column = (size > neighbour(-1, 0)) & (size >= neighbour(1, 0))
    diagonal = (size > neighbour(-1, -1)) & (size > neighbour(1, 1))
    other = (size > neighbour(-1, 1)) & (size > neighbour(1, -1))
    return np.select([flat, steep, falling], [along_row, along_column, other], diagonal)


def edge_distance(marked: Array) -> Array:
    """The length of the shortest walk to a marked pixel, in steps, diagonals and knight's moves; inf without one."""
    distance, before = np.where(marked, np.float32(0), np.float32(np.inf)), None
    while before is None or (distance != before).any():
        before, distance = (
            distance,
            ndimage.grey_erosion(distance, structure=-LENGTHS[None], mode="constant", cval=np.inf),
        )
    return distance


def _seen_from(padded: Array, row: int, column: int) -> Array:
    """The values shifted by one row or column at most."""
    height, width = padded.shape[1] - 2, padded.shape[2] - 2
    return padded[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]


def equalised(heights: Array) -> Array:
    """The uint8 heights (N, H, W) up to 20 with their histogram made flat, as OpenCV does it."""
    counts = np.stack([(heights <= level).sum(axis=(1, 2)) for level in range(21)], axis=1)
    lowest = np.take_along_axis(counts, heights.min(axis=(1, 2))[:, None].astype(int), axis=1)
    span = heights[0].size - lowest
    levels = np.rint((counts - lowest) * (np.float32(255) / np.where(span > 0, span, 1).astype(np.float32)))
    flat = np.take_along_axis(levels, heights.reshape(len(heights), -1).astype(int), axis=1).reshape(heights.shape)
    return np.where(span[:, :, None] > 0, flat, heights).astype(np.uint8)
