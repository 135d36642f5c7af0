"""Pure functions of Arrow record batches: what every engine maps over its data.

A batch holds logits as parquet files do (`slova.io`): a list column `logits`, or columns logit_0, logit_1, ...; the
list column of float32 or float64 is looked at where it lies, and not copied. Tensor columns, as Ray makes them of numpy
arrays (n, K), are list columns too. n rows, K classes.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from slova.batch.running import Outcome, outcome
from slova.io import Block, TableError
from slova.io.blocks import block_rows
from slova.io.parquet import columns_of, labels_of, logits_of, pyarrow
from slova.io.table import floating_logits, integer_labels
from slova.scorer import Prediction, Scorer

__all__ = ["Of", "Place", "packed", "read_batch", "score_batch", "score_table", "state_of", "unpacked"]

State = TypeVar("State")
Of = Callable[[Block, int], State]
"""What a block leaves behind, given also the number of its first row: a state that merges with `+`."""


class Place(NamedTuple):
    """Where a batch comes from, for errors: the name of its file, and the number of its first row there."""

    name: str
    first: int


SOMEWHERE = Place("the batch", 0)


def score_batch(batch: Any, scorer: Scorer, *, reject: float = 0.0, place: Place = SOMEWHERE) -> Any:
    """The batch with label, confidence, none and several in place of its logits: all other columns stay, but for those
    of the same names."""
    block = read_batch(batch, classes=scorer.classes, place=place)
    answers = scorer.predict(block.logits, reject=reject)
    dropped = {*Prediction._fields, *columns_of(batch.schema, ("logits",), place.name)}
    kept = [name for name in batch.schema.names if name not in dropped]
    columns = {name: pyarrow().array(np.asarray(column)) for name, column in answers._asdict().items()}
    fields = [batch.schema.field(name) for name in kept] + [(name, column.type) for name, column in columns.items()]
    arrays = [*(batch.column(name) for name in kept), *columns.values()]
    return pyarrow().RecordBatch.from_arrays(arrays, schema=pyarrow().schema(fields))


def score_table(table: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """The same for an Arrow table, a few megabytes at a time."""
    batches = table.to_batches(max_chunksize=block_rows(None, scorer.classes)) or [_no_rows(table.schema)]
    return pyarrow().Table.from_batches([score_batch(batch, scorer, reject=reject) for batch in batches])


def read_batch(batch: Any, *, classes: int | None, labelled: bool = False, place: Place = SOMEWHERE) -> Block:
    """Logits (n, K) in float32 or float64 without NaN and, if asked for, labels (n,) in int64 from NONE to K - 1."""
    columns = columns_of(batch.schema, ("logits",), place.name)
    logits = floating_logits(logits_of(batch, columns, place.name, place.first), place.name)
    if not len(logits):
        logits = np.empty((0, classes or logits.shape[1]), logits.dtype)
    if classes is not None and logits.shape[1] != classes:
        raise TableError(f"{place.name} has {logits.shape[1]} logits a row, wanted {classes}, one for each class")
    missing = np.isnan(logits).any(axis=1)
    if missing.any():
        raise TableError(f"{place.name} has NaN in row {place.first + int(missing.argmax())} (counted from 0)")
    labels = _labels(batch, logits.shape[1], place) if labelled else None
    return Block(logits, labels, 1.0)


def state_of(batches: Iterable[Any], of: Of[State], *, classes: int, labelled: bool) -> list[Outcome]:
    """What all batches leave behind, packed, as the only outcome; none where there are no rows."""

    def added(batches: Iterable[Any]) -> bytes | None:
        whole: Any = None
        for batch in batches:
            if batch.num_rows:
                state = of(read_batch(batch, classes=classes, labelled=labelled), 0)
                whole = state if whole is None else whole + state
        return None if whole is None else packed(whole)

    found = outcome(added, batches)
    return [] if found == (None, None) else [found]


def packed(state: Any) -> bytes:
    """For the way between processes of one job, which trust each other with code already; nothing of it is kept in a
    file. States are sparse: compressed, a sixth of their size, or less."""
    return zlib.compress(pickle.dumps(state, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(content: bytes) -> Any:
    return pickle.loads(zlib.decompress(content))


def _labels(batch: Any, classes: int, place: Place) -> Any:
    columns_of(batch.schema, ("labels",), place.name)
    return integer_labels(labels_of(batch, place.name), place.first, classes, place.name)


def _no_rows(schema: Any) -> Any:
    return pyarrow().RecordBatch.from_arrays([pyarrow().nulls(0, field.type) for field in schema], schema=schema)
