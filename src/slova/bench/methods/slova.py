"""SLOVA as in the paper: exponential calibration on the validation set and a tenth of uniform noise labelled NONE."""

from dataclasses import replace

from slova.bench.methods import slova_raw
from slova.calibration import ExponentialCalibration

METHOD = replace(slova_raw.METHOD, name="slova", calibrate=ExponentialCalibration.fit, noise=0.1)
