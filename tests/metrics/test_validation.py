"""What no metric accepts, in its function or in its state; the dictionary of metrics is in conftest.py."""

import numpy as np
import pytest

from slova import metrics


@pytest.mark.parametrize("form", ["function", "state"])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        pytest.param(
            lambda a: np.where(np.arange(a.size).reshape(a.shape) == 3, np.nan, a), ValueError, "nan", id="nan"
        ),
        pytest.param(
            lambda a: np.where(np.arange(a.size).reshape(a.shape) == 3, np.inf, a), ValueError, "inf", id="inf"
        ),
        pytest.param(lambda a: a[:0], ValueError, r"\(0,|0 inside", id="no rows"),
        pytest.param(lambda a: a[None], ValueError, r"must have shape \(n_rows.*got \(1, ", id="an axis too many"),
        pytest.param(lambda a: np.ones(a.shape, dtype=int), TypeError, "floating point, got int", id="integers"),
        pytest.param(lambda a: np.full(a.shape, "0.5"), TypeError, "floating point, got <U3", id="text"),
    ],
)
def test_what_is_no_probability_is_refused_by_name(metric, batch, form, change, error, message):
    first, *others = metric.arguments(*batch(0))
    with pytest.raises(error, match=message):
        compute(metric, form, change(first), *others)


@pytest.mark.parametrize("form", ["function", "state"])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        pytest.param(lambda y: y[1:], ValueError, r"labels \(89,\) do not match (log_)?probs \(90, 4\)", id="too few"),
        pytest.param(lambda y: y[:, None], ValueError, r"labels \(90, 1\) do not match", id="an axis too many"),
        pytest.param(lambda y: y + 1, ValueError, r"lie in \[-1, 4\), got values from 0 to 4", id="a class too many"),
        pytest.param(lambda y: y - 1, ValueError, r"lie in \[-1, 4\), got values from -2 to 2", id="below NONE"),
        pytest.param(lambda y: y.astype(float), TypeError, "integers, got float64", id="floating point"),
        pytest.param(lambda y: y > 0, TypeError, "integers, got bool", id="yes and no"),
    ],
)
def test_what_is_no_label_is_refused_with_both_shapes_or_values(labelled, batch, form, change, error, message):
    probs, labels = batch(0)
    labels[0] = 3
    first, _, *others = labelled.arguments(probs, labels)
    with pytest.raises(error, match=message):
        compute(labelled, form, first, change(labels), *others)


def test_values_outside_by_more_than_rounding_are_refused():
    metrics.mmc(np.array([[1.0 + 9e-7, -9e-7]]))
    for value in (1.0 + 2e-6, -2e-6):
        with pytest.raises(ValueError, match=r"\[0, 1\], got values from .*" + str(value)):
            metrics.mmc(np.array([[0.5, value]]))
    with pytest.raises(ValueError, match=r"inside must lie in \[0, 1\], got values from 0\.5 to 3\.0"):
        metrics.Detection.of(np.array([0.5, 3.0]), np.array([0.5]))


def compute(metric, form, *arguments):
    return metric.function(*arguments) if form == "function" else metric.read(metric.state(*arguments))
