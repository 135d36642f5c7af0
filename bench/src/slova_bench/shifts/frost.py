"""The frost pictures of the original generator."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from slova._backend import Array
from slova_bench.data.download import fetch

__all__ = ["FROST", "frost_pictures"]

SOURCE = "https://raw.githubusercontent.com/hendrycks/robustness/8190fe329f5f072a06e3a2aea02bb5dda69aed9f/ImageNet-C/create_c/"
FROST = {  # SHA-256; the original ships a sixth and never uses it
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
}


@lru_cache(maxsize=4)
def frost_pictures(folder: Path) -> tuple[Array, ...]:
    """The five pictures at a fifth of their size, uint8 (3, H, W). Missing ones are downloaded, all are checked."""
    return tuple(_small(fetch(SOURCE + name, f"sha256:{sha256}", folder)) for name, sha256 in FROST.items())


def _small(file: Path) -> Array:
    """Every fifth pixel, which equals the linear reduction by five of the original."""
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))[2::5, 2::5].transpose(2, 0, 1)
