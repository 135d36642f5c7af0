"""Download of one archive, with its checksum: an archive that is in the folder already is not downloaded, one that does
not match its checksum is not used, and an interrupted download leaves no file."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from slova._backend import Array
from slova._progress import progress

__all__ = ["Archive", "DataError", "fetch"]

RETRIES, TIMEOUT, CHUNK = 3, 60, 1 << 16  # further attempts; seconds without a byte; bytes


class DataError(ValueError):
    """The images cannot be used: the name is unknown, or the file is damaged, altered or of another data set."""


@dataclass(frozen=True)
class Archive:
    """An archive on the web, its published MD5, and a function that reads images and labels from it."""

    url: str
    md5: str
    read: Callable[[Path], tuple[Array, Array]]


def fetch(archive: Archive, folder: Path) -> Path:
    """The archive in the folder, downloaded unless it is there. It is kept, since it may hold other splits."""
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
        cache.fetch(path.name, downloader=partial(_stream, path.name))
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


def _stream(name: str, url: str, output_file: str, _: object) -> None:
    """A downloader for pooch, with a progress bar on a terminal."""
    requests = importlib.import_module("requests")  # which pooch depends on
    with requests.get(url, stream=True, timeout=TIMEOUT) as response, open(output_file, "wb") as file:
        response.raise_for_status()
        size = int(response.headers.get("content-length", 0))
        with progress(name) as report:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                report(file.tell() / max(1, size, file.tell()))


def _md5(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
