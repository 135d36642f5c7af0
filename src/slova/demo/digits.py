"""The pictures of the demo, as tensors (N, 1, 16, 16) in [0, 1].

The digits are the 8 x 8 images that come with scikit-learn, enlarged. The shifts and the glyphs are in no training and
in no calibration fit; noise is near one of the outliers that `slova.vision.augment` appends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional

__all__ = ["CLASSES", "SHIFTS", "STRENGTHS", "Digits", "glyphs", "load", "noise", "shifted"]

CLASSES, SIDE = 8, 16
TRAINING, VALIDATION = 600, 300
STRENGTHS = 6  # of a shift, from 0, which changes nothing
SHIFTS = ("noise", "blur", "fade", "dots")

# Lines from point to point in a square of side 4, one glyph per entry; strokes are separated by blanks.
GLYPHS = {
    "A": "04,20,44 12,32",
    "E": "40,00,04,44 02,32",
    "F": "40,00,04 02,32",
    "H": "00,04 40,44 02,42",
    "K": "00,04 40,02,44",
    "M": "04,00,22,40,44",
    "N": "04,00,44,40",
    "R": "04,00,30,41,32,02 22,44",
    "T": "00,40 20,24",
    "W": "00,14,22,34,40",
    "X": "00,44 40,04",
    "Y": "00,22,40 22,24",
    "square": "00,40,44,04,00",
    "triangle": "20,44,04,20",
    "cross": "20,24 02,42",
    "house": "02,20,42 12,14,34,32",
    "arrow": "02,42 20,42,24",
    "stairs": "00,01,11,12,22,23,33,34,44",
}


class Digits(NamedTuple):
    """Images and labels for training, validation and test, of the digits 0 to 7, and the images of 8 and 9."""

    training: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    unseen: Tensor


def load(seed: int = 0) -> Digits:
    """The digits of scikit-learn, split at random."""
    from sklearn.datasets import load_digits

    pixels, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    images = pixels.float().view(-1, 1, 8, 8) / 16
    images = functional.interpolate(images, size=SIDE, mode="bilinear", align_corners=False)
    known = torch.nonzero(labels < CLASSES)[:, 0]
    known = known[torch.randperm(len(known), generator=Generator().manual_seed(seed))]
    parts = known.tensor_split([TRAINING, TRAINING + VALIDATION])
    training, validation, test = ((images[rows], labels[rows]) for rows in parts)
    return Digits(training, validation, test, images[labels >= CLASSES])


def shifted(images: Tensor, strength: int, seed: int = 0) -> Tensor:
    """Images that are noisier, more blurred, paler or more speckled, one kind each in turn; `strength` below 6."""
    generator, share = Generator().manual_seed(seed), strength / (STRENGTHS - 1)
    changed = images.clone()
    for place, kind in enumerate(SHIFTS):
        part = images[place :: len(SHIFTS)]
        changed[place :: len(SHIFTS)] = _shift(kind, part, share, generator).clamp(0, 1)
    return changed


def _shift(kind: str, images: Tensor, share: float, generator: Generator) -> Tensor:
    if kind == "noise":
        return images + 0.6 * share * torch.randn(images.shape, generator=generator)
    if kind == "blur":
        return images if not share else _blur(images, 2.8 * share)
    if kind == "fade":
        return (1 - 0.85 * share) * images + 0.4 * share
    hit = torch.rand(images.shape, generator=generator) < 0.4 * share
    return torch.where(hit, torch.randint(2, images.shape, generator=generator).float(), images)


def _blur(images: Tensor, width: float) -> Tensor:
    taps = torch.exp(-0.5 * (torch.arange(-6, 7) / width) ** 2)
    taps = taps / taps.sum()
    padded = functional.pad(images, (6, 6, 6, 6), mode="replicate")
    return functional.conv2d(functional.conv2d(padded, taps.view(1, 1, 1, -1)), taps.view(1, 1, -1, 1))


def glyphs(each: int = 15, seed: int = 0) -> Tensor:
    """Letters and shapes, `each` of every kind in turn: turned, moved, stretched and drawn with pens of other widths.
    None looks like a digit of the classes."""
    draw = np.random.default_rng(seed)
    return torch.stack([_drawn(lines, draw) for _ in range(each) for lines in GLYPHS.values()]).unsqueeze(1)


def _drawn(lines: str, draw: np.random.Generator) -> Tensor:
    angle, size = draw.uniform(-0.2, 0.2), draw.uniform(2.3, 2.8, 2)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    strokes = [np.array([[int(digit) for digit in point] for point in stroke.split(",")]) for stroke in lines.split()]
    moved = [((stroke - 2) * size) @ turn + draw.uniform(-0.7, 0.7, 2) + SIDE / 2 for stroke in strokes]
    down, across = np.mgrid[:SIDE, :SIDE] + 0.5
    places = np.stack([across, down], axis=-1)
    ends = [(stroke[i], stroke[i + 1]) for stroke in moved for i in range(len(stroke) - 1)]
    nearest = np.min([_distance(places, *pair) for pair in ends], axis=0)
    return torch.as_tensor(np.clip(draw.uniform(1.5, 1.9) - nearest, 0, 1)).float()


def _distance(places: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The distance of each place from the line between two points."""
    along = end - start
    share = np.clip((places - start) @ along / (along @ along), 0, 1)
    return np.asarray(np.linalg.norm(places - start - share[..., None] * along, axis=-1))


def noise(count: int = 300, seed: int = 0) -> Tensor:
    """Pixels drawn at random, from dark to bright pictures."""
    generator = Generator().manual_seed(seed)
    power = 0.5 + 3 * torch.rand(count, 1, 1, 1, generator=generator)
    return torch.rand(count, 1, SIDE, SIDE, generator=generator) ** power
