"""Pure functions of Arrow record batches, which every engine maps over its data.

A batch holds logits, or probabilities, as parquet files do (`slova.io`): a list column `logits`, or columns logit_0,
logit_1, .... List columns of float32 or float64 are not copied. Tensor columns, which Ray makes of numpy arrays (n, K),
are list columns, too.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from slova.batch.engines import try_task
from slova.io import Block, TableError
from slova.io.blocks import Bounds
from slova.io.parquet import block_of, columns_of, pyarrow
from slova.io.table import check_block
from slova.prediction import COLUMNS
from slova.scorer import Scorer

__all__ = ["Location", "MapBlock", "fold_batches", "pack", "read_batch", "score_batch", "score_table", "unpack"]

State = TypeVar("State")
MapBlock = Callable[[Block, int], State]
"""(block, number of its first row) -> a state that merges with `+`."""


class Location(NamedTuple):
    """The origin of a batch, for error messages: the name of its file and the number of its first row there."""

    name: str
    first: int


UNKNOWN = Location("the batch", 0)


def score_batch(batch: Any, scorer: Scorer, *, reject: float = 0.0, location: Location = UNKNOWN) -> Any:
    """The batch with the columns of a `Prediction` in place of its logits. Other columns are kept, unless they have
    the same names."""
    block = read_batch(batch, classes=scorer.head.columns or scorer.classes, location=location)
    dropped = {*COLUMNS, *columns_of(batch.schema, ("logits",), location.name)}
    scored = batch.select([name for name in batch.schema.names if name not in dropped]).replace_schema_metadata(None)
    for name, column in scorer.predict(block.logits, reject=reject).to_dict().items():
        scored = scored.append_column(name, pyarrow().array(np.asarray(column)))
    return scored


def score_table(table: Any, scorer: Scorer, *, reject: float = 0.0) -> Any:
    """`score_batch` for an Arrow table, a few megabytes at a time."""
    batches = table.to_batches(max_chunksize=Bounds().few_rows(scorer.classes))
    if not batches:
        nothing = [pyarrow().nulls(0, field.type) for field in table.schema]
        batches = [pyarrow().RecordBatch.from_arrays(nothing, schema=table.schema)]
    return pyarrow().Table.from_batches([score_batch(batch, scorer, reject=reject) for batch in batches])


def read_batch(batch: Any, *, classes: int | None, labelled: bool = False, location: Location = UNKNOWN) -> Block:
    """Logits (n, K) in float32 or float64 without NaN and, if `labelled`, labels (n,) in int64 from NONE to K - 1."""
    found = block_of(batch, ("logits", "labels") if labelled else ("logits",), *location)
    if not len(found.logits):
        found = found._replace(logits=np.empty((0, classes or found.logits.shape[1]), found.logits.dtype))
    block = check_block(found, *location, classes)
    if np.isnan(block.logits).any():
        row = location.first + int(np.isnan(block.logits).any(axis=1).argmax())
        raise TableError(f"{location.name} has NaN in row {row} (counted from 0)")
    return block


def fold_batches(batches: Iterable[Any], map_block: MapBlock[Any], *, classes: int, labelled: bool) -> Iterator[Any]:
    """One batch with the merged state of all batches, packed with its error; no batch if there are no rows."""

    def merged(batches: Iterable[Any]) -> list[Any]:
        some = (read_batch(batch, classes=classes, labelled=labelled) for batch in batches if batch.num_rows)
        states = (map_block(block, 0) for block in some)
        return [reduce(add, states, first) for first in states]

    problem, found = try_task(merged, batches)
    if problem or found:
        outcome = problem, found and found[0]
        yield pyarrow().record_batch({"outcome": pyarrow().array([pack(outcome)], "binary")})


def pack(state: Any) -> bytes:
    """Serialize a state for another process of the same job. It is never written to a file, because pickle is not safe
    to load from untrusted sources. States are sparse and compress well."""
    return zlib.compress(pickle.dumps(state, pickle.HIGHEST_PROTOCOL), 1)


def unpack(content: bytes) -> Any:
    return pickle.loads(zlib.decompress(content))
