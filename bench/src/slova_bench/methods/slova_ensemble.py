"""SLOVA of five one-vs-all networks: readout and calibration of their mean logits."""

from dataclasses import replace

import numpy as np

from slova._backend import Array
from slova.heads import SLOVA, Readout
from slova_bench.methods import slova_clean
from slova_bench.stable import stable


def together(logits: Array) -> Array:
    """The mean over members (S, N, K), repeated for each."""
    return np.broadcast_to(logits.mean(0), logits.shape)


@stable("mean_logits_head")
def read(logits: Array) -> Readout:
    return SLOVA(together(logits))


METHOD = replace(slova_clean.METHOD, name="slova_ensemble", members=5, head=read)
