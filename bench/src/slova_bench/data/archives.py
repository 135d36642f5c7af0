"""Readers of the digits of scikit-learn, and of published archives whose checksum was compared: images uint8
(N, H, W, C) and labels (N,), without unpickling or extraction to disk."""

from __future__ import annotations

import functools
import hashlib
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_digits

from slova._backend import Array

__all__ = ["cifar", "digits", "svhn"]

PIXELS = 3 * 32 * 32


def cifar(path: Path, members: Sequence[str], *, label_bytes: int = 1) -> tuple[Array, Array]:
    """The records of CIFAR's binary version: label bytes, the last of which is the (fine) label, then a red, a green
    and a blue plane."""
    with tarfile.open(path, "r:gz") as archive:
        content = b"".join(stream.read() for name in members if (stream := archive.extractfile(name)))
    records = np.frombuffer(content, np.uint8).reshape(-1, label_bytes + PIXELS)
    planes = records[:, label_bytes:].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, label_bytes - 1].astype(np.int64)


def svhn(path: Path) -> tuple[Array, Array]:
    """SVHN's cropped digits: a Matlab file of `X` (H, W, C, N) and `y` (N, 1), in which 10 stands for the digit 0."""
    arrays = loadmat(path, appendmat=False, variable_names=["X", "y"])
    return np.ascontiguousarray(arrays["X"].transpose(3, 0, 1, 2)), arrays["y"].ravel().astype(np.int64) % 10


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
