import numpy as np
import pytest

from slova.heads import NONE
from slova.metrics import Accuracy, Brier, Nll, accuracy, brier, mmc, nll

PROBS = np.array([[0.5, 0.25], [0.125, 0.75], [0.0, 0.25], [1.0, 0.0]])
LABELS = np.array([0, 0, NONE, 0])


def test_accuracy_counts_a_none_row_as_right_exactly_when_it_is_rejected():
    assert accuracy(PROBS, LABELS) == 2 / 4
    assert accuracy(PROBS, LABELS, reject=0.3) == 3 / 4
    assert accuracy(np.array([[0.2, 0.1]]), np.array([NONE])) == 0.0


def test_rejecting_a_row_of_a_class_is_wrong():
    assert accuracy(np.array([[0.5, 0.1]]), np.array([0]), reject=0.6) == 0.0


def test_a_confidence_equal_to_the_threshold_is_kept():
    assert accuracy(np.array([[0.6, 0.1]]), np.array([0]), reject=0.6) == 1.0
    assert accuracy(np.array([[0.0, 0.0]]), np.array([0]), reject=0.0) == 1.0


def test_the_first_of_tied_classes_is_the_answer():
    assert accuracy(np.array([[0.5, 0.5]]), np.array([0])) == 1.0
    assert accuracy(np.array([[0.5, 0.5]]), np.array([1])) == 0.0


def test_a_threshold_outside_zero_to_one_is_refused():
    with pytest.raises(ValueError, match=r"reject must lie in \[0, 1\], got 1.5"):
        accuracy(PROBS, LABELS, reject=1.5)


def test_accuracies_at_different_thresholds_do_not_merge():
    with pytest.raises(ValueError, match=r"Accuracy states do not merge: reject 0\.0 and 0\.5"):
        Accuracy.of(PROBS, LABELS) + Accuracy.of(PROBS, LABELS, reject=0.5)


def test_states_of_different_metrics_do_not_merge():
    with pytest.raises(TypeError, match="'Brier' and 'Nll'"):
        Brier.of(PROBS, LABELS) + Nll.of(np.log(PROBS[:2]), LABELS[:2])


def test_brier_is_the_squared_distance_to_the_label_and_to_zero_for_none():
    expected = [0.25 + 0.0625, 0.875**2 + 0.75**2, 0.0625, 0.0]
    assert brier(PROBS, LABELS) == np.mean(expected)


def test_brier_reaches_from_zero_to_two_and_resolves_tiny_distances():
    sure = np.array([[1.0, 0.0]])
    assert brier(sure, np.array([0])) == 0.0
    assert brier(sure, np.array([1])) == 2.0
    assert brier(np.array([[1.0 - 2.0**-40, 0.0]]), np.array([0])) == 2.0**-80


def test_nll_reads_the_none_rows_from_log_none():
    with np.errstate(divide="ignore"):
        log_probs = np.log(PROBS)
    log_none = np.log(np.array([0.9, 0.9, 0.5, 0.9]))
    expected = -np.log([0.5, 0.125, 0.5, 1.0]).mean()
    assert nll(log_probs, LABELS, log_none=log_none) == pytest.approx(expected, rel=1e-15)


def test_nll_without_log_none_refuses_none_rows():
    with pytest.raises(ValueError, match=r"1 NONE rows: log_none must have shape \(4,\), got None"):
        nll(np.zeros((4, 2)), LABELS)
    with pytest.raises(ValueError, match=r"log_none \(3,\) do not match log_probs \(4, 2\)"):
        nll(np.zeros((4, 2)), LABELS, log_none=np.zeros(3))


def test_nll_of_probability_zero_is_infinite_and_stays_so_when_merged():
    impossible, certain = np.array([[-np.inf, 0.0]]), np.array([[0.0, -np.inf]])
    assert nll(impossible, np.array([0])) == np.inf
    assert nll(certain, np.array([0])) == 0.0
    assert str(nll(certain, np.array([0]))) == "0.0"
    assert (Nll.of(impossible, np.array([0])) + Nll.of(certain, np.array([0]))).value == np.inf


def test_nll_refuses_what_is_no_logarithm_of_a_probability():
    with pytest.raises(ValueError, match=r"log_probs must lie in \[-inf, 0\], got values from 0\.5 to 0\.5"):
        nll(np.array([[0.5]]), np.array([0]))


def test_mmc_is_the_mean_of_the_largest_probs():
    assert mmc(PROBS) == (0.5 + 0.75 + 0.25 + 1.0) / 4
