"""Energy-based instance-wise scaling (Kim & Kwon 2024): T = t - a p(energy | right) + b p(energy | wrong or unknown).

t is the temperature of all images, p are normal densities, and a, b in [0, 10] have the least squared error; the target
of an unknown image is zero for every class. Unknown images are the outliers for calibration, where the paper uses an
OOD data set. Degraded images with their labels are added, as for every method that is calibrated on them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from slova._backend import Array
from slova.calibration import TemperatureScaling
from slova.heads import SOFTMAX, Readout
from slova_bench.method import CalibrationRows, Fitted
from slova_bench.methods import softmax, softmax_augmented
from slova_bench.rescaling import fit_coefficients, temperatures
from slova_bench.scores import logits_of
from slova_bench.stable import stable

BOUNDS = [(0.0, 10.0)] * 2


def normal(energy: Array, weight: Array) -> Any:
    mean = np.average(energy, weights=weight)
    return norm(mean, max(np.sqrt(np.average((energy - mean) ** 2, weights=weight)), 1e-6))


@stable("energy_scaling")
def fit(rows: CalibrationRows) -> Fitted:
    logits = logits_of(rows.outputs, rows.classes)
    energy, right = -logsumexp(logits, axis=1), logits.argmax(axis=1) == rows.labels
    densities = [normal(energy[part], rows.weight[part]) for part in (right, ~right)]

    def design(logits: Array) -> Array:
        energy = -logsumexp(logits, axis=1)
        return np.column_stack([-densities[0].pdf(energy), densities[1].pdf(energy)])

    offset = TemperatureScaling.fit(SOFTMAX(logits).log_probs, rows.labels, weight=rows.weight).temperature
    own = fit_coefficients(
        logits, rows.labels, design(logits), start=[0.0, 0.0], bounds=BOUNDS, weight=rows.weight, offset=offset
    )

    def readout(outputs: Array) -> Readout:
        logits = logits_of(outputs, rows.classes)
        return SOFTMAX(logits / temperatures(design(logits), own, offset)[:, None])

    return readout


METHOD = replace(softmax.METHOD, name="energy_scaling", fit=fit, calibrate_on=("clean", "degraded", "outliers"))
AUGMENTED = replace(METHOD, name="softmax_augmented_energy_scaling", loss=softmax_augmented.UNMIXED)
