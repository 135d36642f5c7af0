"""Displays keep the numbers of the metrics, draw into given axes, and name the extra where matplotlib is missing."""

import subprocess
import sys

import numpy as np
import pytest

from slova import NONE, Prediction, Scorer, metrics

pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("agg")

DISPLAYS = [metrics.ReliabilityDisplay, metrics.RiskCoverageDisplay, metrics.ConfidenceHistogramDisplay]


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def rows(count=400, seed=0):
    generator = np.random.default_rng(seed)
    probs = generator.dirichlet(np.ones(3), count)
    return probs, np.where(generator.random(count) < 0.1, NONE, (probs.argmax(1) + (generator.random(count) < 0.2)) % 3)


def prediction(probs, names=None):
    top = probs.argmax(axis=1) if names is None else np.array(names, object)[probs.argmax(axis=1)]
    zeros = np.zeros(len(probs))
    return Prediction(top, probs.max(axis=1), zeros, 1 - probs.max(axis=1), top)


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_into_the_axes_that_are_given_and_keeps_them(display):
    figure, (left, right) = pyplot.subplots(1, 2)
    drawn = display.from_predictions(*rows(), ax=right, name="mine")
    assert drawn.ax_ is right
    assert drawn.figure_ is figure
    assert not left.has_data()
    assert right.has_data()
    assert drawn.plot(left) is drawn
    assert drawn.ax_ is left


def test_without_axes_the_present_ones_are_used_or_made():
    first = metrics.ReliabilityDisplay.from_predictions(*rows(), name="first")
    second = metrics.ReliabilityDisplay.from_predictions(*rows(seed=1), name="second")
    assert second.ax_ is first.ax_
    words = [text.get_text() for text in second.ax_.get_legend().get_texts()]
    assert [word.partition(",")[0] for word in words] == ["perfect", "first", "second"]


def test_the_reliability_diagram_shows_accuracy_by_confidence_and_says_the_ece():
    probs, labels = rows()
    drawn = metrics.ReliabilityDisplay.from_predictions(probs, labels, bins=10)
    curve = metrics.reliability(probs, labels, bins=10)
    line, _, (bars,) = drawn.line_
    assert np.allclose(line.get_xydata(), np.column_stack([curve.confidence, curve.accuracy]))
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert np.allclose(ends, np.column_stack([curve.low, curve.high]))
    assert line.get_label() == "_nolegend_"
    assert f"ECE {metrics.ece(probs, labels, bins=10):.3f}" in drawn.ax_.get_legend().get_texts()[-1].get_text()


def test_the_risk_coverage_curve_is_that_of_the_metric():
    probs, labels = rows()
    drawn = metrics.RiskCoverageDisplay.from_predictions(probs, labels, color="red")
    curve = metrics.risk_coverage(probs, labels)
    assert np.allclose(np.interp(drawn.curve.coverage, curve.coverage, curve.risk), drawn.curve.risk)
    assert drawn.aurc == pytest.approx(metrics.aurc(probs, labels), abs=1e-3)
    assert drawn.line_.get_color() == "red"


def test_the_histogram_has_every_row_once_and_right_ones_below_wrong_ones():
    probs, labels = rows()
    drawn = metrics.ConfidenceHistogramDisplay.from_predictions(probs, labels, bins=8)
    assert drawn.right.sum() == (probs.argmax(axis=1) == labels).sum()
    assert drawn.right.sum() + drawn.wrong.sum() == len(labels)
    right, wrong = drawn.bars_
    assert [bar.get_height() for bar in right] == drawn.right.tolist()
    assert [bar.get_y() for bar in wrong] == drawn.right.tolist()


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_prediction_is_drawn_like_its_probabilities_also_with_names(display):
    probs, labels = rows()
    names = ["ash", "elm", "oak"]
    of_names = [None if label == NONE else names[label] for label in labels]
    drawn = [
        display.from_predictions(probs, labels),
        display.from_predictions(prediction(probs), labels),
        display.from_predictions(prediction(probs, names), of_names),
    ]
    kept = [[value for value in vars(one).values() if isinstance(value, np.ndarray | float)] for one in drawn]
    for value, other, named in zip(*kept, strict=True):
        assert np.array_equal(value, other)
        assert np.array_equal(value, named)


def test_labels_that_do_not_match_are_named():
    probs, labels = rows()
    with pytest.raises(ValueError, match=r"labels \(399,\) do not match the prediction \(400,\)"):
        metrics.ReliabilityDisplay.from_predictions(prediction(probs), labels[1:])
    with pytest.raises(ValueError, match="probs must have shape"):
        metrics.ReliabilityDisplay.from_predictions(labels.astype(float), probs)


def test_an_evaluation_is_plotted_with_its_own_numbers():
    probs, labels = rows(2000)
    found = Scorer.fit(probs, labels, calibration=None).evaluate(probs, labels)
    drawn = found.plot()
    assert drawn.reliability.ece == found.ece.value
    assert drawn.risk_coverage.aurc == found.aurc
    assert (drawn.histogram.right + drawn.histogram.wrong).sum() == found.rows
    assert len(drawn.axes_) == 3
    assert {ax.get_figure() for ax in drawn.axes_} == {drawn.figure_}
    axes = pyplot.subplots(3)[1]
    assert found.plot(axes).axes_ == tuple(axes)


def test_without_matplotlib_the_extra_is_named():
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np
from slova.metrics import RiskCoverageDisplay
try:
    RiskCoverageDisplay.from_predictions(np.array([[0.7, 0.3]]), np.array([0]))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'plots need matplotlib: pip install "slova[plot]"'
