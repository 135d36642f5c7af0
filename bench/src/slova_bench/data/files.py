"""One file of images: NAME.npz with `images` uint8 (N, H, W, C) and, where known, `labels` (N,). It is read without
unpickling, checked against its record, and written atomically."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slova._backend import Array
from slova.artifact import atomic_path
from slova.heads import NONE
from slova_bench.data.download import DataError, fetch

__all__ = ["Archive", "File", "Pack", "pack"]

DAMAGE = (ValueError, TypeError, EOFError, OSError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)


class Pack(NamedTuple):
    """Images uint8 (N, H, W, C) and labels (N,), as in a file."""

    images: Array
    labels: Array


@dataclass(frozen=True)
class Archive:
    """An archive on the web, its published MD5, and a function that reads images and labels from it."""

    url: str
    md5: str
    read: Callable[[Path], tuple[Array, Array]]


@dataclass(frozen=True, kw_only=True)
class File:
    """The expected content of NAME.npz, and the source of the images without it: a package that embeds them, larger
    versions of the same images, or an archive to download. `sha256` are the known checksums of the bytes of the images
    and of the labels (as 64-bit integers)."""

    name: str
    side: int = 32
    channels: int = 3
    sha256: Sequence[str] = ()
    embedded: Callable[[], tuple[Array, Array]] | None = None
    larger: File | None = None
    archive: Archive | None = None


def pack(file: File, folder: Path) -> Pack:
    """The images of a file, from the folder or else from its source."""
    path = folder / f"{file.name}.npz"
    if file.embedded:
        return _checked(*file.embedded(), file, file.name)
    if path.exists():
        return _checked(*_read(path), file, str(path))
    if file.larger and (folder / f"{file.larger.name}.npz").exists():
        return _shrunk(pack(file.larger, folder), file.side)
    if file.archive:
        return _unpacked(file, file.archive, path)
    files = " or ".join(f"{file.name}.npz" for file in (file, file.larger) if file)
    raise FileNotFoundError(f"{file.name} has no download: put {files} into {folder}, or name another folder")


def _unpacked(file: File, archive: Archive, path: Path) -> Pack:
    """The images of a downloaded archive, cached as a file."""
    downloaded = fetch(archive.url, f"md5:{archive.md5}", path.parent)
    found = _checked(*archive.read(downloaded), file, str(downloaded))
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, images=found.images, labels=found.labels)
    return found


def _shrunk(larger: Pack, side: int) -> Pack:
    """Every pixel is the rounded mean of a square block."""
    count, height, width, channels = larger.images.shape
    rows, columns = height // side, width // side
    blocks = larger.images.reshape(count, side, rows, side, columns, channels)
    sums, area = blocks.sum(axis=(2, 4), dtype=np.uint32), rows * columns
    return Pack(((sums + area // 2) // area).astype(np.uint8), larger.labels)


def _read(path: Path) -> tuple[Array, Array | None]:
    """The arrays of a file, without unpickling."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ("images", "labels") if name in archive.files}
            there = ", ".join(map(repr, archive.files)) or "none"
    except DAMAGE as error:
        raise DataError(f"{path} is not an npz file of numbers, or is damaged: {error}") from error
    if "images" not in arrays:
        raise DataError(f"{path} has no array 'images': there are {there}")
    return arrays["images"], arrays.get("labels")


def _checked(images: Array, labels: Array | None, file: File, where: str) -> Pack:
    """Images and labels that match the record of the file. Images without labels are labelled NONE."""
    shape = (file.side, file.side, file.channels)
    if images.dtype != np.uint8 or images.shape[1:] != shape or not images.size:
        expected = f"uint8 (N, {', '.join(map(str, shape))})"
        raise DataError(f"{where}: the images are {images.dtype} {images.shape}, expected {expected}")
    found = Pack(images, np.full(len(images), NONE) if labels is None else labels)
    if found.labels.shape != (len(images),) or found.labels.dtype.kind not in "iu":
        got = f"{found.labels.dtype} {found.labels.shape}"
        raise DataError(f"{where}: the labels are {got}, expected integers ({len(images)},)")
    for name, array, sha256 in zip(Pack._fields, (images, found.labels.astype("<i8")), file.sha256, strict=False):
        if hashlib.sha256(np.ascontiguousarray(array).data).hexdigest() != sha256:
            raise DataError(f"{where}: the {name} do not match their checksum, so they are not those of {file.name}")
    return found
