"""One archive from the web, checked: an archive that is already in the folder is not downloaded, one that does not
match its checksum is not used, and one that broke off leaves nothing behind."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slova._backend import Array

__all__ = ["Archive", "DataError", "fetch"]

RETRIES, PATIENCE = 3, 60  # further attempts; seconds without a byte


class DataError(ValueError):
    """The images cannot be used: nobody knows their name, or their file is damaged, altered or another one's."""


@dataclass(frozen=True)
class Archive:
    """An archive on the web, its MD5 as its makers publish it, and what reads images and labels out of it."""

    url: str
    md5: str
    read: Callable[[Path], tuple[Array, Array]]


def fetch(archive: Archive, folder: Path) -> Path:
    """The archive in the folder, downloaded unless it is there. It stays, for other splits may be in it."""
    path = folder / archive.url.rpartition("/")[2]
    if not path.exists():
        _download(archive, path)
    elif _md5(path) != archive.md5:
        raise DataError(f"{path} does not match its checksum: remove it, and it is downloaded from {archive.url}")
    return path


def _download(archive: Archive, path: Path) -> None:
    pooch = _pooch(path.name)
    registry = {path.name: f"md5:{archive.md5}"}
    base = archive.url.removesuffix(path.name)
    cache = pooch.create(path=path.parent, base_url=base, registry=registry, retry_if_failed=RETRIES)
    try:
        cache.fetch(path.name, downloader=pooch.HTTPDownloader(progressbar=_progress(), timeout=PATIENCE))
    except ValueError as error:
        raise DataError(f"{archive.url} does not match its checksum, and nothing of it was kept") from error
    except OSError as error:
        by_hand = f"put {path.name} into {path.parent} by hand"
        raise OSError(f"{archive.url} cannot be downloaded ({error}): try again, or {by_hand}") from error


def _pooch(name: str) -> Any:
    try:
        return importlib.import_module("pooch")
    except ImportError:
        raise ImportError(f'downloading {name} needs pooch: pip install "slova[bench]"') from None


def _progress() -> bool:
    """Whether there is somebody to show a progress bar to, and the package that draws it."""
    return sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
