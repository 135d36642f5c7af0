"""SLOVA as in the paper: exponential calibration on the validation set and 10 % uniform noise labelled NONE."""

from dataclasses import replace

from slova.calibration import ExponentialCalibration
from slova_bench.methods import slova_raw

METHOD = replace(slova_raw.METHOD, name="slova", calibrate=ExponentialCalibration.fit, noise=0.1)
