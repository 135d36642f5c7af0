"""The states of the rank metrics never err by more than they say."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slova.heads import NONE
from slova.metrics import Detection, Selection, aupr, aurc, auroc, ece, fpr95
from slova.metrics.confidence_histogram import CELLS, EDGES

# ties, the ends, bin edges, the same cell but different numbers, and the last floats before the ends
HARD = [0.0, 5e-324, 1e-300, 1e-17, 0.2, 0.6, *(0.6 + k * 1e-6 for k in range(1, 6)), 1 - 2.0**-52, 1 - 2.0**-53, 1.0]
CONFIDENCES = st.lists(st.sampled_from(HARD) | st.floats(0, 1) | st.floats(0.6, 0.601), min_size=1, max_size=60)
DETECTIONS = {"auroc": auroc, "aupr": aupr, "fpr95": fpr95}
many = settings(max_examples=200, deadline=None)


def within(estimate, exact):
    assert estimate.bound >= 0.0
    return abs(estimate.value - exact) <= estimate.bound + 1e-12


def halves(state, *columns):
    """The state of every other row plus that of the rest, the later half first."""
    return functools.reduce(operator.add, (state(*(column[start::2] for column in columns)) for start in (1, 0)))


@pytest.mark.parametrize("name", DETECTIONS)
@given(inside=CONFIDENCES, outside=CONFIDENCES)
@many
def test_a_detection_value_lies_within_its_bound(name, inside, outside):
    inside, outside = np.array(inside), np.array(outside)
    exact = DETECTIONS[name](inside, outside)
    assert within(getattr(Detection.of(inside, outside), name), exact)
    assert within(getattr(halves(Detection.of, inside, outside), name), exact)


@given(confidence=CONFIDENCES, seed=st.integers(0, 1000), bins=st.integers(1, 20))
@many
def test_aurc_and_equal_mass_ece_lie_within_their_bounds(confidence, seed, bins):
    probs = np.array(confidence)[:, None]
    labels = np.random.default_rng(seed).integers(NONE, 1, size=len(probs))
    for state in (Selection.of(probs, labels), halves(Selection.of, probs, labels) if len(probs) > 1 else None):
        if state is not None:
            assert within(state.aurc, aurc(probs, labels))
            assert within(state.ece(bins=bins), ece(probs, labels, bins=bins, binning="mass"))


@given(st.lists(st.sampled_from(EDGES[::97].tolist()), min_size=2, max_size=60))
@many
def test_ties_are_ranked_exactly_however_heavy(confidence):
    confidence = np.array(confidence)
    state, estimates = (
        Detection.of(confidence, confidence[::2] ** 2),
        Selection.of(confidence[:, None], confidence.astype(int)),
    )
    if not state.uncertain.any():
        assert (state.auroc.bound, state.aupr.bound, state.fpr95.bound) == (0.0, 0.0, 0.0)
    assert (estimates.aurc.bound, estimates.ece().bound) == (0.0, 0.0)


def test_the_worst_order_inside_one_cell_is_within_the_bound_but_not_far():
    generator = np.random.default_rng(0)
    confidence = 0.6 + np.sort(generator.random(4000)) * 1e-6
    for inside, outside in ((confidence[2000:], confidence[:2000]), (confidence[:2000], confidence[2000:])):
        for name, exact in DETECTIONS.items():
            estimate = getattr(Detection.of(inside, outside), name)
            assert within(estimate, exact(inside, outside))
            assert estimate.bound <= 0.5
    for labels in (np.arange(4000) < 2000, np.arange(4000) >= 2000):
        probs, labels = confidence[:, None], labels.astype(int) - 1
        estimate = Selection.of(probs, labels).aurc
        assert abs(estimate.value - aurc(probs, labels)) == pytest.approx(estimate.bound, abs=1e-9)


def test_the_bounds_are_small_on_confidences_like_those_of_a_network():
    generator = np.random.default_rng(0)
    inside, outside = (1 / (1 + np.exp(-generator.normal(mean, 4, 20_000))) for mean in (5, 1))
    state = Detection.of(inside, outside)
    assert max(state.auroc.bound, state.aupr.bound, state.fpr95.bound) < 1e-3
    labels = np.where(generator.random(20_000) < inside, 0, NONE)
    state = Selection.of(inside[:, None], labels)
    assert state.aurc.bound < 1e-4
    assert state.ece().bound < 3e-3


def test_the_cells_are_as_fine_as_documented():
    widths = np.diff(EDGES)
    assert CELLS < 8000
    assert (widths > 0).all()
    assert widths.max() <= 2.0**-12
    for octave in 2.0 ** -np.arange(2, 50):
        assert ((octave <= EDGES) & (2 * octave > EDGES)).sum() >= 32
    for octave in 2.0 ** -np.arange(2, 48):  # nearer to 1 than 2^-48 there are fewer floats than that
        assert ((octave < 1 - EDGES) & (2 * octave >= 1 - EDGES)).sum() >= 32
    assert {0.0, 1.0, 1.0 - 2.0**-53} <= set(EDGES)


def test_the_cells_are_dyadic_so_that_every_machine_has_the_same():
    mantissas = np.frexp(EDGES)[0] * 2.0**52
    normal = (EDGES > 0.0) & (EDGES <= 0.5)
    assert (mantissas[normal] % 2.0**36 == 0.0).all()
