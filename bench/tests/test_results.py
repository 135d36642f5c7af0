"""Rows on disk: what is written is read, incomplete lines are measured again, and a malformed file is refused."""

import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from slova_bench.histograms import Histograms
from slova_bench.results import Cell, Results, ResultsError, Row

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0, 0, 200)


def row(metric: str = "ece", value: float = 0.25, **parts) -> Row:
    return Row.of(CELL._replace(**parts), metric, value)


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path, "shift")


def test_rows_are_read_in_order_whatever_the_order_of_appending(results):
    rows = [row(seed=seed, level=level, metric=m) for seed in (2, 10) for level in (0.5, 10.0) for m in ("ece", "nll")]
    shuffled = random.Random(0).sample(rows, len(rows))
    results.append(shuffled[:3])
    results.append(shuffled[3:])
    assert results.close() == sorted(rows, key=lambda r: (r.level, r.seed, r.metric))
    assert results.read() == results.close()


@pytest.mark.parametrize("value", [0.123456781, 1e-12, -3.5, 0.0, math.inf, -math.inf, 123456789.0, 1 / 3])
def test_a_value_keeps_eight_digits(results, value):
    results.append([row(value=value)])
    results.close()
    assert results.read()[0].value == pytest.approx(value, rel=5e-8)
    before = results.path.read_bytes()
    results.close()
    assert results.path.read_bytes() == before


def test_a_level_of_many_digits_is_the_same_measurement_when_read(results):
    results.append([row(level=1 / 3)])
    assert results.close()[0].key == row(level=1 / 3).key


@pytest.mark.parametrize("name", ["a,b", 'say "a"', "M=2, n_b=5", "é\u2028ö", " ", "'"])
def test_names_may_hold_commas_quotes_and_non_ascii_letters(results, name):
    rows = [row(preset=name), row(parameter=name)]
    results.append(rows)
    assert sorted(results.read()) == sorted(rows)
    results.close()
    assert sorted(results.read()) == sorted(rows)


@pytest.mark.parametrize("name", ["a\nb", "a\r"])
def test_a_name_with_a_line_break_is_refused_and_nothing_is_written(results, name):
    with pytest.raises(ResultsError, match="no line break"):
        results.append([row(), row(preset=name)])
    assert not results.journal.exists()


def test_wherever_the_journal_is_cut_only_whole_lines_count_and_the_end_is_the_same(results):
    """A number that lost its last digits is still a number: the end of the line decides."""
    rows = [row(metric, 0.51234567 + seed, seed=seed, preset="ä,b") for seed in (0, 1) for metric in ("ece", "nll")]
    results.append(rows)
    whole = results.journal.read_bytes()
    expected = results.close()
    for cut in range(len(whole) + 1):
        results.path.unlink(missing_ok=True)
        results.journal.write_bytes(whole[:cut])
        found = results.read()
        assert [expected.index(r) for r in found] == list(range(len(found)))
        assert len(found) == whole[:cut].count(b"\n")
        results.append([r for r in rows if r.key not in {f.key for f in found}])
        assert results.close() == expected


def test_of_two_rows_for_one_measurement_the_later_one_counts(results):
    results.append([row(value=0.1)])
    results.close()
    results.append([row(value=0.2), row(value=0.3, n=100)])
    assert [(r.value, r.n) for r in results.close()] == [(0.3, 100)]


