"""An output that is neither a file nor a folder, such as a device, is refused and left as it was."""

import os
import socket
import stat
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner

from slova._atomic import atomic_path
from slova.cli import main
from slova.io import TableError, open_output

posix = pytest.mark.skipif(os.name != "posix", reason="has no such files")


@pytest.fixture(params=["pipe", "link to a pipe", "socket", "device", "loop of symbolic links"])
def special(request, tmp_path, monkeypatch):
    """The path of a special file, and what it is."""
    path = tmp_path / "out.csv"
    if request.param == "socket":
        monkeypatch.chdir(tmp_path)  # the name of a socket is short
        with closing(socket.socket(socket.AF_UNIX)) as opened:
            opened.bind(path.name)
            yield path, "a socket"
    elif request.param == "device":
        ends = os.openpty()
        path.symlink_to(os.ttyname(ends[1]))
        yield path, "a device"
        for end in ends:
            os.close(end)
    elif request.param == "loop of symbolic links":
        path.symlink_to(path)
        yield path, "a loop of symbolic links"
    else:
        target = tmp_path / "pipe" if request.param.startswith("link") else path
        os.mkfifo(target)
        if target != path:
            path.symlink_to(target)
        yield path, "a pipe"


def kinds(path):
    """Of the path itself and of what it leads to, if anything."""
    return stat.S_IFMT(path.lstat().st_mode), path.exists() and stat.S_IFMT(path.stat().st_mode)


@posix
def test_it_is_not_replaced(special):
    path, name = special
    before = kinds(path)
    with pytest.raises(OSError, match=f"it is {name}; give the path of a file"), atomic_path(path) as temporary:
        temporary.write_text("new")
    with pytest.raises(TableError, match=f"cannot be written: it is {name}; give"), open_output(path) as write:
        write({"label": np.zeros(1)})
    assert kinds(path) == before


@posix
def test_a_command_refuses_it_before_it_reads_a_file(special):
    path, name = special
    before = kinds(path)
    for words in (["report", "missing.npz"], ["fit", "missing.npz"], ["score", "missing.npz", "--model", "missing"]):
        answer = CliRunner().invoke(main, [*words, "-o", str(path)])
        assert answer.exit_code == 2
        assert answer.stderr == f"slova: error: {path} cannot be written: it is {name}; give the path of a file\n"
    assert kinds(path) == before


@posix
def test_a_link_to_a_file_that_is_not_there_yet_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with atomic_path(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
