"""ASH-S (Djurisic et al. 2023): the energy after the smaller features are removed and the others enlarged.

The share that is removed is one of 65 % to 95 %, chosen by the AUROC of clean validation images against the outliers
for calibration; the paper chooses it on test data. The classes are those of the unchanged network.
"""

from dataclasses import replace

import numpy as np

from slova.metrics import auroc
from slova_bench.method import CalibrationRows, Score
from slova_bench.methods import softmax, softmax_augmented
from slova_bench.scores import columns, temperature, with_scores
from slova_bench.stable import stable


@stable("ash_score")
def rank(rows: CalibrationRows) -> Score:
    _, energies, _ = columns(rows.outputs, rows.classes)
    clean = rows.groups.max() + 1  # the number of images: their first versions are the clean ones
    best = int(np.argmax([auroc(energy[:clean], energy[rows.labels < 0]) for energy in energies.T]))
    return lambda outputs: columns(outputs, rows.classes)[1][:, best]


METHOD = replace(
    softmax.METHOD,
    name="ash",
    adapt=with_scores,
    fit=temperature,
    rank=rank,
    calibrate_on=("clean", "degraded", "outliers"),
)
AUGMENTED = replace(METHOD, name="softmax_augmented_ash", loss=softmax_augmented.UNMIXED)
