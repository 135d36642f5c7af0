"""Five softmax networks, their probabilities averaged (Lakshminarayanan et al. 2017), without adversarial training;
also with a temperature of the average, fitted on validation data, and ten networks, as Ovadia et al. (2019) have."""

from dataclasses import replace

from slova.calibration import TemperatureScaling
from slova_bench.methods import softmax

METHOD = replace(softmax.METHOD, name="ensemble", members=5)
TEN = replace(METHOD, name="ensemble_ten", members=10)
TEMPERATURE = replace(METHOD, name="ensemble_temperature", calibrate=TemperatureScaling.fit)
