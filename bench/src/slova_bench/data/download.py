"""Download of one file with its checksum: a file that is in the folder already is not downloaded, one that does not
match its checksum is not used, and an interrupted download leaves nothing."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pooch

from slova._progress import progress

__all__ = ["DataError", "DownloadError", "cache_folder", "data_folder", "fetch"]

RETRIES, TIMEOUT, CHUNK = 3, 60, 1 << 16  # further attempts; seconds without a byte; bytes


class DataError(ValueError):
    """The images cannot be used: the name is unknown, or the file is damaged, altered or of another data set."""


class DownloadError(OSError):
    """The file is not in the folder and cannot be downloaded."""


def cache_folder() -> Path:
    """The folder of slova in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "slova"


def data_folder(folder: str | Path | None = None) -> Path:
    """The data folder: the argument, else SLOVA_DATA, else the user's cache."""
    return Path(folder or os.environ.get("SLOVA_DATA") or cache_folder()).expanduser()


def fetch(url: str, checksum: str, folder: Path) -> Path:
    """The file in the folder, downloaded unless it is there. The checksum begins with its kind, such as "md5:"."""
    base, _, name = url.rpartition("/")
    path = folder / name
    if path.exists():
        kind, _, known = checksum.partition(":")
        if pooch.file_hash(str(path), kind) != known:
            raise DataError(f"{path} does not match its checksum: remove it, and it is downloaded from {url}")
        return path
    files = pooch.create(path=folder, base_url=base + "/", registry={name: checksum}, retry_if_failed=RETRIES)
    try:
        files.fetch(name, downloader=partial(_stream, name))
    except ValueError as error:
        raise DataError(f"{url} does not match its checksum, and nothing of it was kept") from error
    except OSError as error:
        raise DownloadError(
            f"{url} cannot be downloaded ({error}): try again, or put {name} into {folder} by hand"
        ) from error
    return path


def _stream(name: str, url: str, output_file: str, _: object) -> None:
    """A downloader for pooch, with a progress bar on a terminal."""
    import requests

    with requests.get(url, stream=True, timeout=TIMEOUT) as response, open(output_file, "wb") as file:
        response.raise_for_status()
        size = int(response.headers.get("content-length", 0))
        with progress(name) as report:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                report(file.tell() / max(1, size, file.tell()))
