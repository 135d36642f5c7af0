"""What a classifier answers beside labels: probabilities, sets, metrics, thresholds and a page."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from slova import NONE, Classifier


def test_probabilities_sum_to_one_and_are_those_of_the_answer_and_of_the_module(classifier, blobs):
    points, _ = blobs(500, 2)
    probs, answer = classifier.predict_proba(points, batch_size=100), classifier.predict(points)
    assert probs.shape == (500, 5)
    assert torch.allclose(probs.sum(-1), torch.ones(500))
    assert torch.allclose(probs.gather(-1, answer.top[:, None])[:, 0], answer.confidence, atol=1e-6)
    assert torch.allclose(probs[:, -1], answer.none, atol=1e-6)
    with torch.no_grad():
        assert torch.allclose(classifier(points).log_probs.exp(), probs[:, :-1], atol=1e-6)


@pytest.mark.parametrize("exact", [False, True])
def test_sets_hold_the_true_class_as_often_as_stated(classifier, blobs, exact):
    points, labels = blobs(4000, 3)
    more, of_more = blobs(1000, 4)
    given = {"calibration_inputs": more, "calibration_labels": of_more} if exact else {}
    sets = classifier.predict_set(points, coverage=0.9, **given)
    assert sets.dtype == torch.bool
    assert sets.shape == (4000, 5)
    assert sets[torch.arange(4000), labels].float().mean() == pytest.approx(0.9, abs=0.03)


def test_metrics_of_arrays_and_of_a_loader_are_the_same(classifier, blobs):
    points, labels = blobs(1000, 5)
    found = classifier.evaluate(points, labels)
    assert found == classifier.evaluate((points, labels)) == classifier.evaluate(points.numpy(), labels.tolist())
    loader = DataLoader(TensorDataset(points, labels), batch_size=300)
    assert found.nll.value == pytest.approx(classifier.evaluate(loader).nll.value, rel=1e-6)
    low, high = found.accuracy.interval
    assert low < (classifier.predict(points).label == labels).float().mean() < high


def test_a_threshold_of_fresh_rows_is_exact_and_of_the_fit_approximate(classifier, blobs):
    points, labels = blobs(4000, 6)
    fresh = classifier.threshold(*blobs(2000, 7), risk=0.08)
    for reject in (fresh, classifier.threshold(risk=0.08)):
        label = classifier.predict(points, reject=reject).label
        assert (label != labels)[label != NONE].float().mean() <= 0.09
        assert (label != NONE).float().mean() > 0.5


def test_a_page_is_written(classifier, blobs, tmp_path):
    pytest.importorskip("altair")
    path = classifier.report(*blobs(500, 8), tmp_path / "page.html")
    text = path.read_text()
    assert "500 rows: 4 classes, one-vs-all, posterior calibration on 1,000 rows" in text
    assert "Before calibration" in text
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_names_are_those_of_the_labels_and_survive_a_file(network, blobs, tmp_path, mlp):
    points, labels = blobs(1000, 1)
    texts = np.array(["north-east", "a", "b", "c"])[labels]
    with pytest.warns(UserWarning, match="sorted unless names= gives them in the order of the columns"):
        Classifier.fit(network, points, texts)  # sorted, and not in the order of the outputs
    fitted = Classifier.fit(network, points, texts, names=["north-east", "a", "b", "c"])
    fitted.save(tmp_path / "model.slova")
    again = Classifier.load(tmp_path / "model.slova", mlp())
    assert again.names == ("north-east", "a", "b", "c")
    assert again.evaluate(points, texts) == fitted.evaluate(points, texts)
    assert repr(again) == repr(fitted)
