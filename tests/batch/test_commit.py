"""A folder of parts appears whole or not at all, and replaces nothing that it should not."""

import os
from pathlib import Path

import pytest

from slova.batch import EngineError
from slova.batch.commit import check_folder, commit_folder, part_name, write_part

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BATCH = pa.RecordBatch.from_pydict({"id": [1, 2]})


def filled(output: Path, parts: int = 2, **options) -> None:
    with commit_folder(output, parts, **options) as staging:
        for number in range(parts):
            write_part(staging, number, [BATCH, BATCH])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_has_its_parts_a_mark_and_nothing_else(tmp_path):
    filled(tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["_SUCCESS", "part-000000.parquet", "part-000001.parquet"]
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == [1, 2] * 4


def test_the_folder_appears_with_its_last_part(tmp_path):
    with commit_folder(tmp_path / "out", 1) as staging:
        write_part(staging, 0, [BATCH])
        assert not (tmp_path / "out").exists()
        assert staging.name.startswith(".")
    assert (tmp_path / "out").exists()


def test_a_failure_leaves_nothing(tmp_path):
    def broken():
        yield BATCH
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), commit_folder(tmp_path / "out", 1) as staging:
        write_part(staging, 0, broken())
    assert names(tmp_path) == []


def test_a_missing_part_is_a_failure(tmp_path):
    missing = pytest.raises(EngineError, match=r"1 of 2 parts are missing, the first is part-000000\.parquet")
    with missing, commit_folder(tmp_path / "out", 2) as staging:
        write_part(staging, 1, [BATCH])
    assert names(tmp_path) == []


def test_what_a_killed_worker_left_behind_goes(tmp_path):
    with commit_folder(tmp_path / "out", 1) as staging:
        write_part(staging, 0, [BATCH])
        (staging / f".{part_name(0)}.123.abc").write_text("half a part")
    assert names(tmp_path / "out") == ["_SUCCESS", "part-000000.parquet"]


def test_a_part_that_two_workers_made_is_there_once(tmp_path):
    with commit_folder(tmp_path / "out", 1) as staging:
        write_part(staging, 0, [BATCH])
        write_part(staging, 0, [BATCH])
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == [1, 2]


def test_an_existing_folder_is_replaced_only_with_overwrite(tmp_path):
    filled(tmp_path / "out", 3)
    with pytest.raises(EngineError, match="out already exists"):
        filled(tmp_path / "out", 1)
    assert len(names(tmp_path / "out")) == 4
    filled(tmp_path / "out", 1, overwrite=True)
    assert names(tmp_path / "out") == ["_SUCCESS", "part-000000.parquet"]
    assert names(tmp_path) == ["out"]


def test_a_failure_leaves_the_older_folder(tmp_path):
    filled(tmp_path / "out", 3)
    with pytest.raises(ZeroDivisionError), commit_folder(tmp_path / "out", 1, overwrite=True):
        raise ZeroDivisionError
    assert len(names(tmp_path / "out")) == 4


def test_the_older_folder_comes_back_if_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    filled(tmp_path / "out", 3)
    rename = os.rename

    def refuse(source, target):
        if Path(target).name == "out" and not str(source).endswith(".old"):
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(EngineError, match="out cannot be written: Permission denied"):
        filled(tmp_path / "out", 1, overwrite=True)
    assert names(tmp_path) == ["out"]
    assert len(names(tmp_path / "out")) == 4


@pytest.mark.parametrize("content", ["thesis.tex", "part-000007.parquet"])
def test_a_folder_of_anything_else_is_never_replaced(tmp_path, content):
    filled(tmp_path / "out")
    (tmp_path / "out" / content).write_text("precious")
    with pytest.raises(EngineError, match="out is not a folder of scored parts and is not overwritten"):
        filled(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / content).read_text() == "precious"


def test_a_folder_that_holds_an_input_is_never_replaced(tmp_path):
    filled(tmp_path / "out")
    with pytest.raises(EngineError, match="out contains an input"):
        check_folder(tmp_path / "out", overwrite=True, inputs=[tmp_path / "out" / "part-000000.parquet"])


def test_a_folder_that_cannot_be_made_is_known_before_the_work(tmp_path):
    with pytest.raises(EngineError, match="there is no folder"):
        filled(tmp_path / "missing" / "out")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(EngineError, match="file is not a folder of scored parts"):
        filled(tmp_path / "file", overwrite=True)
