"""Batch scoring, fitting and evaluation of large data: in processes on this machine, on Ray, or on Spark.

>>> import numpy as np
>>> import pandas, pyarrow
>>> from slova import batch
>>> rng = np.random.default_rng(0)
>>> labels = rng.integers(3, size=500)
>>> logits = rng.normal(-3, 2, (500, 3)) + 6 * np.eye(3)[labels]
>>> pandas.DataFrame({"logits": list(logits), "label": labels}).to_parquet("rows.parquet")
>>> with batch.open_engine("local", workers=1) as engine:          # or engine="ray", engine="spark"
...     scorer = batch.fit("rows.parquet", batch.Plan(head="slova"), engine=engine)       # by mergeable histograms
...     found = batch.metrics("rows.parquet", scorer, engine=engine)                      # by mergeable states
...     batch.score("rows.parquet", "answers", scorer, reject=0.8, engine=engine)         # parquet in, parquet out
Scored(rows=500, rejected=163, parts=1)
>>> files = batch.ParquetFiles.of("rows.parquet")
>>> files.rows, files.classes
(500, 3)
>>> batch.score_batch(pyarrow.record_batch({"logits": list(logits)}), scorer).column_names
['label', 'confidence', 'none', 'ambiguous']
>>> round(found["accuracy"], 3)
0.972

`slova.batch.ray` and `slova.batch.spark` do the same for Ray datasets and Spark data frames. `ENGINES` is the registry
of engines; neither Ray nor Spark is imported before an engine is opened.
"""

from slova.batch.batches import score_batch
from slova.batch.engines import ENGINES, EngineError, open_engine
from slova.batch.fitting import Plan
from slova.batch.jobs import Scored, fit, metrics, score
from slova.batch.partitions import ParquetFiles

__all__ = [
    "ENGINES",
    "EngineError",
    "ParquetFiles",
    "Plan",
    "Scored",
    "fit",
    "metrics",
    "open_engine",
    "score",
    "score_batch",
]
