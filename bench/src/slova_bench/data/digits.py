"""The 1,797 handwritten digits that come with scikit-learn, as uint8 images in a fixed random order."""

from __future__ import annotations

import functools
import hashlib

import numpy as np
from sklearn.datasets import load_digits

from slova._backend import Array

__all__ = ["digits"]


@functools.cache  # parsing them takes longer than using them, and every test set is made of them
def digits() -> tuple[Array, Array]:
    """Images uint8 (1797, 8, 8, 1), the 17 grey levels spread over 0 to 255, and their digits. Neighbours in the
    original order are by the same writer; here the order is that of the SHA-256 of the position ("0", "1", ...), which
    does not depend on a random generator."""
    found = load_digits()
    order = sorted(range(len(found.target)), key=lambda position: hashlib.sha256(str(position).encode()).digest())
    images = np.rint(found.images[order] * (255 / 16)).astype(np.uint8)
    labels = found.target[order].astype(np.int64)
    images.flags.writeable = labels.flags.writeable = False
    return images[..., None], labels
