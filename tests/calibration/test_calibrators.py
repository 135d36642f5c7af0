"""Temperature, affine, beta, isotonic and histogram calibration: known numbers are recovered, and others agree."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from slova.calibration import (
    AffineCalibration,
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    Pairs,
    TemperatureScaling,
)
from slova.heads import NONE, log_softmax

ROWS = 20_000


def draw(log_probs, seed=0):
    """One label per row from its log-probabilities."""
    gumbel = np.random.default_rng(seed).gumbel(size=log_probs.shape)
    return (log_probs + gumbel).argmax(axis=1)


def softmax_rows(rows=ROWS, classes=5, seed=0, scale=3.0):
    return log_softmax(np.random.default_rng(seed).normal(scale=scale, size=(rows, classes)))


def nll(log_probs, labels):
    return -log_probs[np.arange(len(labels)), labels].mean()


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 20.0])
def test_temperature_scaling_recovers_a_known_temperature(temperature):
    log_probs = softmax_rows()
    labels = draw(TemperatureScaling(temperature)(log_probs))
    assert TemperatureScaling.fit(log_probs, labels).temperature == pytest.approx(temperature, rel=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_temperature_scaling_is_never_worse_than_nothing_nor_than_any_temperature_tried(seed):
    log_probs = softmax_rows(rows=30, seed=seed)
    labels = np.random.default_rng(seed).integers(0, 5, 30)
    labels[:20] = log_probs.argmax(1)[:20]
    found = nll(TemperatureScaling.fit(log_probs, labels)(log_probs), labels)
    assert found <= nll(log_probs, labels) + 1e-12
    assert found <= min(nll(TemperatureScaling(t)(log_probs), labels) for t in np.geomspace(1e-3, 1e3, 200)) + 1e-9


def test_labels_against_the_classifier_give_the_largest_temperature():
    log_probs = softmax_rows(rows=500)
    with pytest.warns(UserWarning, match="at chance"):
        assert TemperatureScaling.fit(log_probs, log_probs.argmin(axis=1)).temperature == pytest.approx(1e3)


def test_labels_that_are_never_wrong_give_the_smallest_temperature():
    log_probs = softmax_rows(rows=500)
    with pytest.warns(UserWarning, match="never wrong"):
        assert TemperatureScaling.fit(log_probs, log_probs.argmax(axis=1)).temperature == pytest.approx(1e-3)


def test_none_and_labels_of_probability_zero_do_not_change_the_temperature():
    log_probs = softmax_rows(rows=1000)
    labels = draw(log_probs / 2)
    impossible = np.array([[0.0, -np.inf, -np.inf, -np.inf, -np.inf]] * 3)
    more = TemperatureScaling.fit(np.vstack([log_probs, impossible, log_probs[:9]]), np.r_[labels, [1] * 3, [NONE] * 9])
    assert more.temperature == pytest.approx(TemperatureScaling.fit(log_probs, labels).temperature, rel=1e-9)


def test_affine_calibration_recovers_a_known_scale_and_offset():
    generator = np.random.default_rng(0)
    rows = []
    while sum(len(labels) for _, labels in rows) < 5000:  # rows with one yes or none, as the labels can say
        logits = generator.normal(scale=2, size=(ROWS, 4))
        yes = generator.random(logits.shape) < expit(0.5 * logits - 2.0)
        kept = yes.sum(axis=1) <= 1
        rows.append((logits[kept], np.where(yes.any(axis=1), yes.argmax(axis=1), NONE)[kept]))
    logits, labels = (np.concatenate(part) for part in zip(*rows, strict=True))
    found = AffineCalibration.fit(logits, labels)
    wanted = (np.arange(4) == labels[:, None]).ravel()
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(logits.reshape(-1, 1), wanted)
    assert found.scale == pytest.approx(oracle.coef_[0, 0], rel=1e-4)
    assert found.offset == pytest.approx(oracle.intercept_[0], rel=1e-4)
    assert found.scale == pytest.approx(0.5, rel=0.2)


def pairs_rows(curve, rows=ROWS, seed=0):
    """One class per row, a hit with the probability that the curve gives."""
    generator = np.random.default_rng(seed)
    probs = generator.random(rows)
    return np.log(probs)[:, None], np.where(generator.random(rows) < curve(probs), 0, NONE)


def test_beta_calibration_recovers_known_numbers():
    true = BetaCalibration(0.6, 1.7, 0.4)
    found = BetaCalibration.fit(*pairs_rows(lambda probs: np.exp(true(np.log(probs)))))
    assert (found.a, found.b, found.c) == pytest.approx((0.6, 1.7, 0.4), abs=0.1)


def test_beta_calibration_is_logistic_regression_on_two_logs():
    log_probs, labels = pairs_rows(lambda probs: probs**2)
    features = np.hstack([log_probs, -np.log1p(-np.exp(log_probs))])
    oracle = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(features, labels == 0)
    found = BetaCalibration.fit(log_probs, labels)
    assert np.exp(found(log_probs[:, 0])) == pytest.approx(oracle.predict_proba(features)[:, 1], abs=1e-3)


def test_beta_calibration_agrees_with_betacal():
    betacal = pytest.importorskip("betacal")
    log_probs, labels = pairs_rows(lambda probs: probs**2, rows=5000)
    oracle = betacal.BetaCalibration(parameters="abm").fit(np.exp(log_probs), (labels == 0).astype(float))
    at = np.linspace(0.01, 0.99, 50)
    found = np.exp(BetaCalibration.fit(log_probs, labels)(np.log(at)))
    assert found == pytest.approx(oracle.predict(at[:, None]), abs=2e-3)


def test_neutral_numbers_change_nothing():
    log_probs = np.append(np.maximum(softmax_rows(rows=200, scale=10.0).ravel(), -49), [0.0, -1e-12, -1e-300])
    np.testing.assert_allclose(BetaCalibration(1, 1, 0)(log_probs), log_probs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(AffineCalibration(1, 0)(log_probs), log_probs)
    np.testing.assert_allclose(
        TemperatureScaling(1)(log_probs[:1000].reshape(-1, 5)).ravel(), log_probs[:1000], atol=1e-12
    )


@pytest.mark.parametrize("which", ["all", "top"])
def test_isotonic_calibration_agrees_with_scikit_learn(which):
    log_probs = softmax_rows(rows=500).round(1)  # with ties
    log_probs = np.minimum(log_probs, 0.0)
    labels = draw(softmax_rows(rows=500))
    hits = (np.arange(5) == labels[:, None]).ravel()
    values = log_probs.ravel()
    if which == "top":
        values, hits = log_probs.max(axis=1), log_probs.argmax(axis=1) == labels
    oracle = IsotonicRegression(out_of_bounds="clip").fit(np.exp(values), hits)
    found = IsotonicCalibration.fit(log_probs, labels, which=which)
    at = np.linspace(0, 1, 300)[1:]
    assert np.exp(found(np.log(at))) == pytest.approx(oracle.predict(at), abs=1e-6)


@pytest.mark.parametrize("bins", [1, 2, 15, 1000])
@pytest.mark.parametrize("binning", ["mass", "width"])
def test_each_bin_has_the_share_of_hits_seen_in_it(binning, bins):
    log_probs, labels = pairs_rows(lambda probs: probs**2, rows=500)
    found = HistogramBinning.fit(log_probs, labels, bins=bins, binning=binning)
    place = np.searchsorted(found.edges, np.exp(log_probs[:, 0]), side="right")
    for dtype in (np.float32, np.float64):
        calibrated = np.exp(found(log_probs.astype(dtype)))[:, 0]
        for cell in np.unique(place):
            share = np.mean(labels[place == cell] == 0)
            assert calibrated[place == cell] == pytest.approx(share, abs=1e-6)
    if binning == "mass" and bins <= 15:
        assert np.ptp(np.bincount(place)) <= 1
        assert len(found.values) == bins


def test_no_edge_of_a_bin_lies_on_a_probability_that_occurs():
    probs = np.repeat([0.2, 0.5, 0.9], [50, 25, 25])
    found = HistogramBinning.fit(np.log(probs)[:, None], np.zeros(100, int), bins=10)
    assert found.edges == pytest.approx([0.35, 0.7])


@pytest.mark.filterwarnings("ignore")  # netcal and pyro use what torch has deprecated
def test_netcal_agrees_on_temperature_and_histograms():
    scaling, binning = pytest.importorskip("netcal.scaling"), pytest.importorskip("netcal.binning")
    log_probs = softmax_rows(rows=3000)
    labels = draw(log_probs / 2)
    oracle = scaling.TemperatureScaling()
    oracle.fit(np.exp(log_probs), labels)
    ours = np.exp(TemperatureScaling.fit(log_probs, labels)(log_probs))
    assert ours == pytest.approx(oracle.transform(np.exp(log_probs)), abs=0.02)
    column, hits = pairs_rows(lambda probs: probs**2, rows=3000)
    widths = binning.HistogramBinning(bins=10)
    widths.fit(np.exp(column[:, 0]), (hits == 0).astype(int))
    ours = np.exp(HistogramBinning.fit(column, hits, bins=10, binning="width")(column[:, 0]))
    assert ours == pytest.approx(widths.transform(np.exp(column[:, 0])), abs=1e-6)


@pytest.mark.parametrize("fit", [BetaCalibration.fit, IsotonicCalibration.fit, HistogramBinning.fit])
def test_rows_of_none_are_misses(fit):
    log_probs, labels = pairs_rows(lambda probs: probs, rows=2000)
    more = fit(np.vstack([log_probs, log_probs]), np.r_[labels, np.full(2000, NONE)])
    at = np.log(np.linspace(0.2, 0.9, 8))
    assert np.exp(more(at)) == pytest.approx(np.exp(fit(log_probs, labels)(at)) / 2, abs=0.1)
    assert Pairs.of(log_probs, np.full(2000, NONE)).hits.sum() == 0


def saturated(dtype, rows=2000):
    """Top probabilities that float32 and mostly float64 round to 1, right in 85 % of the rows whatever their log."""
    generator = np.random.default_rng(0)
    log_probs = -np.exp(generator.uniform(-60, -20, (rows, 1))).astype(dtype)
    log_probs[::10] = 0.0
    return log_probs, np.where(generator.random(rows) < 0.85, 0, NONE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit", [BetaCalibration.fit, IsotonicCalibration.fit, HistogramBinning.fit])
def test_saturated_probabilities_get_the_share_of_hits(fit, dtype):
    log_probs, labels = saturated(dtype)
    calibrated = np.exp(fit(log_probs, labels)(log_probs))
    assert calibrated.mean() == pytest.approx(np.mean(labels == 0), abs=0.01)
    assert np.ptp(calibrated) < 0.1


def test_beta_calibration_treats_zero_and_one_as_its_fit_does():
    """One in ten rows of probability 1 is wrong, and one in ten of probability 0 is right."""
    log_probs = np.repeat([[0.0], [-np.inf]], 1000, axis=0)
    labels = np.where((np.arange(2000) % 10 == 0) == (np.arange(2000) < 1000), NONE, 0)
    assert np.exp(BetaCalibration.fit(log_probs, labels)(np.array([0.0, -np.inf]))) == pytest.approx(
        [0.9, 0.1], abs=1e-3
    )
