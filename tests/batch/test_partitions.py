"""Partitions of parquet files contain every row once, in order, with its number."""

import numpy as np
import pytest

from slova import Scorer, batch
from slova.batch import EngineError, ParquetFiles, open_engine
from slova.io import TableError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("options", [{}, {"rows": 1}, {"rows": 700}, {"rows": 900, "size": 77}])
def test_partitions_hold_every_row_once_and_in_order(rows, options):
    table = rows.partitions(**options)
    blocks = [block for partition in table.partitions for block in partition.blocks(4, labelled=True)]
    np.testing.assert_array_equal(np.concatenate([block.logits for _, block in blocks]), rows.logits)
    np.testing.assert_array_equal(np.concatenate([block.labels for _, block in blocks]), rows.labels)
    lengths = [len(block.labels) for _, block in blocks]
    assert [first for first, _ in blocks] == np.append(0, np.cumsum(lengths)[:-1]).tolist()
    assert (table.rows, table.classes) == (len(rows.labels), 4)


def test_a_partition_and_a_block_are_no_larger_than_requested(rows):
    assert len(rows.partitions().partitions) == 3
    assert [partition.rows for partition in rows.partitions(rows=600).partitions] == [600, 600, 600, 200] * 3
    [first, *_] = rows.partitions(size=77).partitions
    assert max(batch.num_rows for _, batch in first.batches()) == 77


def test_files_are_taken_in_the_order_they_are_given_in(rows):
    files = [rows.folder / "2.parquet", rows.folder / "0.parquet"]
    found = [partition.path for partition in ParquetFiles.of(files).partitions]
    assert found == files


def test_columns_of_tensors_keep_their_logits_in_a_file(rows, tmp_path):
    pq.write_table(
        pa.table({"logits": pa.FixedShapeTensorArray.from_numpy_ndarray(rows.logits)}), tmp_path / "t.parquet"
    )
    [partition] = ParquetFiles.of(tmp_path).partitions
    np.testing.assert_array_equal(next(partition.blocks(4, labelled=False))[1].logits, rows.logits)


def test_hidden_files_are_no_rows(rows, tmp_path):
    (tmp_path / "rows.parquet").write_bytes((rows.folder / "0.parquet").read_bytes())
    for name in ("_SUCCESS", "_metadata.parquet", ".rows.parquet"):
        (tmp_path / name).write_text("no parquet")
    assert ParquetFiles.of(tmp_path).rows == 2000


def test_an_empty_file_among_others_is_no_trouble(rows, tmp_path):
    table = pq.read_table(rows.folder / "0.parquet")
    for name, part in (("a", table.slice(0, 0)), ("b", table), ("c", table.slice(0, 0))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    assert ParquetFiles.of(tmp_path).rows == 2000
    assert ParquetFiles.of(tmp_path).classes == 4
    with pytest.raises(TableError, match=r"a\.parquet has no rows"):
        ParquetFiles.of(tmp_path / "a.parquet")


def wrong_files(folder, good):
    pq.write_table(good.drop_columns("logits"), folder / "nothing.parquet")
    pq.write_table(good.append_column("more", good["id"]), folder / "other.parquet")
    (folder / "text.parquet").write_text("no parquet")
    (folder / "rows.csv").write_text("logit_0\n1\n")
    (folder / "empty").mkdir()


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["text.parquet"], "text.parquet is not a readable parquet file"),
        (["rows.csv"], "rows.csv has the suffix '.csv'; an engine reads .parquet files and folders of them"),
        (["empty"], "empty has no parquet files"),
        (["good.parquet", "other.parquet"], "other.parquet has other columns than"),
        ([], "expected at least one parquet file"),
    ],
)
def test_invalid_files_are_errors_that_name_them(rows, tmp_path, names, sentence):
    good = pq.read_table(rows.folder / "0.parquet")
    pq.write_table(good, tmp_path / "good.parquet")
    wrong_files(tmp_path, good)
    with pytest.raises(TableError, match=sentence):
        ParquetFiles.of([tmp_path / name for name in names])


def test_a_missing_file_is_distinguished_from_a_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        ParquetFiles.of(tmp_path / "missing.parquet")


def test_an_engine_needs_a_registered_name_and_a_worker():
    with pytest.raises(EngineError, match="engine must be one of local, ray, spark, got 'dask'"):
        open_engine("dask")
    with pytest.raises(EngineError, match="workers must be at least 1, got 0"):
        open_engine("local", 0)


def test_rows_of_another_number_of_classes_are_refused(rows, tmp_path):
    with pytest.raises(EngineError, match="the rows have 4 logits each, but the scorer takes 3"):
        batch.score(rows.partitions(), tmp_path / "out", Scorer(classes=3))
    assert list(tmp_path.iterdir()) == []
