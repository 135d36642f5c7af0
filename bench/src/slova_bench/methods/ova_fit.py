"""SLOVA as `Classifier.fit` makes it of networks that were trained as usual, one-vs-all, with NONE, or softmax: the
default calibrator with distances, on clean and degraded validation images and outliers."""

from dataclasses import replace
from functools import partial

from slova_bench.calibrate import posterior
from slova_bench.distances import with_distances
from slova_bench.methods import ova, slova_none, softmax

ON = ("clean", "degraded", "outliers")
METHOD = replace(
    ova.METHOD,
    name="ova_fit",
    adapt=with_distances,
    fit=partial(posterior, head="slova"),
    calibrate_on=ON,
    score="none",
)
NONE = replace(METHOD, name="slova_none_fit", loss=slova_none.loss)
SOFTMAX = replace(
    softmax.METHOD,
    name="softmax_fit",
    adapt=with_distances,
    fit=partial(posterior, head="softmax"),
    calibrate_on=ON,
    score="none",
)
NO_DISTANCES = replace(METHOD, name="ova_fit_no_distances", fit=partial(posterior, head="slova", distances=False))
CLEAN = replace(METHOD, name="ova_fit_clean", calibrate_on=("clean", "outliers"))
