"""Softmax with a temperature fitted on validation data (Guo et al. 2017)."""

from dataclasses import replace

from slova.bench.methods import softmax
from slova.calibration import TemperatureScaling

METHOD = replace(softmax.METHOD, name="temperature", calibrate=TemperatureScaling.fit)
