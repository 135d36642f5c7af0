"""Ray datasets and Spark data frames are scored lazily, and fitted and evaluated in place."""

import numpy as np
import pytest

from slova import Scorer, batch
from slova.batch import ray as on_ray
from slova.batch import spark as on_spark
from slova.batch.engines import EngineError, open_engine

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ANSWERS = ["label", "confidence", "none", "ambiguous"]


@pytest.fixture(scope="module")
def dataset(ray, rows):
    import ray.data

    return ray.data.read_parquet(str(rows.folder)).materialize()


@pytest.fixture
def frame(spark, rows):
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession().read.parquet(str(rows.folder))


def assert_by_id(found, rows, scorer: Scorer, reject: float = 0.0) -> None:
    """The same rows, in whatever order, with the answers of one call."""
    order, wanted = np.argsort(found["id"].to_numpy()), np.argsort(rows.ids)
    np.testing.assert_array_equal(found["id"].to_numpy()[order], rows.ids[wanted])
    assert found["name"].to_pylist()[0] == f"row {found['id'][0]}"
    for name, column in scorer.predict(rows.logits, reject=reject).to_dict().items():
        np.testing.assert_array_equal(found[name].to_numpy()[order], column[wanted])


def table_of(dataset):
    return pa.concat_tables(list(dataset.iter_batches(batch_size=None, batch_format="pyarrow")))


def test_a_ray_dataset_is_scored_row_for_row(dataset, rows, scorer):
    found = table_of(on_ray.score(dataset, scorer, reject=0.5))
    assert found.column_names == ["id", "name", *ANSWERS]
    assert_by_id(found, rows, scorer, 0.5)


def test_the_tensors_that_ray_makes_of_numpy_arrays_are_logits(ray, rows, scorer):
    import ray.data

    columns = {"id": rows.ids, "name": [f"row {i}" for i in rows.ids], "logits": rows.logits}
    dataset = ray.data.range(1).map_batches(lambda _: columns)
    assert_by_id(table_of(on_ray.score(dataset, scorer)), rows, scorer)


def test_empty_blocks_of_a_ray_dataset_are_no_trouble(dataset, rows, scorer):
    import pyarrow.compute as pc

    few = dataset.map_batches(lambda table: table.filter(pc.less(table["id"], 3)), batch_format="pyarrow")
    found = table_of(on_ray.score(few, scorer))
    assert sorted(found["id"].to_pylist()) == [0, 1, 2]
    assert on_ray.rows(few).fold(lambda block, first: len(block.labels)) == 3


def test_a_spark_frame_is_scored_row_for_row(frame, rows, scorer):
    found = on_spark.score(frame, scorer, reject=0.5)
    assert found.columns == ["id", "name", *ANSWERS]
    assert dict(found.dtypes)["confidence"] == "float"
    assert_by_id(found.toArrow(), rows, scorer, 0.5)


def test_columns_of_doubles_in_spark_get_answers_in_double(frame, rows, scorer):
    columns = [f"cast(logits[{k}] as double) as logit_{k}" for k in range(4)]
    found = on_spark.score(frame.selectExpr("id", "name", *columns), scorer)
    assert dict(found.dtypes)["confidence"] == "double"
    assert_by_id(found.toArrow(), rows._replace(logits=rows.logits.astype(np.float64)), scorer)


@pytest.mark.parametrize("where", ["dataset", "frame"])
def test_data_in_an_engine_are_fitted_and_measured_there(request, rows, scorer, where):
    data = request.getfixturevalue(where)
    there = on_ray.rows(data) if where == "dataset" else on_spark.rows(data)
    with open_engine("local", 1) as one:
        wanted = batch.fit(rows.partitions(), engine=one)
        expected = batch.metrics(rows.partitions(), scorer, engine=one)
    fitted, found = batch.fit(there), batch.metrics(there, scorer)
    np.testing.assert_allclose(fitted.calibrator.exponents, wanted.calibrator.exponents, rtol=1e-6)
    np.testing.assert_allclose(fitted.calibrator.weights, wanted.calibrator.weights, rtol=1e-6)
    np.testing.assert_array_equal(fitted.validation.count, wanted.validation.count)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("where", ["dataset", "frame"])
def test_invalid_data_in_an_engine_are_errors(request, where):
    data = request.getfixturevalue(where)
    there = on_ray.rows(data.drop_columns(["label"])) if where == "dataset" else on_spark.rows(data.drop("label"))
    with pytest.raises(EngineError, match="the batch has no column 'label': found 'id', 'logits', 'name'"):
        batch.fit(there)
