"""Parquet files in pieces: every row once, in order, knowing where it stands."""

import numpy as np
import pytest

from slova import Scorer, batch
from slova.batch import EngineError, Parquet, opened
from slova.io import TableError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("options", [{}, {"rows": 1}, {"rows": 700}, {"rows": 900, "size": 77}])
def test_pieces_hold_every_row_once_and_in_order(rows, options):
    table = rows.pieces(**options)
    blocks = [block for piece in table.pieces for block in piece.blocks(4, labelled=True)]
    np.testing.assert_array_equal(np.concatenate([block.logits for _, block in blocks]), rows.logits)
    np.testing.assert_array_equal(np.concatenate([block.labels for _, block in blocks]), rows.labels)
    lengths = [len(block.labels) for _, block in blocks]
    assert [first for first, _ in blocks] == np.append(0, np.cumsum(lengths)[:-1]).tolist()
    assert (table.rows, table.classes) == (len(rows.labels), 4)


def test_a_piece_is_as_small_as_asked_and_a_block_never_larger(rows):
    assert len(rows.pieces().pieces) == 3
    assert [piece.rows for piece in rows.pieces(rows=600).pieces] == [600, 600, 600, 200] * 3
    [first, *_] = rows.pieces(size=77).pieces
    assert max(batch.num_rows for _, batch in first.batches(4)) == 77


def test_files_are_taken_in_the_order_they_are_given_in(rows):
    files = [rows.folder / "2.parquet", rows.folder / "0.parquet"]
    found = [piece.path for piece in Parquet.of(files).pieces]
    assert found == files


def test_columns_of_tensors_keep_their_logits_in_a_file(rows, tmp_path):
    pq.write_table(
        pa.table({"logits": pa.FixedShapeTensorArray.from_numpy_ndarray(rows.logits)}), tmp_path / "t.parquet"
    )
    [piece] = Parquet.of(tmp_path).pieces
    np.testing.assert_array_equal(next(piece.blocks(4, labelled=False))[1].logits, rows.logits)


def test_hidden_files_are_no_rows(rows, tmp_path):
    (tmp_path / "rows.parquet").write_bytes((rows.folder / "0.parquet").read_bytes())
    for name in ("_SUCCESS", "_metadata.parquet", ".rows.parquet"):
        (tmp_path / name).write_text("no parquet")
    assert Parquet.of(tmp_path).rows == 2000


def test_an_empty_file_among_others_is_no_trouble(rows, tmp_path):
    table = pq.read_table(rows.folder / "0.parquet")
    for name, part in (("a", table.slice(0, 0)), ("b", table), ("c", table.slice(0, 0))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    assert Parquet.of(tmp_path).rows == 2000
    assert Parquet.of(tmp_path).classes == 4
    with pytest.raises(TableError, match=r"a\.parquet has no rows"):
        Parquet.of(tmp_path / "a.parquet")


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
        ([], "wanted at least one parquet file"),
    ],
)
def test_files_that_cannot_be_used_are_named(rows, tmp_path, names, sentence):
    good = pq.read_table(rows.folder / "0.parquet")
    pq.write_table(good, tmp_path / "good.parquet")
    wrong_files(tmp_path, good)
    with pytest.raises(TableError, match=sentence):
        Parquet.of([tmp_path / name for name in names])


def test_a_missing_file_is_told_from_a_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        Parquet.of(tmp_path / "missing.parquet")


def test_an_engine_wants_a_name_and_a_worker():
    with pytest.raises(EngineError, match="there is no engine 'dask', wanted one of local, ray, spark"):
        opened("dask")
    with pytest.raises(EngineError, match="at least one worker, got 0"):
        opened("local", 0)


def test_rows_of_another_number_of_classes_are_refused(rows, tmp_path):
    with pytest.raises(EngineError, match="the rows have 4 logits each, and the scorer has 3 classes"):
        batch.score(rows.pieces(), tmp_path / "out", Scorer(classes=3))
    assert list(tmp_path.iterdir()) == []
