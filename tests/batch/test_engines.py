"""Real local clusters give what one process gives: row for row, bit for bit, and when a worker is killed."""

import os
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from slova import batch
from slova.batch import EngineError, Plan, open_engine
from slova.batch.batches import pack
from slova.batch.fitting import fit_and_evaluate
from slova.batch.jobs import rows_of
from slova.scorer import Scorer

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 6000


def assert_scored(folder: Path, rows, scorer: Scorer, reject: float) -> None:
    """The answers of one call, with the other columns beside them, in the order of the input."""
    found = pq.read_table(folder)
    assert found.column_names == ["id", "name", "label", "confidence", "none", "ambiguous"]
    np.testing.assert_array_equal(found["id"].to_numpy(), rows.ids)
    assert found["name"].to_pylist()[:3] == [f"row {i}" for i in rows.ids[:3]]
    for name, column in scorer.predict(rows.logits, reject=reject).to_dict().items():
        np.testing.assert_array_equal(found[name].to_numpy(), column)


def test_results_come_in_the_order_of_the_items(engine):
    commands = [["sh", "-c", f"sleep {0.6 - number / 5}; echo {number}"] for number in range(4)]
    assert list(engine(partial(subprocess.check_output, text=True), commands)) == ["0\n", "1\n", "2\n", "3\n"]


def test_scores_are_those_of_one_process_row_for_row(engine, rows, scorer, tmp_path):
    done = batch.score(rows.partitions(rows=600), tmp_path / "out", scorer, reject=0.5, engine=engine)
    assert_scored(tmp_path / "out", rows, scorer, 0.5)
    rejected = int((scorer.predict(rows.logits, reject=0.5).label == -1).sum())
    assert done == (ROWS, rejected, 12)
    assert rejected > 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.filterwarnings("ignore::slova._fitting.CalibrationWarning")
def test_a_fit_is_that_of_one_process_bit_for_bit(engine, rows):
    source = rows.partitions(rows=300, size=100)
    with open_engine("local", 1) as one:
        wanted = batch.fit(source, engine=one)
    found = batch.fit(source, engine=engine)
    assert pack(found) == pack(wanted)
    logits = rows.logits[:500]
    in_memory = Scorer.fit(rows.logits, rows.labels, calibration="exponential")
    np.testing.assert_allclose(found.predict(logits).confidence, in_memory.predict(logits).confidence, atol=0.01)
    assert found.threshold(risk=0.3) == pytest.approx(in_memory.threshold(risk=0.3), abs=0.01)


def test_a_fit_is_judged_by_rows_that_it_did_not_see(engine, rows):
    with open_engine("local", 1) as one:
        wanted = fit_and_evaluate(rows_of(rows.partitions(rows=300), one), Plan(pairs="top"))
    found = fit_and_evaluate(rows_of(rows.partitions(rows=300), engine), Plan(pairs="top"))
    assert found.report == wanted.report
    assert found.report.rows == ROWS
    assert found.report.ece_after < found.report.ece_before / 2


def test_metrics_are_those_of_one_process_bit_for_bit(engine, rows, scorer):
    source, ood = rows.partitions(rows=300), rows.partitions(rows=900)
    with open_engine("local", 1) as one:
        wanted = batch.metrics(source, scorer, ood=ood, engine=one)
    assert batch.metrics(source, scorer, ood=ood, engine=engine) == wanted
    assert (wanted["rows"], wanted["ood_rows"]) == (ROWS, ROWS + (rows.labels == -1).sum())
    assert wanted["accuracy"] == pytest.approx((scorer.predict(rows.logits).label == rows.labels).mean())


@pytest.mark.parametrize("column", ["logits", "label"])
def test_the_first_row_that_cannot_be_used_is_named_and_nothing_is_written(engine, rows, scorer, tmp_path, column):
    table = pq.read_table(rows.folder)
    logits, labels = rows.logits.copy(), rows.labels.copy()
    logits[[3200, 4500], 1], labels[[3200, 4500]] = np.nan, 9
    bad = pa.FixedSizeListArray.from_arrays(pa.array(logits.ravel()), 4) if column == "logits" else pa.array(labels)
    table = table.set_column(table.column_names.index(column), column, bad)
    pq.write_table(table, tmp_path / "bad.parquet", row_group_size=300)
    source = batch.ParquetFiles.of(tmp_path / "bad.parquet", rows=300)
    work = partial(batch.score, source, tmp_path / "out", scorer) if column == "logits" else partial(batch.fit, source)
    with pytest.raises(EngineError, match=r"bad\.parquet has .* in row 3200 \(counted from 0\)"):
        work(engine=engine)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.parquet"]


def test_a_missing_column_is_named(engine, rows, tmp_path):
    pq.write_table(pq.read_table(rows.folder).drop_columns("label"), tmp_path / "bare.parquet")
    with pytest.raises(EngineError, match=r"bare\.parquet has no column 'label': found 'id', 'logits', 'name'"):
        batch.fit(tmp_path / "bare.parquet", engine=engine)


@pytest.mark.slow
def test_a_worker_killed_in_mid_job_costs_no_row(engine, written, scorer, tmp_path):
    """The killer waits until a part is done and another one is being written, and shoots the process that writes it."""
    many = written(tmp_path / "rows", 100_000, files=2, group=5000)
    killed: list[Path] = []
    killer = threading.Thread(target=kill_a_writer, args=(tmp_path, killed), daemon=True)
    killer.start()
    done = batch.score(many.partitions(rows=5000, size=50), tmp_path / "out", scorer, engine=engine)
    killer.join(60)
    assert len(killed) == 1
    assert (done.rows, done.parts) == (100_000, 20)
    assert_scored(tmp_path / "out", many, scorer, 0.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows"]
    assert len(list((tmp_path / "out").iterdir())) == 21


def kill_a_writer(folder: Path, killed: list[Path]) -> None:
    while not list(folder.glob(".out.*.part/part-*.parquet")):
        time.sleep(0.001)
    while not killed:
        for path in folder.glob(".out.*.part/.part-*.parquet.*"):
            part, process = path.name[1:].split(".parquet.")
            os.kill(int(process.split("-")[1]), signal.SIGKILL)
            if not (path.parent / f"{part}.parquet").exists():  # so it was in the middle of it
                killed.append(path)
            break
