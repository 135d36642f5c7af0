"""fDBD (Liu & Qin 2024): the mean distance to the decision boundaries in feature space, divided by the distance from
the mean of the training features."""

from dataclasses import replace

from slova_bench.method import CalibrationRows, Score
from slova_bench.methods import softmax, softmax_augmented
from slova_bench.scores import columns, temperature, with_scores
from slova_bench.stable import stable


@stable("fdbd_score")
def rank(rows: CalibrationRows) -> Score:
    return lambda outputs: columns(outputs, rows.classes)[0]


METHOD = replace(softmax.METHOD, name="fdbd", adapt=with_scores, fit=temperature, rank=rank)
AUGMENTED = replace(
    METHOD, name="softmax_augmented_fdbd", loss=softmax_augmented.UNMIXED, calibrate_on=("clean", "degraded")
)
