"""The paper's fit by its number of terms M and of points n_b (Appendix B), and the optimal fit, which has no M."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from slova.calibration import ExponentialCalibration
from slova_bench.experiment import Experiment, Variant
from slova_bench.experiments import shift
from slova_bench.method import Method
from slova_bench.paper_fit import fit_paper
from slova_bench.test_sets import clean

TERMS = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50)
POINTS = (20, 50, 100, 200, 400, 1000, 2000, 4000, 10_000)


def variants(method: Method) -> list[Variant]:
    """The paper's optimiser with each M and each n_b, the other as in the paper; and the optimum."""
    by_terms = [Variant(replace(method, calibrate=partial(fit_paper, terms=m)), "M", m) for m in TERMS]
    by_points = [Variant(replace(method, calibrate=partial(fit_paper, points=n)), "n_b", n) for n in POINTS]
    optimal = Variant(replace(method, calibrate=ExponentialCalibration.fit))
    return [*by_terms, *by_points, optimal]


EXPERIMENT = Experiment(
    name="stability",
    methods=("slova",),
    sets=clean,
    measure=shift.measure,
    metrics=shift.metrics,
    variants=variants,
)
