"""SLOVA as in the paper: exponential calibration on the validation set and 10 % uniform noise labelled NONE; by the
optimal fit, and by the paper's optimiser."""

from dataclasses import replace

from slova.calibration import ExponentialCalibration
from slova_bench.methods import slova_raw
from slova_bench.paper_fit import fit_paper

METHOD = replace(slova_raw.METHOD, name="slova", calibrate=ExponentialCalibration.fit, noise=0.1)
PAPER_FIT = replace(METHOD, name="slova_paper_fit", calibrate=fit_paper)
