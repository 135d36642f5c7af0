"""What only a process of its own can show: signals, limits of memory and disk, closed pipes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import slova
from slova.scorer import Scorer

SOURCE = str(Path(slova.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE}
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background may have been told to ignore it
from slova.scorer import Scorer
predict = Scorer.predict
def slow(*arguments, **options):
    print("working", file=sys.stderr, flush=True)
    time.sleep(0.2)
    return predict(*arguments, **options)
Scorer.predict = slow
from slova.cli import main
main(sys.argv[1:], prog_name="slova")
"""


def python(code: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, **options)


@pytest.fixture
def folder(tmp_path):
    Scorer(classes=64).save(tmp_path / "model.slova")
    np.save(tmp_path / "logits.npy", np.random.default_rng(0).normal(size=(1000, 64)))
    return tmp_path


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "slova"], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert "Usage: slova" in done.stdout + done.stderr
    done = subprocess.run([sys.executable, "-m", "slova", "--version"], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout.startswith("slova, version ")


ENDS = [
    (suffix, *end)
    for suffix in ("csv", "npz", "npy", "parquet")
    for end in ((signal.SIGINT, 130), (signal.SIGTERM, 143))
]


@pytest.mark.parametrize(  # the tests of faults kill the writer of every suffix
    ("suffix", "number", "code"), [*ENDS, ("csv", signal.SIGKILL, -9)]
)
def test_a_killed_score_leaves_the_old_output(folder, number, code, suffix):
    out = folder / f"out.{suffix}"
    out.write_text("before")
    arguments = ["score", folder / "logits.npy", "--model", folder / "model.slova", "-o", out, "--batch-size", 10]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *map(str, arguments)], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    with process:
        assert [process.stderr.readline() for _ in range(3)] == ["working\n"] * 3
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == code
    assert out.read_text() == "before"
    assert "Traceback" not in said
    if number != signal.SIGKILL:  # which gives nobody a chance to tidy up
        assert not list(folder.glob(".*"))


def test_a_full_disk_leaves_the_old_output(folder):
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" + SLOW.replace("0.2", "0")
    for suffix in ("csv", "npz", "npy", "parquet"):
        out = folder / f"out.{suffix}"
        out.write_text("before")
        done = python(limited, "score", folder / "logits.npy", "--model", folder / "model.slova", "-o", out)
        assert done.returncode == 2, done.stderr
        assert f"slova: error: {out} cannot be written: " in done.stderr
        assert "Traceback" not in done.stderr
        assert out.read_text() == "before"
        assert not list(folder.glob(".*"))


@pytest.mark.parametrize("command", ["score", "metrics", "fit"])
def test_a_file_larger_than_the_memory_is_no_trouble(folder, command):
    """An address space of 32 MB beyond what the imports take, for a file of 40 MB (of holes, so it costs no disk)."""
    rows = 40 * 2**20 // (64 * 4)
    for name, shape, dtype in (("big", (rows, 64), "<f4"), ("labels", (rows,), "<i1")):
        with open(folder / f"{name}.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
            file.truncate(file.tell() + int(np.prod(shape)) * np.dtype(dtype).itemsize)
    code = """
import resource, sys
from pathlib import Path
import scipy.optimize, scipy.special, scipy.stats
import slova.cli.fit, slova.cli.metrics, slova.cli.score, slova.cli.stream
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 32 * 2**20,) * 2)
slova.cli.main(sys.argv[1:], prog_name="slova")
"""
    options = {
        "score": ["--model", folder / "model.slova", "-o", folder / "out.npy"],
        "metrics": ["--labels", folder / "labels.npy", "--json", "--head", "slova"],
        "fit": [
            "--labels",
            folder / "labels.npy",
            "-o",
            folder / "new.slova",
            "--stream",
            "--calibration",
            "none",
            "--head",
            "slova",
        ],
    }[command]
    done = python(code, command, folder / "big.npy", *options, "--batch-size", 1024)
    assert done.returncode == 0, done.stderr
    if command == "score":
        assert len(np.load(folder / "out.npy", mmap_mode="r")) == rows


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    arguments = [sys.executable, "-m", "slova", "score", folder / "logits.npy", "--model", folder / "model.slova"]
    with subprocess.Popen(
        [*map(str, arguments), "--batch-size", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert "Traceback" not in said
    assert "error" not in said.lower()


def test_a_bar_is_drawn_on_a_terminal_only(folder):
    pty = pytest.importorskip("pty")
    main_end, end = pty.openpty()
    arguments = [
        sys.executable,
        "-m",
        "slova",
        "score",
        folder / "logits.npy",
        "--model",
        folder / "model.slova",
        "-o",
        folder / "o.npy",
    ]
    subprocess.run([*map(str, arguments)], stderr=end, env={**ENVIRONMENT, "NO_COLOR": "1"}, timeout=60, check=True)
    os.close(end)
    drawn = os.read(main_end, 10_000).decode()
    os.close(main_end)
    assert "scoring" in drawn
    assert "100%" in drawn
    assert "\x1b[3" not in drawn  # no colour
    quiet = subprocess.run(
        [*map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=True
    )
    assert quiet.stderr.count("\n") == 1
