"""The metrics tell the truth: counts add up, the window slides, and drift shows where there is some and only there."""

import numpy as np
import pytest

from slova.export.file_metadata import Validation
from slova.heads import NONE
from slova.serve.load import scorer_model
from slova.serve.monitoring import DriftMonitor

LABEL = np.zeros(1, int)


def monitor(confidence, validation=None, window=1000, label=None):
    found = DriftMonitor(validation, window)
    for part in np.array_split(np.asarray(confidence), 7):
        found.add(part, np.zeros(len(part), int) if label is None else np.full(len(part), label))
    return found


def counts(confidence):
    return np.histogram(confidence, 100, (0, 1))[0]


def test_the_drift_is_the_two_sample_distance_of_kolmogorov_and_smirnov():
    from scipy.stats import ks_2samp

    generator = np.random.default_rng(0)
    ours, theirs = generator.beta(5, 2, 800), generator.beta(4, 3, 1500)
    binned = [np.floor(values * 100) for values in (ours, theirs)]
    found = monitor(ours, counts(theirs)).drift()
    assert found.distance == pytest.approx(ks_2samp(*binned).statistic, abs=1e-12)


def test_chance_alone_exceeds_its_line_in_about_one_window_of_twenty():
    generator = np.random.default_rng(1)
    draws = [(generator.beta(5, 2, 500), generator.beta(5, 2, 2000)) for _ in range(400)]
    drifts = [monitor(ours, counts(theirs)).drift() for ours, theirs in draws]
    share = np.mean([drift.distance > drift.chance for drift in drifts])
    assert 0.01 < share < 0.08


def test_the_window_forgets_what_is_older():
    low, high = np.full(1000, 0.2), np.full(1000, 0.9)
    validation = counts(high)
    assert monitor(np.concatenate([low, high]), validation).drift().distance == 0
    assert monitor(np.concatenate([high, low]), validation).drift().distance == 1
    half = monitor(np.concatenate([high, low[:500]]), validation)
    assert half.drift().distance == pytest.approx(0.5)
    assert (half.seen, half.rows, half.recent.sum()) == (1000, 1500, 1000)


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_it_does_not_matter_in_which_portions_rows_come(parts):
    generator = np.random.default_rng(2)
    confidence, label = generator.random(3000), generator.integers(NONE, 3, 3000)
    whole = DriftMonitor(None, 1000)
    for rows in np.array_split(np.arange(3000), parts):
        whole.add(confidence[rows], label[rows])
    np.testing.assert_array_equal(whole.recent, counts(confidence[-1000:]))
    np.testing.assert_array_equal(whole.counts, counts(confidence))
    assert whole.recent_none_rows == (label[-1000:] == NONE).sum()
    assert whole.nones == (label == NONE).sum()


def test_edges_and_nan_have_their_bins():
    found = monitor([0.0, 1.0, 0.01, np.nan, 0.999, 1.0000001, 0.5])
    assert found.counts[[0, 1, 50, 99]].tolist() == [2, 1, 1, 3]


def test_without_a_validation_set_or_rows_there_is_no_drift():
    assert monitor([0.5]).drift() is None
    assert DriftMonitor(counts(np.array([0.5]))).drift() is None
    assert monitor([0.5]).expected_none_share(0.5) is None


def test_the_metrics_of_a_server_are_those_of_its_answers(serving, scorer, logits):
    with serving(scorer_model(scorer, name="map", reject=0.6)) as client:
        for rows in np.array_split(logits, 4):
            assert client.predict({"inputs": rows.tolist()})[0] == 200
        assert client.predict({"inputs": "no"})[0] == 400
        found = client.metrics()
    answer = scorer.predict(logits, reject=0.6)
    nones = (answer.label == NONE).sum()
    assert (found["slova_rows_total"], found["slova_none_total"]) == (200, nones)
    assert found["slova_none_share"] == pytest.approx(nones / 200)
    assert found["slova_confidence_sum"] == pytest.approx(answer.confidence.sum(), rel=1e-5)
    assert found['slova_confidence_bucket{le="0.9"}'] == (answer.confidence < 0.9).sum()
    assert found["slova_confidence_count"] == found['slova_confidence_bucket{le="+Inf"}'] == 200
    assert found['slova_requests_total{code="200",route="/predict"}'] == 4
    assert found['slova_requests_total{code="400",route="/predict"}'] == 1
    assert found["slova_request_seconds_count" + '{route="/predict"}'] == 5
    assert found["slova_batch_rows_sum"] == 200
    known = np.asarray(Validation.of(scorer.validation).counts)
    assert found["slova_none_share_validation"] == pytest.approx(known[:60].sum() / known.sum())
    assert found["slova_confidence_drift"] < found["slova_confidence_drift_chance"]  # drawn alike
    assert found["process_resident_memory_bytes"] > 1e6


def test_ood_rows_show_as_drift(serving, scorer):
    ood = np.random.default_rng(5).normal(-1, 1, (300, 3))
    with serving(scorer_model(scorer)) as client:
        assert client.predict({"inputs": ood.tolist()})[0] == 200
        found = client.metrics()
    assert found["slova_confidence_drift"] > 3 * found["slova_confidence_drift_chance"]
