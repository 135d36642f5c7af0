"""Predictions are written in blocks, in every format."""

from pathlib import Path

import numpy as np
import pytest

from slova.io import open_output

COLUMNS = {
    "label": np.array([1, -1, 0]),
    "confidence": np.array([0.1, 1 / 3, 1.0]),
    "none": np.float32([0.3, 0, 1e-30]),
}


def read_back(path: Path) -> dict[str, np.ndarray]:
    if path.suffix == ".csv":
        found = np.genfromtxt(path, delimiter=",", names=True)
        return {name: found[name] for name in found.dtype.names}
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return {name: column.to_numpy() for name, column in zip(COLUMNS, pq.read_table(path).columns, strict=True)}
    with np.load(path) if path.suffix == ".npz" else open(path, "rb") as file:
        found = file if path.suffix == ".npz" else np.load(file)
        return {name: found[name] for name in COLUMNS}


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "parquet"])
def test_what_is_written_in_blocks_is_read_back_exactly(tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    with open_output(path) as write:
        write({name: column[:2] for name, column in COLUMNS.items()})
        write({name: column[2:] for name, column in COLUMNS.items()})
    for name, column in read_back(path).items():
        np.testing.assert_array_equal(column.astype(COLUMNS[name].dtype), COLUMNS[name])
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "parquet"])
def test_a_failure_leaves_what_was_there_before_and_nothing_else(tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), open_output(path) as write:
        write(COLUMNS | {"ambiguous": 1 / len(write.__doc__ or "")})
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_overwritten_file_keeps_its_mode_and_a_symbolic_link_its_target(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.touch(mode=0o640)
    target.chmod(0o640)
    link.symlink_to(target)
    with open_output(link) as write:
        write(COLUMNS)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(read_back(target)["label"], COLUMNS["label"])
