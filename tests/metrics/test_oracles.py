"""Against other libraries where they are right, and by name where they are not."""

import warnings

import numpy as np
import pytest

from slova.heads import NONE
from slova.metrics import aupr, auroc, brier, ece, fpr95, nll, reliability


def rows(count=1000, classes=4, seed=0):
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.full(classes, 0.4), size=count)
    return probs, generator.integers(0, classes, size=count)


def two_kinds(seed=0):
    """Inside and outside confidences with many ties, and both together as other libraries take them."""
    generator = np.random.default_rng(seed)
    inside, outside = generator.random(300).round(2), (generator.random(200) ** 2).round(2)
    return inside, outside, np.repeat([1, 0], [300, 200]), np.concatenate([inside, outside])


def test_auroc_and_aupr_are_those_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    inside, outside, positive, confidence = two_kinds()
    assert auroc(inside, outside) == pytest.approx(sklearn.roc_auc_score(positive, confidence), abs=1e-12)
    assert aupr(inside, outside) == pytest.approx(sklearn.average_precision_score(positive, confidence), abs=1e-12)


def test_fpr95_is_the_first_point_of_the_roc_curve_of_scikit_learn_at_95_percent():
    sklearn = pytest.importorskip("sklearn.metrics")
    inside, outside, positive, confidence = two_kinds()
    false, true, _ = sklearn.roc_curve(positive, confidence, drop_intermediate=False)
    assert fpr95(inside, outside) == pytest.approx(false[np.argmax(true >= 0.95)], abs=1e-12)


def test_nll_and_brier_are_those_of_scikit_learn_on_rows_that_sum_to_one():
    sklearn = pytest.importorskip("sklearn.metrics")
    probs, labels = rows()
    assert nll(np.log(probs), labels) == pytest.approx(sklearn.log_loss(labels, probs), rel=1e-9)
    theirs = sklearn.brier_score_loss(labels, probs, labels=range(4), scale_by_half=False)
    assert brier(probs, labels) == pytest.approx(theirs, rel=1e-9)


def test_scikit_learn_clips_the_infinite_nll_of_a_label_called_impossible():
    sklearn = pytest.importorskip("sklearn.metrics")
    probs, labels = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 1])
    with np.errstate(divide="ignore"):
        assert nll(np.log(probs), labels) == np.inf
    assert sklearn.log_loss(labels, probs, labels=[0, 1]) < 40.0


def test_the_reliability_curve_is_that_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    probs, labels = rows()
    accuracy, confidence = calibration.calibration_curve(probs.argmax(1) == labels, probs.max(1), n_bins=15)
    curve = reliability(probs, labels)
    np.testing.assert_allclose(curve.accuracy, accuracy, rtol=1e-12)
    np.testing.assert_allclose(curve.confidence, confidence, rtol=1e-12)


def test_ece_is_that_of_torchmetrics_below_confidence_one():
    assert ece(*rows()) == pytest.approx(torchmetrics_ece(*rows()), abs=1e-6)


def test_torchmetrics_gives_confidence_exactly_one_a_bin_of_its_own():
    probs, labels = np.array([[1.0, 0.0], [0.96875, 0.03125]]), np.array([1, 0])
    assert ece(probs, labels) == pytest.approx(abs(1.0 - 1.96875) / 2)
    assert torchmetrics_ece(probs, labels) == pytest.approx((1.0 + 0.03125) / 2)  # 15 bins asked for, 16 used


def test_torchmetrics_takes_probs_for_logits_when_one_exceeds_one_by_rounding():
    probs, labels = np.array([[1.0 + 1e-7, 0.0], [0.1, 0.0]]), np.array([0, NONE])
    assert ece(probs, labels) == pytest.approx(0.05, abs=1e-6)
    assert torchmetrics_ece(probs, np.array([0, 1])) > 0.2


def test_ece_is_that_of_netcal():
    measure = netcal_ece()
    assert ece(*rows()) == pytest.approx(measure(*rows()), abs=1e-9)


def test_netcal_refuses_ten_classes_when_only_two_of_them_occur():
    probs, labels = rows(classes=10)
    assert ece(probs, labels % 2) > 0.0
    with pytest.raises(RuntimeError, match="binary"):
        netcal_ece()(probs, labels % 2)


def test_netcal_has_no_bins_of_equal_mass_when_confidences_are_tied():
    probs, labels = rows()
    probs[:600] = [1.0, 0.0, 0.0, 0.0]
    assert 0.0 < ece(probs, labels, binning="mass") < 1.0
    with pytest.raises(ValueError, match="edge"):
        netcal_ece(equal_intervals=False)(probs, labels)


def torchmetrics_ece(probs, labels):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from torchmetrics.functional.classification import multiclass_calibration_error

    arguments = torch.from_numpy(probs), torch.from_numpy(labels)
    return multiclass_calibration_error(*arguments, num_classes=probs.shape[1], n_bins=15).item()


def netcal_ece(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("netcal")
        from netcal.metrics import ECE
    return ECE(15, **options).measure
