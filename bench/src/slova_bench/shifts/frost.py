"""The frost pictures of the original generator: found in a folder, or downloaded and checked."""

from __future__ import annotations

import hashlib
import importlib
import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from slova._backend import Array

__all__ = ["FROST", "frost_pictures"]

SOURCE = "https://raw.githubusercontent.com/hendrycks/robustness/8190fe329f5f072a06e3a2aea02bb5dda69aed9f/ImageNet-C/create_c/"
FROST = {  # SHA-256; the original ships six and never uses the last
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
    "frost6.jpg": "1f92b2f48408748085b68dd81d816ef239f42cef3029c25d041fcb6760fb4f25",
}
USED = tuple(FROST)[:5]


def frost_pictures(folder: str | os.PathLike[str] | None = None) -> tuple[Array, ...]:
    """The five pictures at a fifth of their size, uint8 (3, H, W).

    They are read from this folder without a check; by default from `frost` in SLOVA_DATA or in the user's cache, where
    missing ones are downloaded and all are checked.
    """
    return _read(Path(folder)) if folder is not None else _read(_original(_data_folder() / "frost"))


@lru_cache(maxsize=4)
def _read(folder: Path) -> tuple[Array, ...]:
    missing = _missing(folder)
    if missing:
        raise FileNotFoundError(f"frost needs pictures, and {folder} has no {', '.join(missing)}")
    return tuple(_small(folder / name) for name in USED)


def _missing(folder: Path) -> list[str]:
    return [name for name in USED if not (folder / name).is_file()]


def _small(file: Path) -> Array:
    """Every fifth pixel, which equals the linear reduction by five of the original."""
    from PIL import Image

    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))[2::5, 2::5].transpose(2, 0, 1)


def _data_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "slova"
    return Path(os.environ.get("SLOVA_DATA") or cache).expanduser()


@lru_cache(maxsize=4)
def _original(folder: Path) -> Path:
    """The folder with the original pictures, downloaded if missing."""
    if _missing(folder):
        _download(folder)
    for name in USED:
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != FROST[name]:
            raise ValueError(f"{folder / name} is not the original frost picture: its SHA-256 differs")
    return folder


def _download(folder: Path) -> None:
    by_hand = f"put {USED[0]} to {USED[-1]} of {SOURCE} into {folder}"
    try:
        pooch = importlib.import_module("pooch")
    except ImportError:
        raise FileNotFoundError(f"the frost pictures are missing: {by_hand}, or pip install pooch") from None
    registry = {name: f"sha256:{FROST[name]}" for name in USED}
    store = pooch.create(path=folder, base_url=SOURCE, registry=registry)
    try:
        for name in USED:
            store.fetch(name)
    except OSError as error:
        raise OSError(f"the frost pictures cannot be downloaded ({error}): try again, or {by_hand}") from error
