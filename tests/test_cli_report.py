"""`slova report`: one file, errors of one sentence, atomic output."""

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.scorer import Scorer


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logits = np.random.default_rng(0).normal(size=(30, 3))
    np.savez("good.npz", logits=logits, labels=np.arange(30) % 4 - 1)
    np.savez("nan.npz", logits=np.where(logits > 2, np.nan, logits), labels=np.arange(30) % 3)
    np.save("wide.npy", np.zeros((4, 5)))
    Scorer(classes=3).save("model.slova")
    return tmp_path


def report(*words: object):
    return CliRunner().invoke(main, ["report", *map(str, words)])


def fails(*words: object) -> str:
    """The error message of a command that exited with code 2 and wrote nothing."""
    done = report(*words)
    assert (done.exit_code, done.stdout) == (2, ""), (done.stdout, done.stderr, done.exception)
    assert len(done.stderr.splitlines()) == 1
    return done.stderr.removeprefix("slova: error: ").strip()


def test_logits_become_one_page(folder):
    done = report("good.npz", "--model", "model.slova", "--ood", "good.npz", "-o", "mine.html")
    assert (done.exit_code, done.stdout) == (0, "mine.html\n"), done.stderr
    assert done.stderr.strip().endswith(" s")
    page = (folder / "mine.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "good.npz" in page
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.npz"], "missing.npz cannot be read: No such file or directory"),
        (["nan.npz"], "nan.npz has NaN in"),
        (
            ["good.npz", "--head", "slova", "--ood", "wide.npy"],
            "wide.npy has 5 logits per row, expected 3, one per class",
        ),
        (["good.npz", "--model", "good.npz"], "good.npz is not a slova file"),
        (["good.npz", "--model", "model.slova", "--head", "ova"], "--head has no effect with --model"),
        ([], "Missing argument 'LOGITS'"),
        (["good.npz", "-o", "good.npz"], "good.npz is also an input and would be replaced"),
        (["good.npz", "-o", "no/such/page.html"], "no/such/page.html cannot be written: there is no folder no/such"),
    ],
)
def test_invalid_input_is_an_error(folder, words, sentence):
    (folder / "report.html").write_text("before")
    assert fails(*words).startswith(sentence)
    assert (folder / "report.html").read_text() == "before"


def test_the_missing_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("slova.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    assert fails("good.npz") == 'a report needs altair: pip install "slova[report]"'


def test_the_page_can_go_to_stdout(folder):
    done = report("good.npz", "-o", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert not (folder / "-").exists()


def test_a_page_needs_neither_torch_nor_pyarrow_nor_matplotlib(folder):
    code = """
import sys
for name in ("torch", "pyarrow", "matplotlib", "pandas", "slova_bench"):
    sys.modules[name] = None
from slova.cli import main
main(["report", "good.npz", "--model", "model.slova"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "report.html\n"), done.stderr
