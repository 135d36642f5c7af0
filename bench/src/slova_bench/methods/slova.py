"""SLOVA as in the paper: the readout of the one-vs-all network, P(this class and no other), and exponential calibration
on the validation set and 10 % uniform noise labelled NONE; by the optimal fit, and by the paper's optimiser. Also not
calibrated, normalised instead (which makes it the softmax of the logits), calibrated without noise, and so of the mean
logits of five networks."""

from dataclasses import replace

import numpy as np

from slova._backend import Array
from slova.calibration import ExponentialCalibration
from slova.heads import SLOVA, SOFTMAX, Readout
from slova_bench.methods import ova
from slova_bench.paper_fit import fit_paper
from slova_bench.stable import stable


def together(logits: Array) -> Array:
    """The mean over members (S, N, K), repeated for each."""
    return np.broadcast_to(logits.mean(0), logits.shape)


@stable("mean_logits_head")
def mean_logits(logits: Array) -> Readout:
    return SLOVA(together(logits))


RAW = replace(ova.METHOD, name="slova_raw", head=SLOVA)
NORMALISED = replace(RAW, name="slova_normalised", head=SOFTMAX)
METHOD = replace(RAW, name="slova", calibrate=ExponentialCalibration.fit, noise=0.1)
PAPER_FIT = replace(METHOD, name="slova_paper_fit", calibrate=fit_paper)
CLEAN = replace(METHOD, name="slova_clean", noise=0.0)
ENSEMBLE = replace(CLEAN, name="slova_ensemble", members=5, head=mean_logits)
