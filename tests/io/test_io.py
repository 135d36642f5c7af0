"""Reading logits and labels in blocks, in every format."""

import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import slova
from slova.io import Table, TableError, csv

FORMATS = ["npz", "npy", "csv", "parquet", "list.parquet"]
ROWS, CLASSES = 257, 3


@pytest.fixture
def arrays():
    generator = np.random.default_rng(0)
    return generator.normal(0, 3, (ROWS, CLASSES)).astype(np.float32), generator.integers(-1, CLASSES, ROWS)


def save(folder: Path, kind: str, logits: np.ndarray, labels: np.ndarray) -> Table:
    """A table of this kind, as its users write it."""
    path, label_path = folder / f"table.{kind}", None
    if kind == "npz":
        np.savez(path, logits=logits, labels=labels)
    elif kind == "npy":
        label_path = folder / "labels.npy"
        np.save(path, logits)
        np.save(label_path, labels)
    elif kind == "csv":
        names = ",".join([*(f"logit_{k}" for k in range(logits.shape[1])), "label"])
        np.savetxt(path, np.column_stack([logits, labels]), "%.17g", ",", header=names, comments="")
    else:
        save_parquet(path, logits, labels, as_list=kind.startswith("list"))
    return Table(path, label_path)


def save_parquet(path, logits, labels, *, as_list):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {"logits": list(logits)} if as_list else {f"logit_{k}": column for k, column in enumerate(logits.T)}
    pq.write_table(pa.table({**columns, "label": labels}), path, row_group_size=100)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("size", [None, 1, 64, 1000])
def test_blocks_of_any_size_give_all_rows_in_order(tmp_path, arrays, kind, size):
    table = save(tmp_path, kind, *arrays)
    blocks = list(Table(table.path, table.labels, size).blocks(labelled=True, classes=CLASSES))
    np.testing.assert_array_equal(np.concatenate([block.logits for block in blocks]), arrays[0])
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), arrays[1])
    assert max(len(block.labels) for block in blocks) <= (size or ROWS)
    assert [block.done for block in blocks] == sorted(block.done for block in blocks)
    assert blocks[-1].done == 1.0


def test_labels_may_be_called_label_or_labels_in_every_format(tmp_path, arrays):
    logits, labels = arrays
    np.savez(tmp_path / "a.npz", logits=logits, label=labels)
    save(tmp_path, "csv", logits, labels)
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "b.csv").write_text(text.replace("label", "labels", 1))
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"logits": list(logits), "labels": labels}), tmp_path / "c.parquet")
    for name in ("a.npz", "b.csv", "c.parquet"):
        np.testing.assert_array_equal(Table(tmp_path / name).arrays()[1], labels)
    assert csv.read_text_columns(tmp_path / "b.csv") == {}


@pytest.mark.parametrize("kind", FORMATS)
def test_labels_are_read_only_if_requested(tmp_path, arrays, kind):
    table = save(tmp_path, kind, *arrays)
    assert next(table.blocks()).labels is None
    assert table.classes() == CLASSES


@pytest.mark.parametrize("kind", ["npz", "npy"])
@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_reads_the_same_in_any_order_and_precision(tmp_path, arrays, kind, dtype, order):
    logits = np.asarray(arrays[0].astype(dtype), order=order)
    table = save(tmp_path, kind, logits, arrays[1])
    read, labels = Table(table.path, table.labels, 100).arrays()
    np.testing.assert_array_equal(read, logits)
    np.testing.assert_array_equal(labels, arrays[1])
    assert read.dtype in (np.float32, np.float64)
    assert read.dtype.isnative


def test_a_compressed_npz_file_is_streamed_too(tmp_path, arrays):
    np.savez_compressed(tmp_path / "table.npz", logits=arrays[0], labels=arrays[1])
    np.testing.assert_array_equal(Table(tmp_path / "table.npz", size=50).arrays()[0], arrays[0])


def test_labels_may_be_in_a_file_of_another_format(tmp_path, arrays):
    logits = save(tmp_path, "npy", *arrays).path
    labels = save(tmp_path, "csv", *arrays).path
    np.testing.assert_array_equal(Table(logits, labels, 100).arrays()[1], arrays[1])


@pytest.mark.parametrize("change", [-1, 1])
def test_rows_and_labels_must_have_the_same_length(tmp_path, arrays, change):
    table = save(tmp_path, "npy", *arrays)
    np.save(table.labels, np.resize(arrays[1], ROWS + change))
    with pytest.raises(TableError, match="more"):
        table.arrays()
    np.savez(tmp_path / "table.npz", logits=arrays[0], labels=np.resize(arrays[1], ROWS + change))
    with pytest.raises(TableError, match=r"logits \(257, 3\) do not match labels"):
        Table(tmp_path / "table.npz").arrays()


def test_other_columns_an_index_and_blank_lines_are_left_alone(tmp_path):
    text = ',name,logit_0,"logit_1",age,label\n0,first,1.5,-2,30,1\n\n1,"se,cond",1e-3,+4,40,-1\n'
    (tmp_path / "table.csv").write_text(text, encoding="utf-8-sig")
    logits, labels = Table(tmp_path / "table.csv").arrays()
    assert logits.tolist() == [[1.5, -2.0], [0.001, 4.0]]
    assert labels.tolist() == [1, -1]
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    columns = {"name": ["a", "b"], "logit_0": [1.5, 0.001], "age": [30, 40], "logit_1": [-2, 4], "label": [1, -1]}
    pd.DataFrame(columns, index=[5, 7]).to_parquet(tmp_path / "table.parquet")
    assert Table(tmp_path / "table.parquet").arrays()[0].tolist() == [[1.5, -2.0], [0.001, 4.0]]


