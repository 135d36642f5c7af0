"""A file of a few kilobytes that declares much is refused unread: its header, footer or schema is enough."""

import io
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager

import click
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.lib import format as npy_format

from slova.batch.partitions import ParquetFiles
from slova.cli.terminal import Program
from slova.io import Table, TableError
from slova.io.parquet import block_of

MIB = 1 << 20


@contextmanager
def little_memory(most=4 * MIB):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def save_member(path, content, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive, archive.open("logits.npy", "w") as member:
        member.write(content)


def header(shape, *, fortran=False):
    file = io.BytesIO()
    npy_format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": fortran, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_is_compressed_as_numpy_does(tmp_path, compression):
    """Of other compressions Python decompresses all that it has read."""
    save_member(tmp_path / "a.npz", header((2 * MIB, 1)) + bytes(16 * MIB), compression)
    with little_memory(), pytest.raises(TableError, match="logits must be compressed by deflate or not at all"):
        next(Table(tmp_path / "a.npz").blocks())


def test_a_long_header_is_refused_by_its_length(tmp_path):
    long = npy_format.magic(2, 0) + struct.pack("<I", 16 * MIB) + b" " * (16 * MIB)
    save_member(tmp_path / "a.npz", long)
    (tmp_path / "a.npy").write_bytes(long)
    for name in ("a.npz", "a.npy"):
        with little_memory(), pytest.raises(TableError, match="is not an npy array, or is damaged"):
            next(Table(tmp_path / name).blocks())


def test_a_header_of_version_2_is_read(tmp_path):
    logits = np.arange(6.0).reshape(2, 3)
    with open(tmp_path / "a.npy", "wb") as file:
        npy_format.write_array(file, logits, version=(2, 0))
    assert next(Table(tmp_path / "a.npy").blocks()).logits.tolist() == logits.tolist()


def test_the_copy_of_an_array_in_fortran_order_is_bounded(tmp_path, monkeypatch):
    data = np.arange(3 * MIB // 8, dtype=float)
    save_member(tmp_path / "a.npz", header((MIB // 8, 3), fortran=True) + data.tobytes())
    read = np.concatenate([block.logits for block in Table(tmp_path / "a.npz", memory=3 * MIB).blocks()])
    np.testing.assert_array_equal(read, data.reshape(3, -1).T)
    save_member(tmp_path / "b.npz", header((MIB // 8, 3), fortran=True) + data.tobytes() + b"more")
    with pytest.raises(TableError, match="there is data after its 131072 rows"):
        next(Table(tmp_path / "b.npz").blocks())
    monkeypatch.setattr("slova.io.arrays.tempfile.TemporaryFile", None)  # nothing is copied
    with pytest.raises(TableError, match="Fortran order: its copy of 3 MiB is more than --max-memory, 2 MiB"):
        next(Table(tmp_path / "a.npz", memory=2 * MIB).blocks())


def test_a_block_of_csv_has_fewer_rows_the_more_other_columns_there_are(tmp_path):
    names = ["logit_0", "logit_1", "label", *(f"other_{k}" for k in range(2000))]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["0"] * len(names)) + "\n")
    for table in (Table(tmp_path / "a.csv"), Table(tmp_path / "a.csv", tmp_path / "a.csv", size=10**6, memory=MIB)):
        with little_memory(32 * MIB):
            assert table.arrays()[0].shape == (1, 2)
    with pytest.raises(TableError, match=r"has 2003 columns: a row of 0 MiB is more than --max-memory, 0 MiB"):
        Table(tmp_path / "a.csv", memory=1000).arrays()


@pytest.fixture
def unread(monkeypatch):
    """pyarrow, which fails the test where rows are read."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def iter_batches(*_, **__):
        raise AssertionError("a row was read")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    return pa, pq


@pytest.mark.parametrize("column", ["label", "logit_1", "logits"])
@pytest.mark.parametrize("values", [["a", "b"], [b"a", b"b"], [True, False], ["dictionary", "dictionary"]])
def test_a_column_that_is_not_of_numbers_is_refused_by_the_schema(tmp_path, unread, column, values):
    pa, pq = unread
    values = pa.array(values).dictionary_encode() if values[0] == "dictionary" else pa.array(values)
    values = pa.ListArray.from_arrays([0, 1, 2], values) if column == "logits" else values
    columns = {"logit_0": [0.0, 1.0], "logit_1": [0.0, 1.0], "label": [0, 1], column: values}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(TableError, match=rf"has the type \S+ in column '{column}'; expected numbers"):
        Table(tmp_path / "a.parquet").arrays()


def test_integers_in_a_dictionary_are_numbers():
    pa = pytest.importorskip("pyarrow")
    batch = pa.record_batch({"logit_0": [0.5, 1.5], "label": pa.array([1, 0]).dictionary_encode()})
    assert block_of(batch, ("logits", "labels"), "batch", 0).labels.tolist() == [1, 0]


def save_skewed(pa, pq, path, values):
    """One row that has all the numbers, and empty rows: 4 numbers per row on average."""
    rows = values // 3
    offsets = np.full(rows + 1, values, np.int32)
    offsets[0] = 0
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.zeros(values)))
    pq.write_table(pa.table({"logits": column}), path, row_group_size=rows)


def test_lists_and_pages_are_compared_with_the_memory_by_the_footer(tmp_path, unread):
    pa, pq = unread
    save_skewed(pa, pq, tmp_path / "list.parquet", MIB // 4)
    zeros = pa.array(np.zeros(MIB // 8))
    columns = {"logit_0": zeros, "logit_1": zeros, "label": zeros.cast("int64")}
    pq.write_table(pa.table(columns), tmp_path / "pages.parquet", use_dictionary=False, compression="zstd")
    np.save(tmp_path / "logits.npy", np.zeros((MIB // 8, 2)))
    sentence = "has a row group of {} MiB that is compressed to . KiB, more than --max-memory, 1 MiB: raise it, or"
    for name, size in (("list", 2), ("pages", 2)):
        with pytest.raises(TableError, match=sentence.format(size)):
            next(Table(tmp_path / f"{name}.parquet", memory=MIB).blocks())
        with pytest.raises(TableError, match=sentence.format(size)):
            ParquetFiles.of(tmp_path / f"{name}.parquet", memory=MIB)
    with pytest.raises(TableError, match=r"is compressed to . KiB, more than --max-memory, 0 MiB"):
        next(Table(tmp_path / "logits.npy", tmp_path / "pages.parquet", memory=MIB - 1).blocks(labelled=True))


@pytest.mark.parametrize("as_list", [False, True])
def test_a_row_group_may_be_larger_than_the_memory_as_pages_are_read(tmp_path, as_list):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    logits = np.random.default_rng(0).normal(size=(50_000, 3)).astype(np.float32)
    columns = {"logits": list(logits)} if as_list else {f"logit_{k}": logits[:, k] for k in range(3)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_dictionary=False)
    blocks = [block.logits for block in Table(tmp_path / "a.parquet", memory=MIB // 8).blocks()]
    np.testing.assert_array_equal(np.concatenate(blocks), logits)
    assert len(blocks) > 4


def test_a_flat_column_does_not_pass_for_the_list(tmp_path):
    """By its name in the footer, a column `logits.x` could be a part of the list `logits`."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"logits.x": ["a", "b"], "logits": pa.array([np.zeros(MIB // 4)] * 2)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(TableError, match="has 262144 logits per row: a row of 2 MiB is more than --max-memory, 1 MiB"):
        next(Table(tmp_path / "a.parquet", memory=MIB).blocks())


@pytest.mark.parametrize("kind", [ValueError, MemoryError])
def test_a_long_message_is_cut_off(kind):
    @click.group(cls=Program)
    def program():
        """A program."""

    @program.command()
    def fail():
        raise kind("Unable to allocate " + "x" * 10_000)

    said = CliRunner().invoke(program, ["fail"]).stderr
    assert said.startswith("slova: error: ")
    assert " ..." in said
    assert len(said) < 900
    assert ("--batch-size" in said) == (kind is MemoryError)
