"""Density-aware calibration (Tomani et al. 2023): the temperature of an image is linear in its distances to the 50th
nearest training image, layer by layer; then a temperature for all images.

As published: weights of at least 0 by least squared error, channels averaged over positions, unit length, squared
distances. One layer per resolution and the logits; the published code adds the first convolution. Calibrated on clean
images, as published, or on clean and degraded ones.
"""

from dataclasses import replace

import numpy as np

from slova._backend import Array
from slova.heads import SOFTMAX, Readout
from slova_bench.calibrate import with_temperature
from slova_bench.method import CalibrationRows, Fitted
from slova_bench.methods import softmax, softmax_augmented
from slova_bench.rescaling import fit_coefficients, temperatures
from slova_bench.scores import columns, logits_of, with_scores
from slova_bench.stable import stable

WEIGHT, CONSTANT = (0.0, 1e4), (-100.0, 100.0)


@stable("density_aware")
def fit(rows: CalibrationRows) -> Fitted:
    def split(outputs: Array) -> tuple[Array, Array]:
        _, _, distances = columns(outputs, rows.classes)
        return logits_of(outputs, rows.classes), np.column_stack([distances, np.ones(len(distances))])

    logits, design = split(rows.outputs)
    layers = design.shape[1] - 1
    bounds = [*[WEIGHT] * layers, CONSTANT]
    own = fit_coefficients(logits, rows.labels, design, start=[1.0] * (layers + 1), bounds=bounds, weight=rows.weight)

    def scaled(outputs: Array) -> Readout:
        logits, design = split(outputs)
        return SOFTMAX(logits / temperatures(design, own)[:, None])

    return with_temperature(scaled, rows)


METHOD = replace(softmax.METHOD, name="dac", adapt=with_scores, fit=fit)
PLAIN_DEGRADED = replace(METHOD, name="dac_degraded", calibrate_on=("clean", "degraded"))
AUGMENTED = replace(METHOD, name="softmax_augmented_dac", loss=softmax_augmented.UNMIXED)
DEGRADED = replace(AUGMENTED, name="softmax_augmented_dac_degraded", calibrate_on=("clean", "degraded"))
