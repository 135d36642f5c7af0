"""Statements of the paper, and its errata, checked."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import binom, gammaincc
from slova_bench.results_folder import ResultsFolder

from slova import ExponentialCalibration, log_ova, log_slova

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_far_out_the_confidence_is_one_with_probability_k_over_two_to_the_k(classes):
    """Theorem 3.1, corrected: far away every sigmoid is 0 or 1; SLOVA is sure when exactly one is 1, max sigmoid unless
    all are 0."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * classes)).reshape(classes, -1).T
    sure = np.exp(log_slova(1e3 * signs)).max(-1) > 0.5
    assert sure.mean() == classes / 2**classes
    assert (np.exp(log_ova(1e3 * signs)).max(-1) > 0.5).mean() == 1 - 1 / 2**classes


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_near_one_the_random_calibration_curve_needs_k_factorial(classes):
    """Appendix A, corrected: 1 - c(P) = (1 - P)^K / K! to leading order."""
    gap = 1e-3
    curve = gammaincc(classes, -math.log1p(-gap))  # Gamma(K, log 1/P) / (K-1)!
    assert (1 - curve) / gap**classes == pytest.approx(1 / math.factorial(classes), rel=1e-2)


@pytest.mark.parametrize("classes", [2, 3])
def test_products_of_uniform_probabilities_follow_the_appendix(classes):
    """The distribution of P for K independent uniform probabilities: P(P <= x) = Gamma(K, log 1/x) / (K-1)!."""
    generator = np.random.default_rng(0)
    p = generator.random((200_000, classes))
    products = np.exp(log_slova(np.log(p) - np.log1p(-p))[:, 0])
    for x in (0.01, 0.1, 0.5):
        assert (products <= x).mean() == pytest.approx(gammaincc(classes, -math.log(x)), abs=4e-3)


def test_a_sum_of_powers_cannot_have_a_plateau_in_the_middle():
    """Sec. 1 says "any monotonic function"; but c is completely monotone in t = -log p, and a plateau breaks that."""
    generator = np.random.default_rng(1)
    p = generator.random(20_000)
    wanted = np.where(p < 0.3, p, np.where(p < 0.7, 0.3, (p - 0.7) / 0.3 * 0.7 + 0.3))  # flat from .3 to .7
    hits = generator.random(20_000) < wanted
    fitted = ExponentialCalibration.fit(np.log(p)[:, None], np.where(hits, 0, -1))
    middle = np.exp(fitted(np.log([0.35, 0.65])))
    assert middle[1] - middle[0] > 0.1


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_neither_curve_of_complete_ignorance_is_a_sum_of_powers(classes):
    """Appendix A: a sum of powers with weights of at least 0 is convex in t = -log P. The exact curve is concave up to
    t = K - 1, and the approximation 1 - (1-P)^K is a sum of powers with negative weights."""
    before, after = ((classes - 1) * np.linspace(*ends) for ends in ((0.3, 0.99), (1.01, 2)))
    assert (np.diff(gammaincc(classes, before), 2) < 0).all()
    assert (np.diff(gammaincc(classes, after), 2) > 0).all()
    powers = np.arange(1, classes + 1)
    weights = -((-1.0) ** powers) * binom(classes, powers)
    p = np.linspace(0, 1)
    np.testing.assert_allclose((weights * p[:, None] ** powers).sum(1), 1 - (1 - p) ** classes, atol=1e-12)
    assert weights.min() < 0


def test_how_far_the_curves_of_complete_ignorance_are_apart():
    rows = ResultsFolder.read(ROOT / "bench" / "results").rows("appendix", "cifar10")
    (classes,) = rows["parameter_value"].unique()
    curves = rows.pivot(index="level", columns="method", values="value")
    fitted, approximate = (abs(curves[name] - curves["exact"]).max() for name in ("fitted", "approximate"))
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    misses, does = (f"{gap:.2f}".removeprefix("0") for gap in (fitted, approximate))
    assert f"For K = {classes:.0f} the best sum of powers misses the exact curve by up to {misses}" in page
    assert f"1 - (1-P)^K does by up to {does}" in page
