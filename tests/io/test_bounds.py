"""What a file declares is compared with what is expected before its rows are read: a small file cannot take the memory
of the machine."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import slova
from slova.batch.partitions import ParquetFiles
from slova.cli import main
from slova.io import Table, TableError
from slova.scorer import Scorer

WIDE = 10_000_000  # logits per row, 40 MB in float32
MIB = 1 << 20
PATHS = ["wide.npz", "wide.npy", "fortran.npz", "list.parquet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that declare two rows of ten million logits, all compressed but the npy file."""
    folder = tmp_path_factory.mktemp("wide")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    logits, labels = np.zeros((2, WIDE), np.float32), np.zeros(2, np.int64)
    np.savez_compressed(folder / "wide.npz", logits=logits, labels=labels)
    np.savez_compressed(folder / "fortran.npz", logits=np.asfortranarray(logits), labels=labels)
    np.save(folder / "wide.npy", logits)
    column = pa.ListArray.from_arrays(pa.array([0, WIDE, 2 * WIDE], "int32"), pa.array(logits.ravel()))
    pq.write_table(pa.table({"logits": column, "label": labels}), folder / "list.parquet")
    generator = np.random.default_rng(0)
    Scorer.fit(generator.normal(size=(90, 3)), generator.integers(0, 3, 90)).save(folder / "model.slova")
    return folder


def test_what_is_declared_is_compared_before_a_row_is_read(folder):
    """In a process of its own: Arrow has one peak per process."""
    code = """
import sys, tracemalloc, pyarrow
from pathlib import Path
from slova.io import Table, TableError
def messages():
    for options in ({"expected": 3}, {"memory": 16 << 20}):
        for path in sys.argv[1:]:
            try:
                list(Table(Path(path), **options).blocks())
            except TableError as error:
                yield str(error)
list(messages())  # imports what it needs, and where that was never compiled, compiles it
tracemalloc.start()
print(*messages(), sep="\\n")
print(tracemalloc.get_traced_memory()[1], pyarrow.default_memory_pool().max_memory())
"""
    paths = [str(folder / name) for name in PATHS]
    environment = {**os.environ, "PYTHONPATH": str(Path(slova.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True, env=environment
    )
    *messages, peaks = done.stdout.splitlines()
    assert messages[:4] == [f"{path} has {WIDE} logits per row, expected 3, one per class" for path in paths]
    sizes = [76 if path.endswith("parquet") else 38 for path in paths]  # of parquet, float64 is assumed
    assert messages[4:] == [
        f"{path} has {WIDE} logits per row: a row of {size} MiB is more than --max-memory, 16 MiB"
        for path, size in zip(paths, sizes, strict=True)
    ]
    assert max(map(int, peaks.split())) < 2 * MIB


@pytest.mark.parametrize("command", ["score", "metrics", "report"])
@pytest.mark.parametrize("name", ["wide.npz", "list.parquet"])
def test_commands_compare_with_their_model_first(folder, monkeypatch, command, name):
    monkeypatch.setattr("slova.io.table._checked", lambda table, blocks, classes: _nothing_read(blocks))
    answer = CliRunner().invoke(main, [command, str(folder / name), "--model", str(folder / "model.slova")])
    assert answer.exit_code == 2
    assert f"has {WIDE} logits per row, expected 3" in answer.stderr


def _nothing_read(blocks):
    next(blocks)
    raise AssertionError("a block was read")


def test_an_array_of_another_type_is_refused_by_its_header(tmp_path):
    """A row of a void type can be as large as the file declares."""
    np.savez_compressed(tmp_path / "void.npz", logits=np.zeros((2, 1), "V20000000"), labels=np.zeros(2, "V20000000"))
    tracemalloc.start()
    with pytest.raises(TableError, match="has logits of type"):
        Table(tmp_path / "void.npz").arrays()
    assert tracemalloc.get_traced_memory()[1] < 2 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "parquet"])
def test_arrays_over_the_memory_are_refused_after_a_block(tmp_path, suffix, monkeypatch):
    logits, labels = np.zeros((50_000, 4)), np.zeros(50_000, np.int64)
    path, labels_path = tmp_path / f"rows.{suffix}", None
    if suffix == "npz":
        np.savez(path, logits=logits, labels=labels)
    elif suffix == "npy":
        labels_path = tmp_path / "labels.npy"
        np.save(path, logits)
        np.save(labels_path, labels)
    elif suffix == "csv":
        np.savetxt(path, np.column_stack([logits, labels]), "%d", ",", header="logit_0,logit_1,logit_2,logit_3,label",
                   comments="")  # fmt: skip
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({**{f"logit_{k}": logits[:, k] for k in range(4)}, "label": labels}), path)
    table = Table(path, labels_path, size=1000, memory=MIB)
    read = []
    monkeypatch.setattr("slova.io.table.integer_labels", lambda labels, *_: read.append(labels) or labels)
    with pytest.raises(TableError, match=r"needs 1 MiB, more than --max-memory, 1 MiB: raise it, or fit with --stream"):
        table.arrays()
    assert len(read) == 1
    assert len(list(Table(path, size=100_000, memory=MIB // 10).blocks())) > 10  # blocks are cut to fit


def test_an_engine_checks_the_footers_of_all_files(folder, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    with pytest.raises(TableError, match="is more than --max-memory"):
        ParquetFiles.of(folder / "list.parquet", memory=16 * MIB)
    pq.write_table(
        pa.table({"logits": pa.array([np.zeros(3, np.float32)] * 2), "label": [0, 1]}), tmp_path / "a.parquet"
    )
    (tmp_path / "b.parquet").symlink_to(folder / "list.parquet")
    with pytest.raises(TableError, match=f"b.parquet has {WIDE} logits per row, expected 3"):
        ParquetFiles.of(tmp_path)


@pytest.mark.parametrize("column", ["logit_0", "label", "name"])
def test_a_doubled_column_is_one_sentence(tmp_path, column):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = ["logit_0", "logit_1", "label", "name", column]
    pq.write_table(pa.Table.from_arrays([pa.array([0.0, 1.0])] * 5, names=names), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=f"t.parquet has the column '{column}' twice"):
        Table(tmp_path / "t.parquet").arrays()
    with pytest.raises(TableError, match=f"t.parquet has the column '{column}' twice"):
        ParquetFiles.of(tmp_path / "t.parquet")


def test_a_page_that_does_not_match_its_checksum_is_refused(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, mark = tmp_path / "t.parquet", np.pi
    columns = {"logit_0": np.full(4, mark), "logit_1": np.zeros(4)}
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, write_page_checksum=True,
                   write_statistics=False)  # fmt: skip
    assert len(next(Table(path).blocks()).logits) == 4
    path.write_bytes(path.read_bytes().replace(np.full(1, mark).tobytes(), np.ones(1).tobytes()))
    with pytest.raises(TableError, match=r"(?i)checksum"):
        list(Table(path).blocks())
