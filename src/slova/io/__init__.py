"""Files of logits and labels, read in blocks, and files of predictions, written in blocks: npz, npy, csv, parquet.

The suffix says the format. Nothing is unpickled, no file is read into memory as a whole, and a file that is written
appears whole or not at all. What each format wants:

    npz      arrays `logits` (N, K) and `labels` (N,)
    npy      one array: logits, or in a file of their own labels
    csv      a header; columns logit_0, logit_1, ...; column `label`
    parquet  the same columns, or one list column `logits`; column `label`
"""

from slova.io.blocks import Block, TableError
from slova.io.output import created
from slova.io.table import Table

__all__ = ["Block", "Table", "TableError", "created"]
