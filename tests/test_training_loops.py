"""Metrics in other people's training loops, and their networks in ours. The loops themselves run as examples."""

import copy
import pickle
import sys

import numpy as np
import onnxruntime
import pytest
import torch
from torchmetrics import MetricCollection

from slova import Classifier, init_bias
from slova.export import OUTPUTS
from slova.metrics import (
    Accuracy,
    Brier,
    ClasswiseEce,
    Detection,
    Ece,
    Mmc,
    Nll,
    Selection,
    accuracy,
    aurc,
    auroc,
    brier,
    classwise_ece,
    ece,
    mmc,
    nll,
)
from slova.metrics.torchmetrics import as_metric

GENERATOR = np.random.default_rng(0)
PROBS = torch.as_tensor(GENERATOR.dirichlet(np.ones(4), 600))
LABELS = torch.as_tensor(GENERATOR.integers(-1, 4, 600))
KNOWN = LABELS.clip(min=0)
BOTH = (PROBS, LABELS)
CASES = {
    "accuracy": (lambda: as_metric(Accuracy, reject=0.4), lambda *rows: accuracy(*rows, reject=0.4), BOTH),
    "brier": (lambda: as_metric(Brier), brier, BOTH),
    "ece": (lambda: as_metric(Ece, bins=10), lambda *rows: ece(*rows, bins=10), BOTH),
    "classwise": (lambda: as_metric(ClasswiseEce, classes=4), classwise_ece, BOTH),
    "mmc": (lambda: as_metric(Mmc), mmc, (PROBS,)),
    "nll": (lambda: as_metric(Nll), nll, (PROBS.log(), KNOWN)),
    "aurc": (lambda: as_metric(Selection, value="aurc"), aurc, BOTH),
    "auroc": (lambda: as_metric(Detection, value="auroc"), auroc, (PROBS[:, 0], PROBS[:, 1])),
}


def parts(rows):
    """Batches of different sizes."""
    return [[array[first:last] for array in rows] for first, last in ((0, 100), (100, 350), (350, 600))]


@pytest.fixture(params=CASES)
def case(request):
    make, function, rows = CASES[request.param]
    exact = 1e-3 if request.param in ("aurc", "auroc") else 1e-6  # ranks are known to a cell of the histogram
    return make(), lambda *rows: pytest.approx(function(*rows), abs=exact), rows


def test_a_metric_of_batches_is_the_function_of_all_rows(case):
    metric, function, rows = case
    for batch in parts(rows):
        value = metric(*batch)  # forward gives the value of the batch, and merges it
        assert float(value) == function(*batch)
    assert float(metric.compute()) == function(*rows)
    metric.reset()
    metric.update(*parts(rows)[0])
    assert float(metric.compute()) == function(*parts(rows)[0])


def test_processes_that_meet_have_the_value_of_all_their_rows(case):
    metric, function, rows = case
    other = copy.deepcopy(metric)
    metric.update(*parts(rows)[0])
    for batch in parts(rows)[1:]:
        other.update(*batch)
    theirs = iter([getattr(other, name) for name in metric._reductions])
    together = {"dist_sync_fn": lambda ours, group: [ours, next(theirs)], "distributed_available": lambda: True}
    metric.sync(**together)  # as if all_gather had brought theirs
    wanted = metric._of.of(*rows, **metric._options)
    for name in metric._merged:
        np.testing.assert_allclose(getattr(metric.state, name), getattr(wanted, name), rtol=1e-12)
    metric.unsync()
    theirs = iter([getattr(other, name) for name in metric._reductions])
    metric.dist_sync_fn, metric.distributed_available_fn = together.values()
    assert float(metric.compute()) == function(*rows)


def test_a_metric_can_be_pickled_collected_and_asked_for_its_state():
    metric = pickle.loads(pickle.dumps(as_metric(Ece)))
    together = MetricCollection({"ece": metric, "brier": as_metric(Brier)})
    together.update(*BOTH)
    assert {name: float(value) for name, value in together.compute().items()} == pytest.approx(
        {"ece": ece(*BOTH), "brier": brier(*BOTH)}, abs=1e-6
    )
    assert together["ece"].state.value == ece(*BOTH)


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
def test_before_any_row_there_is_no_value():
    with pytest.raises(ValueError, match="there are no rows yet"):
        as_metric(Brier).compute()


def test_wrong_rows_are_refused_as_everywhere():
    with pytest.raises(ValueError, match=r"labels \(3,\) do not match probs \(2, 4\)"):
        as_metric(Ece).update(PROBS[:2], LABELS[:3])
    with pytest.raises(ValueError, match="bins and classes must be the same"):
        as_metric(ClasswiseEce, classes=3).update(*BOTH)


def test_without_torchmetrics_the_sentence_names_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "slova.metrics.torchmetrics")
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    with pytest.raises(ImportError, match="needs torchmetrics: pip install torchmetrics"):
        import slova.metrics.torchmetrics  # noqa: F401


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")
def test_a_network_of_transformers_is_fitted_predicted_and_exported(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    network = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=50, num_labels=3, **sizes))
    init_bias(network.classifier)
    words = {"input_ids": torch.randint(0, 50, (90, 7)), "attention_mask": (torch.rand(90, 7) < 0.9).long()}
    classifier = Classifier.fit(network, {**words, "labels": torch.arange(90) % 3})
    classifier.export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    found = session.run(None, {name: value.numpy() for name, value in words.items()})
    for name, ours, theirs in zip(OUTPUTS, classifier.predict(words), found, strict=False):
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-5, err_msg=name)
