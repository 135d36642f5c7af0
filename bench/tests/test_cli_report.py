"""`slova bench report` from the command line: one file, one sentence per error, nothing half written."""

import pytest
from click.testing import CliRunner
from slova_bench.results import Cell, Results, Row

from slova.cli import main

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 100)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def results(folder):
    rows = [
        Row.of(CELL._replace(method=method, shift=shift, level=float(bool(shift)), seed=seed), metric, 0.1 * (1 + seed))
        for method in ("softmax", "slova")
        for shift in ("", "fog")
        for seed in (0, 1)
        for metric in ("accuracy", "ece", "nll", "brier", "mmc")
    ]
    results = Results(folder / "results", "shift-digits")
    results.append(rows)
    results.close()
    return folder / "results"


def report(*words: object):
    return CliRunner().invoke(main, ["bench", "report", *map(str, words)])


def fails(*words: object) -> str:
    """The sentence of a command that ended with exit code 2 and wrote nothing."""
    done = report(*words)
    assert (done.exit_code, done.stdout) == (2, ""), (done.stdout, done.stderr, done.exception)
    assert len(done.stderr.splitlines()) == 1
    return done.stderr.removeprefix("slova: error: ").strip()


def test_results_become_one_page_whose_path_is_printed(results):
    done = report()
    assert (done.exit_code, done.stdout) == (0, "report.html\n"), done.stderr
    assert done.stderr.strip().endswith(" s")
    page = (results.parent / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert len(page) < 5e6
    assert not list(results.parent.glob(".*.part"))


def test_figures_and_docs_come_beside_the_page(results):
    done = report("--figures", "figures", "--docs", "docs")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == ["docs", "figures", "report.html"]
    names = {path.name for path in (results.parent / "figures").iterdir()}
    assert {"shift-digits.svg", "shift-digits.png", "confidence-map.svg"} <= names
    assert (results.parent / "docs" / "results.md").exists()
    assert "run slova bench run ood" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--results", "nowhere"], "there is no folder nowhere: run slova bench run shift --on digits"),
        (
            ["--results", "."],
            "there are no results in .: run slova bench run shift --on digits, or name another folder",
        ),
        (["-o", "no/such/page.html"], "no/such/page.html cannot be written: there is no folder no/such"),
        (["good.npz"], "Got unexpected extra argument"),
    ],
)
def test_an_error_is_one_sentence(folder, words, sentence):
    (folder / "report.html").write_text("before")
    assert fails(*words).startswith(sentence)
    assert (folder / "report.html").read_text() == "before"


def test_a_malformed_csv_is_refused_with_line_and_column(results):
    path = results / "shift-digits.csv"
    lines = path.read_text().splitlines()
    lines[4] = lines[4].rpartition(",")[0] + ",many"
    path.write_text("\n".join(lines) + "\n")
    assert fails().endswith("shift-digits.csv, line 5, column nll: 'many' is not a number")
