"""Softmax with a temperature fitted on validation data (Guo et al. 2017)."""

from dataclasses import replace

from slova.calibration import TemperatureScaling
from slova_bench.methods import softmax

METHOD = replace(softmax.METHOD, name="temperature", calibrate=TemperatureScaling.fit)
DEGRADED = replace(METHOD, name="temperature_degraded", calibrate_on=("clean", "degraded"))
