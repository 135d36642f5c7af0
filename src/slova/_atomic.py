"""Files and folders that appear whole or not at all: they are written under a temporary name beside their own.

The temporary name has the machine and the process that writes. What a killed process left is removed by the next one
that writes the same file on that machine.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import platform
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

HERE = f"{zlib.crc32(platform.node().encode()):08x}"


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it on success and is removed otherwise. The mode of an existing file
    is kept, and a symbolic link is followed. A device or a pipe is never replaced."""
    if (kind := kind_of_special(path)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}; give the path of a file", str(path))
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {path.parent}", str(path))
    for left in abandoned(path):
        with contextlib.suppress(OSError):
            left.unlink()
    temporary = temporary_name(path)
    try:
        yield temporary
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def kind_of_special(path: str | Path) -> str | None:
    """What a path is that is neither a file nor a folder, such as a device; None if it is one of them, or missing."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return "a loop of symbolic links" if error.errno == errno.ELOOP else None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}.get(stat.S_IFMT(mode), "a device")


def temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{HERE}-{os.getpid()}-{secrets.token_hex(4)}.part")


def abandoned(path: Path, suffix: str = ".part") -> list[Path]:
    """The temporary files of `path` whose processes, on this machine, have ended."""
    found = path.parent.glob(f".{glob.escape(path.name)}.{HERE}-*{suffix}")
    return [left for left in found if not _is_running(left.name.removeprefix(f".{path.name}.{HERE}-").split("-")[0])]


def _is_running(process: str) -> bool:
    if os.name != "posix" or not process.isdigit():
        return True  # not known to have ended
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        pass
    return True