def test_what_cannot_be_read_in_a_journal_is_measured_again(results):
    results.append([row("ece"), row("nll")])
    first, second = results.journal.read_bytes().splitlines(keepends=True)
    results.journal.write_bytes(first.replace(b"0.25", b"\xff\x00") + b'"\n' + second)
    assert [r.metric for r in results.read()] == ["nll"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the columns must be experiment, method, .* and the metrics, got $"),
        ("a,b\n", "line 1: the columns must be .* got a, b"),
        ("{header}\n1,2\n", "line 2: there must be 13 columns, got 2"),
        ("{header}\n{row}\n\n", "line 3: there must be 13 columns, got 0"),
        ("{header}\n{row}\ns,m,,t,t,,zero,0,9,,0,0.5,1\n", "line 3, column level: 'zero' is not a number"),
        ("{header}\ns,m,,t,t,,0,0.5,9,,0,0.5,1\n", "line 2, column seed: '0.5' is not a number"),
        ("{header}\ns,m,,t,t,,0,0,many,,0,0.5,1\n", "line 2, column n: 'many' is not a number"),
        ("{header}\ns,m,,t,t,,0,0,9,M,,0.5,1\n", "line 2, column parameter_value: '' is not a number"),
        ("{header}\ns,m,,t,t,,0,0,9,,0,0.5,much\n", "line 2, column nll: 'much' is not a number"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_with_line_and_column(results, text, message):
    lines = {"header": ",".join((*Cell._fields, "ece", "nll")), "row": "s,m,,t,t,,0,0,9,,0,0.5,1"}
    results.path.write_text(text.format(**lines))
    with pytest.raises(ResultsError, match=message):
        results.read()


def test_a_cell_is_a_line_and_a_metric_a_column(results):
    rows = [row("ece", 0.5), row("nll", 1.0), row("nll", 2.0, seed=1), row("ece", math.nan, seed=2)]
    results.append(rows)
    results.close()
    header, *lines = (line.split(",") for line in results.path.read_text().splitlines())
    assert header == [*Cell._fields, "ece", "nll"]
    assert [line[-2:] for line in lines] == [["0.5", "1"], ["", "2"], ["nan", ""]]
    assert results.read()[:3] == rows[:3]
    assert math.isnan(results.read()[3].value)


def test_what_varies_is_columns_and_shown_as_one_text(results):
    cells = [{}, {"preset": "paper"}, {"parameter": "M", "parameter_value": 20.0}]
    cells += [{**cells[1], **cells[2]}, {**cells[2], "parameter_value": 3.0}]
    rows = [row(**parts) for parts in cells]
    results.append(rows)
    assert [r.variant for r in results.close()] == ["", "M=3", "M=20", "paper", "paper M=20"]
    assert len({r.key for r in rows}) == len(rows)
    assert {r.cell for r in results.read()} == {r.cell for r in rows}


def test_a_file_with_the_line_ends_of_another_system_is_read(results):
    results.append([row()])
    results.close()
    results.path.write_bytes(results.path.read_bytes().replace(b"\n", b"\r\n"))
    assert results.read() == [row()]


def test_a_close_that_fails_leaves_the_old_file_and_the_journal(results, monkeypatch):
    results.append([row("ece")])
    results.close()
    before = results.path.read_bytes()
    results.append([row("nll")])
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        results.close()
    monkeypatch.undo()
    assert results.path.read_bytes() == before
    assert {path.name for path in results.path.parent.iterdir()} == {results.path.name, results.journal.name}
    assert {r.metric for r in results.close()} == {"ece", "nll"}
    assert [path.name for path in results.path.parent.iterdir()] == [results.path.name]


# One process has everything imported and forks the writers; each says by a byte that a batch was written.
WRITERS = """
import os, random, signal, sys
from pathlib import Path
import numpy as np
from slova_bench.histograms import Histogram, Histograms
from slova_bench.results import Cell, Results, Row

BATCHES = 16

def write(folder, writer, pipe, pauses):
    results = Results(folder, "shift")
    histograms = Histograms(results.path)
    for number in range(BATCHES):
        cell = Cell("shift", f"method{writer}", "", "digits-train", "digits-test", "", float(number), 0, 200)
        histograms.append([Histogram(cell, np.full((3, 100), [[1], [1], [0.5]]))])
        results.append([Row.of(cell, metric, 0.5) for metric in ("ece", "nll", "brier")])
        os.write(pipe, b".")
        if pauses.random() < 0.2:
            histograms.close()
            results.close()

folders = [Path(sys.argv[1]) / str(pair) for pair in range(6)]
writers = []
for index, (folder, writer) in enumerate((folder, writer) for folder in folders for writer in range(2)):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        write(folder, writer, writing, random.Random(index))
        os._exit(0)
    os.close(writing)
    writers.append((folder, writer, reading, child, 3 * (1 + index // 3) if index % 3 == 0 else BATCHES + 1))
for folder, writer, reading, child, kill_after in writers:
    written = 0
    while os.read(reading, 1):
        written += 1
        if written == kill_after:
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(folder, writer, written)
"""


def test_six_pairs_of_processes_lose_nothing_though_some_are_killed(tmp_path):
    """Twelve writers of six folders, which close them again and again; a third of the writers are killed on the way."""
    done = subprocess.run([sys.executable, "-c", WRITERS, tmp_path], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        folder, writer, written = line.split()
        results = Results(folder, "shift")
        Histograms(results.path).close()
        expected = {(float(number), metric) for number in range(int(written)) for metric in ("ece", "nll", "brier")}
        assert {(row.level, row.metric) for row in results.close() if row.method == f"method{writer}"} >= expected
        drawn = {h.cell.level for h in Histograms(results.path).read() if h.cell.method == f"method{writer}"}
        assert drawn >= {level for level, _ in expected}
        assert int(written) >= 3
        assert not list(Path(folder).glob(".*journal*"))
