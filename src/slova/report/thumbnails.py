"""Small pictures of inputs that are images, as data addresses of PNG files."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from slova._backend import Array, to_numpy

__all__ = ["picture_of", "png"]

LARGEST = 96  # pixels of a side; larger images are sampled


def picture_of(inputs: Any, row: int) -> str | None:
    """The address of a row of images (N, C, H, W) of 1 or 3 channels; None for other inputs."""
    shape: tuple[int, ...] = tuple(getattr(inputs, "shape", ()))
    if len(shape) != 4 or shape[1] not in (1, 3):
        return None
    image = np.asarray(to_numpy(inputs[row]), np.float64)
    low, high = min(0.0, float(image.min())), max(1.0, float(image.max()))  # normalised images keep their contrast
    step = -(-max(image.shape[1:]) // LARGEST)
    pixels = (255 * (image[:, ::step, ::step] - low) / (high - low)).round().astype(np.uint8)
    return f"data:image/png;base64,{base64.b64encode(png(pixels)).decode()}"


def png(pixels: Array) -> bytes:
    """A PNG file of bytes (C, H, W), grey or red, green and blue."""
    channels, height, width = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.transpose(1, 2, 0).reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    chunks = {b"IHDR": header, b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks.items())


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