@pytest.mark.parametrize("names", ["cat,dog,label", "age,label", "label,confidence,none,ambiguous"])
def test_only_columns_named_logit_or_prob_are_read(tmp_path, names):
    """Other numeric columns are not, such as an age, or the columns of predictions."""
    table = np.ones((3, names.count(",") + 1))
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header=names, comments="")
    found = "found " + ", ".join(map(repr, names.split(",")))
    expected = "expected logit_0, logit_1, ... or prob_0, prob_1, ..."
    with pytest.raises(TableError, match=rf"table.csv has no column of logits or probabilities: {expected}, {found}"):
        list(Table(tmp_path / "table.csv").blocks())
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(dict(zip(names.split(","), table.T, strict=True))), tmp_path / "table.parquet")
    with pytest.raises(
        TableError, match=rf"{expected}, {found}; a list column 'logits' or 'probs' is accepted as well"
    ):
        Table(tmp_path / "table.parquet").arrays()


def test_numbered_columns_are_taken_by_their_number(tmp_path):
    (tmp_path / "table.csv").write_text(
        "id,logit_10,logit_2," + ",".join(f"logit_{k}" for k in (*range(2), *range(3, 10)))
    )
    with open(tmp_path / "table.csv", "a") as file:
        file.write("\n99,10,2,0,1,3,4,5,6,7,8,9\n")
    assert next(Table(tmp_path / "table.csv").blocks()).logits.tolist() == [list(range(11))]


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv"])
def test_reading_needs_memory_for_a_block_and_not_for_the_file(tmp_path, suffix):
    logits = np.random.default_rng(0).normal(size=(60_000, 10))
    table = save(tmp_path, suffix, logits, np.zeros(len(logits), np.int64))
    tracemalloc.start()
    rows = sum(len(block.logits) for block in Table(table.path, table.labels, 1000).blocks(labelled=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == len(logits)
    assert peak < logits.nbytes / 2  # 4.8 MB; a block is 80 kB


def test_no_zip_member_is_trusted_beyond_its_checksum(tmp_path, arrays):
    path = save(tmp_path, "npz", *arrays).path
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        content[archive.getinfo("logits.npy").header_offset + 400] ^= 1
    path.write_bytes(content)
    with pytest.raises(TableError, match="damaged"):
        list(Table(path).blocks())


def test_an_array_that_goes_on_after_its_rows_is_refused(tmp_path, arrays):
    path = save(tmp_path, "npy", *arrays).path
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(TableError, match="data after its 257 rows"):
        list(Table(path).blocks())


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0, 2.0], [1.0]], "1 logits in row 1 .* expected 2"),
        ([[1.0, 2.0], None], "0 logits in row 1 .* expected 2"),
        ([[1.0, 2.0], [None, 1.0]], "NaN in 1 of 2 rows, the first in row 1"),
        ([["a"], ["b"]], "type string in column 'logits'; expected numbers"),
        ([[], []], "0 logits in row 0"),
    ],
)
def test_every_row_of_a_list_column_must_have_the_same_length(tmp_path, rows, sentence):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"logits": rows}), tmp_path / "table.parquet")
    with pytest.raises(TableError, match=sentence):
        list(Table(tmp_path / "table.parquet").blocks())


def test_a_parquet_file_is_not_read_a_row_group_at_once(tmp_path):
    """Measured in a separate process, as the memory pool of Arrow has one peak per process."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    logits = np.random.default_rng(0).normal(size=(3, 1_500_000))
    table = pa.table({f"logit_{k}": column for k, column in enumerate(logits)})
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=logits.shape[1])
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=150_000)
    code = """
import sys, pyarrow
from pathlib import Path
from slova.io import Table
for path in sys.argv[1:]:
    print(sum(len(block.logits) for block in Table(Path(path), size=10_000).blocks()))
print(pyarrow.default_memory_pool().max_memory())
"""
    command = [sys.executable, "-c", code, *map(str, tmp_path.glob("*.parquet"))]
    environment = {**os.environ, "PYTHONPATH": str(Path(slova.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *rows, most = map(int, done.stdout.split())
    assert rows == [1_500_000, 1_500_000]
    assert most < logits.nbytes / 2  # of 36 MB; each of the three columns has buffers of a few megabytes


@pytest.mark.parametrize("cell", ["1_5", "１５", "٣", "0x1", "1e_3", "", "1 5"])
def test_only_plain_decimal_numbers_are_read_from_csv(tmp_path, cell):
    (tmp_path / "table.csv").write_text(f"logit_0,logit_1\n1,2\n3,{cell}\n", encoding="utf-8")
    with pytest.raises(TableError, match=f"'{cell}' in row 1 .counted from 0., column 'logit_1'; expected a number"):
        list(Table(tmp_path / "table.csv").blocks())


@pytest.mark.parametrize("name", ["logit_01", "logit_１"])
def test_columns_of_logits_are_numbered_in_plain_digits(tmp_path, name):
    (tmp_path / "table.csv").write_text(f"logit_0,logit_1,{name}\n1,2,3\n", encoding="utf-8")
    with pytest.raises(TableError, match=f"has the column '{name}'; expected logit_0, logit_1, ... without leading"):
        list(Table(tmp_path / "table.csv").blocks())


def test_a_header_is_read_in_linear_time(tmp_path):
    """Comparisons of names are counted, as seconds depend on the machine."""
    comparisons = 0

    class Name(str):
        __hash__ = str.__hash__

        def strip(self):
            return self

        def __eq__(self, other):
            nonlocal comparisons
            comparisons += 1
            return str.__eq__(self, other)

    names = [Name(f"logit_{k}") for k in range(2000)]
    assert csv._chosen(csv._header(iter([names]), tmp_path), ("logits",), tmp_path)["logits"] == list(range(2000))
    assert comparisons < 20 * len(names)
