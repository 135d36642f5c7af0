"""Validation rows in parquet files, a scorer, and every engine, each started once and stopped after these tests."""

import os
import shutil
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from slova import Scorer
from slova.batch import ParquetFiles, open_engine

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES, ROWS = 4, 6000


def sample(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident logits, and labels, some of them NONE."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(-1, CLASSES, rows)
    hits = (np.arange(CLASSES) == labels[:, None]) * 4.0
    return (2 * (generator.normal(-2.5, 1.5, (rows, CLASSES)) + hits)).astype(np.float32), labels


class Rows(NamedTuple):
    """A folder of parquet files, and what is in them."""

    folder: Path
    logits: np.ndarray
    labels: np.ndarray
    ids: np.ndarray

    def partitions(self, **options) -> ParquetFiles:
        return ParquetFiles.of(self.folder, **options)


def lists(logits: np.ndarray):
    return pa.FixedSizeListArray.from_arrays(pa.array(logits.ravel()), logits.shape[1])


def _written(folder: Path, rows: int, *, files: int, group: int) -> Rows:
    """Rows whose ids say nothing of their order, in files of several row groups."""
    logits, labels = sample(rows, 1)
    ids = np.random.default_rng(2).permutation(rows)
    table = pa.table({"id": ids, "logits": lists(logits), "label": labels, "name": [f"row {i}" for i in ids]})
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        pq.write_table(table.slice(part[0], len(part)), folder / f"{number}.parquet", row_group_size=group)
    return Rows(folder, logits, labels, ids)


@pytest.fixture(scope="session")
def rows(tmp_path_factory) -> Rows:
    return _written(tmp_path_factory.mktemp("engines") / "rows", ROWS, files=3, group=300)


@pytest.fixture(scope="session")
def scorer() -> Scorer:
    return Scorer.fit(*sample(3000, 0))


@pytest.fixture(scope="session")
def written():
    return _written


@pytest.fixture(scope="package")
def local():
    with open_engine("local", 2) as run:
        yield run


@pytest.fixture(scope="package")
def ray():
    data = pytest.importorskip("ray.data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ray warns of its own settings when they are first read
        data.DataContext.get_current().enable_progress_bars = False
    with open_engine("ray", 2) as run:
        yield run


@pytest.fixture(scope="package")
def spark():
    pytest.importorskip("pyspark")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Spark needs Java 17 or later, and there is none")
    with open_engine("spark", 2) as run:
        yield run


@pytest.fixture(params=["local", "ray", "spark"])
def engine(request):
    return request.getfixturevalue(request.param)
