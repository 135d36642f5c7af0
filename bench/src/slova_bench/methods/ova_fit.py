"""SLOVA as `Classifier.fit` makes it of networks that were trained as usual, one-vs-all, with NONE, or softmax: the
default calibrator with distances, on clean and degraded validation images and outliers."""

from dataclasses import replace
from functools import partial
from typing import Any

from slova_bench.calibrate import posterior
from slova_bench.distances import with_distances
from slova_bench.methods import ova, slova_none, softmax

FIT: dict[str, Any] = {
    "adapt": with_distances,
    "calibrate_on": ("clean", "degraded", "outliers"),
    "score": "none",
}
METHOD = replace(ova.METHOD, name="ova_fit", fit=partial(posterior, head="slova"), **FIT)
NONE = replace(METHOD, name="slova_none_fit", loss=slova_none.loss)
SOFTMAX = replace(softmax.METHOD, name="softmax_fit", fit=partial(posterior, head="softmax"), **FIT)
NO_DISTANCES = replace(METHOD, name="ova_fit_no_distances", fit=partial(posterior, head="slova", distances=False))
CLEAN = replace(METHOD, name="ova_fit_clean", calibrate_on=("clean", "outliers"))
