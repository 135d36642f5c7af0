"""Batch scoring, fitting and evaluation of large data: in processes on this machine, on Ray, or on Spark.

    batch.score("rows/", "answers/", scorer, engine="ray")        # parquet in, parquet out
    batch.fit("validation/", engine="spark")                      # -> Scorer, by mergeable histograms
    batch.metrics("test/", scorer, engine="local")                # -> values by name, by mergeable states

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
