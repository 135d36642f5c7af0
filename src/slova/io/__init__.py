"""Read logits and labels, and write predictions, in blocks of rows: npz, npy, csv and parquet files.

The suffix determines the format. Nothing is unpickled, no file is read into memory as a whole, and output files are
written atomically. What each format must contain:

    npz      arrays `logits` (N, K) and `labels` or `label` (N,)
    npy      one array: logits, or labels in a file of their own
    csv      a header; columns logit_0, logit_1, ...; column `label` or `labels`
    parquet  the same columns, or one list column `logits`; column `label` or `labels`

Probabilities are accepted in place of logits, as an array or a list column `probs` or `probabilities`, or in columns
prob_0, prob_1, ... or p_0, p_1, ...; they must lie in [0, 1]. Where a file has both, logits are read.
"""

from slova.io.blocks import Block, TableError
from slova.io.csv import read_text_columns
from slova.io.formats import open_output
from slova.io.table import Table

__all__ = ["Block", "Table", "TableError", "open_output", "read_text_columns"]
