"""Batch scoring, fitting and measuring of more rows than one process should see: on this machine, on Ray, on Spark.

    engines.score("rows/", "answers/", scorer, engine="ray")        # parquet in, parquet out
    engines.fit("validation/", engine="spark")                      # -> Scorer, by sketches that merge
    engines.metrics("test/", scorer, engine="local")                # -> numbers by name, by states that merge

`slova.batch.ray` and `slova.batch.spark` do the same with data that lie there already.
"""

from slova.batch.batches import score_batch
from slova.batch.files import Scored, fit, metrics, score
from slova.batch.fitting import Plan
from slova.batch.pieces import Parquet
from slova.batch.running import ENGINES, EngineError, opened

__all__ = ["ENGINES", "EngineError", "Parquet", "Plan", "Scored", "fit", "metrics", "opened", "score", "score_batch"]
