"""Every writer of the library, killed at random points, on a full disk, on one that is read-only, and beside another.

The writers run in children of one process that has everything imported. A child counts the lines of the library that it
runs and kills itself at one of them, so that a case is the same on every machine. SLOVA_FAULTS is the number of kills
per writer; `make faults` makes more.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import slova

pytest.importorskip("pyarrow")
KILLS = int(os.environ.get("SLOVA_FAULTS", "8"))
WRITERS = ["scorer", "csv", "npz", "npy", "parquet", "folder"]
HARNESS = """
import json, os, random, resource, signal, sys
from pathlib import Path
import numpy as np, pyarrow as pa
import slova
from slova.batch.commit import commit_folder, write_part
from slova.io import open_output
from slova.scorer import Scorer

LIBRARY = str(Path(slova.__file__).parent)

def write(name, path, number):
    if name == "scorer":
        Scorer(classes=number).save(path)
    elif name == "folder":
        with commit_folder(path, 2, overwrite=True) as staging:
            for part in range(2):
                write_part(staging, part, [pa.RecordBatch.from_pydict({"x": [number] * 10})])
    else:
        with open_output(path) as write_block:
            for _ in range(3):
                write_block({"label": np.full(2000, number), "confidence": np.full(2000, 0.5)})

def output(name, folder):
    return folder / {"scorer": "out.slova", "folder": "out"}.get(name, f"out.{name}")

def content(path):
    if path.is_dir():
        return [content(each) for each in sorted(path.iterdir())]
    return path.read_bytes() if path.exists() else None

def in_child(task):
    child = os.fork()
    if not child:
        try:
            task()
        except BaseException as error:
            print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
            os._exit(1)
        os._exit(0)
    return child

def traced(task, last):
    count = 0
    def line(frame, event, _):
        nonlocal count
        if event == "line":
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return line
    def call(frame, event, _):
        return line if frame.f_code.co_filename.startswith(LIBRARY) else None
    sys.settrace(call)
    task()
    sys.settrace(None)
    return count

name, cases = sys.argv[1], int(sys.argv[3])

def begin(part):
    global folder, path, wholes
    folder = Path(sys.argv[2]) / part
    folder.mkdir()
    path, wholes = output(name, folder), []
    for number in (3, 4):
        write(name, path, number)
        wholes.append(content(path))
"""
KILLED = """
begin("killed")
lines, left = traced(lambda: write(name, path, 3), None), 0
chance = random.Random(name)
for case in range(cases):
    child = in_child(lambda: traced(lambda: write(name, path, 3 + case % 2), chance.randint(1, lines)))
    chance.random()
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    there = content(path)
    if there is None:  # between two renames of folders; the next one who writes finds it
        assert name == "folder" and list(folder.glob(".out.*.part.old"))
    else:
        assert there in wholes
    left += len(list(folder.glob(".*")))
    write(name, path, 3)
    assert content(path) == wholes[0]
    assert [each.name for each in folder.iterdir()] == [path.name]
print(left, flush=True)
"""
FULL = """
begin("full")
def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    write(name, path, 3)
for _ in range(2):
    assert os.waitpid(in_child(limited), 0)[1] != 0
    assert content(path) == wholes[1]
    assert [each.name for each in folder.iterdir()] == [path.name]
"""
TWO = """
print("two", flush=True)
begin("two")
children = [in_child(lambda: [write(name, path, 3 + number) for _ in range(cases)]) for number in range(2)]
failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
assert name == "folder" or not failed  # a folder that another one replaces meanwhile is an error of one sentence
write(name, path, 3)
assert content(path) == wholes[0]
assert [each.name for each in folder.iterdir()] == [path.name]
"""


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_leaves_what_was_there_before_or_all_that_is_new(tmp_path, name):
    """Killed, on a full disk, and beside another writer; what killed ones leave is removed by the next."""
    command = [sys.executable, "-c", HARNESS + KILLED + FULL + TWO, name, str(tmp_path), str(KILLS)]
    environment = {**os.environ, "PYTHONPATH": str(Path(slova.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    left, *errors = done.stdout.splitlines()
    assert int(left) > 0  # some were killed within
    middle = errors.index("two")
    assert middle == 2
    assert all("too large" in json.loads(line) for line in errors[:middle])
    assert all(json.loads(line).startswith("EngineError: ") for line in errors[middle + 1 :])


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a file system that nobody can write to")
@pytest.mark.parametrize("name", ["out.csv", "out.npz", "out.npy", "out.parquet"])
def test_a_read_only_disk_is_one_sentence(name):
    from slova.io import TableError, open_output

    with pytest.raises(TableError, match=f"{name} cannot be written: "), open_output(Path("/sys/kernel") / name):
        pass
