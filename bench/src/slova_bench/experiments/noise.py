"""SLOVA by the share of noise in its calibration set, on clean and shifted data: does another share give the quartiles
of the paper (Appendix C)?"""

from __future__ import annotations

from dataclasses import replace

from slova_bench.experiment import Variant
from slova_bench.experiments import shift
from slova_bench.method import Method

SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)


def variants(method: Method) -> list[Variant]:
    return [Variant(replace(method, noise=share), "noise", share) for share in SHARES]


EXPERIMENT = replace(shift.EXPERIMENT, name="noise", methods=("slova",), variants=variants, histograms=False)
