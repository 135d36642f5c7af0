"""The pure function that every engine maps over Arrow record batches."""

import numpy as np
import pytest

from slova import Scorer
from slova.batch import score_batch
from slova.batch.batches import read_batch, score_table
from slova.io import TableError

pa = pytest.importorskip("pyarrow")

LOGITS = np.random.default_rng(0).normal(-1, 3, (50, 3)).astype(np.float32)
SCORER = Scorer(classes=3)
LISTS = pa.array(list(LOGITS), pa.list_(pa.float32()))
FIXED = pa.FixedSizeListArray.from_arrays(pa.array(LOGITS.ravel()), 3)
LAYOUTS = {
    "list": {"logits": LISTS},
    "large list": {"logits": LISTS.cast(pa.large_list(pa.float32()))},
    "fixed size list": {"logits": FIXED},
    "tensor": {"logits": pa.FixedShapeTensorArray.from_numpy_ndarray(LOGITS)},
    "columns": {f"logit_{k}": LOGITS[:, k] for k in (2, 0, 1)},
    "float64": {"logits": LISTS.cast(pa.list_(pa.float64()))},
}


def batch_of(columns, **more):
    return pa.RecordBatch.from_pydict({"name": [f"row {i}" for i in range(50)], **columns, **more})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_logits_gets_the_answers_of_the_scorer(layout):
    found = score_batch(batch_of(LAYOUTS[layout]), SCORER, reject=0.4)
    assert found.schema.names == ["name", "label", "confidence", "none", "ambiguous"]
    assert found.column("name").to_pylist()[:2] == ["row 0", "row 1"]
    wanted = SCORER.predict(LOGITS.astype(np.float64) if layout == "float64" else LOGITS, reject=0.4)
    assert (wanted.label == -1).any()
    for name, column in wanted.to_dict().items():
        np.testing.assert_array_equal(found.column(name).to_numpy(), column)


def test_half_precision_is_computed_in_single():
    half = LOGITS.astype(np.float16)
    found = score_batch(batch_of({f"logit_{k}": half[:, k] for k in range(3)}), SCORER)
    np.testing.assert_array_equal(found.column("confidence").to_numpy(), SCORER.predict(half).confidence)


@pytest.mark.parametrize("layout", ["list", "large list", "fixed size list", "tensor"])
def test_lists_of_logits_are_not_copied(layout):
    batch = batch_of(LAYOUTS[layout])
    column = getattr(batch.column("logits"), "storage", batch.column("logits"))
    there = column.flatten().to_numpy(zero_copy_only=True)
    assert np.shares_memory(read_batch(batch, classes=3).logits, there)


def test_a_slice_of_a_batch_is_that_slice():
    found = score_batch(batch_of({"logits": FIXED}).slice(7, 20), SCORER)
    np.testing.assert_array_equal(found.column("confidence").to_numpy(), SCORER.predict(LOGITS[7:27]).confidence)
    assert found.column("name")[0].as_py() == "row 7"


def test_columns_of_any_other_type_stay_as_they_are():
    times = pa.array(np.arange(50), pa.timestamp("us", tz="UTC"))
    images = pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((50, 2, 2), np.float32))
    kinds = pa.array(["a", "b"] * 25).dictionary_encode()
    more = {"time": times, "image": images, "kind": kinds, "parts": pa.array([{"x": 1}] * 50)}
    found = score_batch(batch_of({"logits": FIXED}, **more), SCORER)
    for name, column in more.items():
        assert found.column(name).equals(column)


def test_answers_replace_columns_of_their_names():
    found = score_batch(batch_of({"logits": LISTS}, label=np.full(50, 7), confidence=np.full(50, 7.0)), SCORER)
    assert found.schema.names == ["name", "label", "confidence", "none", "ambiguous"]
    assert max(found.column("confidence").to_pylist()) <= 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_rows_are_scored_to_no_rows_of_the_same_columns(layout):
    batch = batch_of(LAYOUTS[layout])
    assert score_batch(batch.slice(0, 0), SCORER).schema == score_batch(batch, SCORER).schema
    empty = pa.Table.from_batches([batch]).slice(0, 0)
    assert score_table(pa.Table.from_batches([], empty.schema), SCORER).schema.names[-1] == "ambiguous"


def with_a(value):
    logits = LOGITS.astype(object)
    logits[31, 1] = value
    return {"logits": pa.array(logits.tolist(), pa.list_(pa.float32()))}


WRONG = {
    "NaN": (with_a(np.nan), "the batch has NaN in row 31 (counted from 0)"),
    "null": (with_a(None), "the batch has NaN in row 31 (counted from 0)"),
    "ragged": ({"logits": [[1.0, 2.0, 3.0]] * 49 + [[1.0]]}, "the batch has 1 logits in row 49 (counted from 0)"),
    "no list": ({"logits": [[1.0, 2.0, 3.0]] * 49 + [None]}, "the batch has 0 logits in row 49"),
    "wide": ({f"logit_{k}": LOGITS[:, 0] for k in range(5)}, "the batch has 5 logits per row, expected 3"),
    "text": ({}, "expected logit_0, logit_1, ... or prob_0, prob_1, ..., found 'name'"),
    "gap": ({"logit_0": LOGITS[:, 0], "logit_2": LOGITS[:, 0]}, "expected logit_0 to logit_1 without gaps"),
}


@pytest.mark.parametrize("what", WRONG)
def test_invalid_batches_are_errors(what):
    columns, sentence = WRONG[what]
    with pytest.raises(TableError) as caught:
        score_batch(batch_of(columns), SCORER)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("label", "sentence"), [(3, "the label 3 in row 4"), (-2, "the label -2 in row 4"), (0.5, "the label 0.5 in row 4")]
)
def test_a_label_out_of_range_is_an_error(label, sentence):
    labels = np.where(np.arange(50) == 4, label, 0)
    with pytest.raises(TableError, match=sentence):
        read_batch(batch_of({"logits": LISTS}, label=labels), classes=3, labelled=True)
