"""Read logits and labels, and write predictions, in blocks of rows: npz, npy, csv and parquet files.

The suffix determines the format. Nothing is unpickled, no file is read into memory as a whole, and output files are
written atomically. What each format must contain:

    npz      arrays `logits` (N, K) and `labels` or `label` (N,)
    npy      one array: logits, or labels in a file of their own
    csv      a header; columns logit_0, logit_1, ...; column `label` or `labels`
    parquet  the same columns, or one list column `logits`; column `label` or `labels`
"""

from slova.io.blocks import Block, TableError
from slova.io.csv import read_text_columns
from slova.io.formats import open_output
from slova.io.table import Table

__all__ = ["Block", "Table", "TableError", "open_output", "read_text_columns"]
