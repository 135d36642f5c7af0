"""Kill it at any point and run it again: the rows are those of an undisturbed run, byte for byte."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from slova_bench.cli.progress import TimeLeft
from slova_bench.runner import Plan, execute

KILLS = 10
# A process that has everything imported starts runs as children of its own, so that a start costs nothing, and kills
# them: really, by SIGKILL, in turn after a delay that a seed decides, and when a file of weights or rows has come. A
# run that got to its end counts for nothing: its rows are compared, and the next one starts from an empty folder.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from slova_bench.runner import Plan, execute
torch.set_num_threads(1)

def run(folder):
    execute(Plan(experiment="ood", methods=("softmax", "react", "slova"), quick=True,
                 results=folder / "results", store=folder / "store", models=None))

def start(folder):
    child = os.fork()
    if child:
        return child
    run(folder)
    os._exit(0)

def stage(folder):
    return tuple(len(list(folder.glob(kind))) for kind in ("store/weights/*.safetensors", "results/.*journal*"))

def is_running(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

where, kills, runs, times = Path(sys.argv[1]), int(sys.argv[2]), 0, random.Random(0)
run(where / "undisturbed")
began = time.monotonic()
assert os.waitpid(start(where / "timed"), 0)[1] == 0
whole = time.monotonic() - began
killed, stages = 0, set()
while True:
    folder = where / f"run{runs}"
    first = stage(folder)
    child = start(folder)
    if killed < kills:
        if killed % 2 == 0:
            time.sleep(times.uniform(0, 0.6 * whole))
        while killed % 2 and stage(folder) == first and is_running(child):
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed += 1
        stages.add(stage(folder))
        continue
    assert status == 0
    for name in ("ood-digits-quick.csv", "ood-digits-quick.parquet"):
        assert (folder / "results" / name).read_bytes() == (where / "undisturbed/results" / name).read_bytes(), name
    hidden = [path for path in (folder / "results").iterdir() if path.name.startswith(".") and path.suffix != ".part"]
    assert not hidden, hidden
    runs += 1
    if killed == kills:
        break
print(killed, runs, len(stages))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_kills_at_random_moments_change_nothing(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLER, str(tmp_path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    killed, runs, stages = map(int, done.stdout.split())
    assert killed == KILLS
    assert runs >= 1
    assert stages >= 2, "the kills did not come at different stages"


ROWS = "results/ood-digits-quick.csv"


def plan(folder: Path, **changes) -> Plan:
    chosen = {"experiment": "ood", "methods": ("softmax", "slova"), "quick": True, "models": None, **changes}
    return Plan(**chosen, results=folder / "results", store=folder / "store")


class Crash(BaseException):
    """Not caught by any handler, like a power cut."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> bytes:
    """The rows of one run to the end."""
    folder = tmp_path_factory.mktemp("undisturbed")
    execute(plan(folder))
    return (folder / ROWS).read_bytes()


@pytest.mark.parametrize("seed", range(2))
def test_a_crash_at_any_write_changes_nothing(tmp_path, monkeypatch, undisturbed, seed):
    """The disk stops at a random write, and of a journal's last line only a part arrived."""
    times, folder = random.Random(seed), tmp_path / "disturbed"
    for _ in range(5):
        left = times.randrange(1, 8)

        def failing(number):
            nonlocal left
            left -= 1
            if left <= 0:
                raise Crash

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failing)
            try:
                execute(plan(folder))
            except Crash:
                _cut(folder / "results" / ".ood-digits-quick.journal.csv", times)
    execute(plan(folder))
    assert (folder / ROWS).read_bytes() == undisturbed


def _cut(journal: Path, times: random.Random) -> None:
    if journal.exists():
        content = journal.read_bytes()
        journal.write_bytes(content[: len(content) - times.randrange(0, min(len(content), 60))])


def test_a_run_that_was_out_of_time_is_completed_by_the_next(tmp_path, undisturbed):
    counts = [len(execute(plan(tmp_path, minutes=1e-9))) for _ in range(3)]
    assert 0 < counts[0] < counts[1] < counts[2]
    execute(plan(tmp_path))
    assert (tmp_path / ROWS).read_bytes() == undisturbed


def test_methods_and_seeds_may_come_one_after_the_other(tmp_path):
    execute(plan(tmp_path / "whole", seeds=(0, 1)))
    for methods in (("slova",), ("softmax", "slova")):
        for seeds in ((1,), (0,)):
            execute(plan(tmp_path / "parts", methods=methods, seeds=seeds))
    assert (tmp_path / "parts" / ROWS).read_bytes() == (tmp_path / "whole" / ROWS).read_bytes()


def test_the_work_that_is_announced_is_the_work_that_is_done(tmp_path):
    for methods in (("softmax",), ("softmax", "react", "slova", "energy")):
        announced, steps = [], []
        execute(plan(tmp_path, methods=methods), steps.append, announced.extend)
        assert sum(announced) == len(steps) > 0
        assert all(steps)
    assert announced == [5, 5, 5]  # react and slova have networks of their own; softmax is there, energy is new
    again: list[int] = []
    execute(plan(tmp_path, methods=methods), pytest.fail, again.extend)
    assert again == []


def test_the_time_left_counts_trainings_apart_from_sets():
    left = TimeLeft([3, 3, 3])
    assert left(100.0) == 200.0  # two more networks, and nothing is known of sets yet
    assert left(1.0) == 200.0 + 5 * 1.0
    assert [left(1.0), left(50.0)] == [200.0 + 4, 75.0 + 4]
    assert [left(1.0) for _ in range(4)][-1] == pytest.approx(1.0 * 1)
    assert left(1.0) == 0
    assert left(1.0) == 0  # more than was announced is no trouble
