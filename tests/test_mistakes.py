"""The likeliest mistakes, and the message that each of them gets: what came, and what to do."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import slova
from slova import NONE, Classifier, Prediction, Scorer
from slova._warnings import CalibrationWarning

GENERATOR = torch.Generator().manual_seed(0)
LABELS = torch.arange(300) % 3
POINTS = torch.eye(3)[LABELS] * 2 + torch.randn(300, 3, generator=GENERATOR) * 0.8
NETWORK = nn.Linear(3, 3)
with torch.no_grad():
    NETWORK.weight.copy_(3 * torch.eye(3))
    NETWORK.bias.fill_(-3.0)
LOGITS = NETWORK(POINTS).detach().numpy()
SOFTMAX = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


class Named(nn.Module):
    """Takes its input by name."""

    def forward(self, points):
        return NETWORK(points)


def fit(inputs=POINTS, labels=LABELS, network=NETWORK, **options):
    return Classifier.fit(network, inputs, labels, **options)


@pytest.fixture(scope="module")
def classifier():
    return fit(names=["a", "b", "c"])


def written(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    return tmp_path / "file"


FIT = [
    ("no labels", lambda: fit(labels=None), ValueError, "labels must be given, after the inputs or as the"),
    ("a list of two", lambda: fit([POINTS, LABELS], None), ValueError, "a batch must be inputs and labels"),
    ("labels cut off", lambda: fit(labels=LABELS[:-1]), ValueError, "got (300, 3), and labels (299,)"),
    ("labels from 1", lambda: fit(labels=LABELS + 1), ValueError, "labels must lie in [-1, 3), got values from 1 to 3"),
    ("one-hot", lambda: fit(labels=torch.eye(3)[LABELS]), ValueError, "got (300, 3): use one-hot.argmax(axis=1)"),
    ("float labels", lambda: fit(labels=LABELS.double()), TypeError, "labels must be integers, got float64"),
    (
        "a loader and labels",
        lambda: fit(TensorDataset(POINTS)),
        TypeError,
        "must not be given with a TensorDataset",
    ),
    ("a loader without", lambda: fit(DataLoader(TensorDataset(POINTS)), None), ValueError, "got inputs only"),
    (
        "a loader of tensors",
        lambda: fit(DataLoader(POINTS), None),
        ValueError,
        "inputs and labels, got a Tensor",
    ),
    ("no rows", lambda: fit(POINTS[:0], LABELS[:0]), ValueError, "there are no rows to fit on"),
    ("scikit-learn", lambda: fit(network=LogisticRegression()), TypeError, "use slova.sklearn.SlovaClassifier"),
    ("a class", lambda: fit(network=nn.Linear), TypeError, "got the class Linear: create one of it first"),
    ("a function", lambda: fit(network=lambda rows: rows), TypeError, "must be a torch.nn.Module, got function"),
    (
        "unknown keys",
        lambda: fit({"points": POINTS, "idx": LABELS}, network=Named()),
        ValueError,
        "Named takes points, and not idx: leave these keys out of the batches",
    ),
    (
        "dict labels",
        lambda: fit({"points": POINTS}, None, Named()),
        ValueError,
        "or be under 'labels' or 'label'",
    ),
    (
        "another key",
        lambda: fit({"image": POINTS}, network=Named()),
        ValueError,
        "Named takes points, and not image: rename image to points",
    ),
    (
        "other keys",
        lambda: fit({"image": POINTS, "idx": LABELS}, network=Named()),
        ValueError,
        "Named takes points, and not image, idx: rename these keys of the batches",
    ),
    ("names twice", lambda: fit(names=["a", "b", "a"]), ValueError, "names must differ, 'a' occurs twice"),
    ("one name", lambda: fit(names=["a"] * 3), ValueError, "names must differ, 'a' occurs 3 times"),
    ("distance", lambda: fit(calibration="distance"), ValueError, "calibration must be one of posterior, exponential,"),
    ("few names", lambda: fit(names=["a", "b"]), ValueError, "got 2 names for 3 classes"),
    (
        "names of some",
        lambda: fit(labels=["x" if label else "y" for label in LABELS.tolist()]),
        ValueError,
        "the labels have 2 names for 3 classes: give names= in the order of the outputs",
    ),
    (
        "another name",
        lambda: fit(labels=["d"] * 300, names=["a", "b", "c"]),
        ValueError,
        "the labels 'd' are none of the classes of the fit (a, b, c); label rows of other classes slova.NONE",
    ),
    ("nan", lambda: fit(POINTS * torch.nan), ValueError, "logits must not be NaN, got NaN in 300 of 300 rows"),
    ("head", lambda: fit(head="sigmoid"), ValueError, "head must be a Head or one of auto, slova, ova, softmax"),
    ("calibration", lambda: fit(calibration="platt"), ValueError, "calibration must be one of posterior, exponential"),
    ("text inputs", lambda: fit(pd.DataFrame({"a": ["x"] * 300})), TypeError, "inputs must be numbers in rows of the"),
    (
        "ragged",
        lambda: fit([[1.0], [1.0, 2.0]], [0, 1]),
        TypeError,
        "numbers in rows of the same length",
    ),
    ("names of files", lambda: fit(["a.png"] * 300), TypeError, "got a list of str: convert them as for training"),
    ("a tuple", lambda: fit(network=nn.LSTM(3, 3)), TypeError, "got tuple: wrap it in a module whose forward returns"),
    ("text", lambda: fit("images.npy"), TypeError, "expected tensors, a Dataset or batches, got str"),
    ("batch size", lambda: fit(batch_size=0), ValueError, "batch_size must be at least 1, got 0"),
    (
        "none_share",
        lambda: fit(none_share=0.1, calibration="beta"),
        ValueError,
        "none_share is the prior of NONE, and no row is labelled NONE",
    ),
]
SCORE = [
    ("class labels", lambda: Scorer.fit(LOGITS.argmax(1), LABELS), TypeError, "must be floating point, got int64"),
    ("constant", lambda: Scorer.fit(np.zeros((300, 3)), LABELS), ValueError, "same value for all classes"),
    ("percent", lambda: Scorer.fit(100 * SOFTMAX, LABELS), ValueError, "divide percentages by 100"),
    ("transposed", lambda: Scorer.fit(LOGITS.T, LABELS), ValueError, "labels (300,) do not match logits (3, 300)"),
    ("probabilities", lambda: Scorer.fit(LOGITS, LABELS).predict(SOFTMAX), ValueError, "fitted to logits, got rows of"),
    ("logits", lambda: Scorer.fit(SOFTMAX, LABELS).predict(LOGITS), ValueError, "fitted to probabilities, got values"),
    ("columns", lambda: Scorer.fit(LOGITS, LABELS).predict(LOGITS[:, :2]), ValueError, "(..., 3), got (300, 2)"),
    ("no validation", lambda: Scorer(classes=3).threshold(risk=0.1), ValueError, "knows no threshold: give rows"),
    ("weight", lambda: Scorer.fit(LOGITS, LABELS, weight=np.ones(2)), ValueError, "weight (2,) does not match labels"),
]
USE = [
    ("one row", lambda c: c.predict(POINTS[0]), ValueError, "such as images[:1] or image[None]"),
    ("axes", lambda c: c.predict(POINTS[None]), ValueError, "batch of shape (1, 300, 3) instead of (N, 3), as in the"),
    (
        "columns",
        lambda c: c.predict(POINTS[:9, :2]),
        ValueError,
        "run on a batch of shape (9, 2) instead of (N, 3), as",
    ),
    ("inputs", lambda c: c.predict((POINTS, POINTS)), ValueError, "are 2 without names; expected 1 without names, as"),
    ("names twice", lambda c: Classifier(NETWORK, c.scorer, names=["a", "b", "b"]), ValueError, "'b' occurs twice"),
    ("no rows", lambda c: c.predict([]), ValueError, "there are no inputs to predict"),
    ("percent", lambda c: c.predict(POINTS, reject=50), ValueError, "reject must lie in [0, 1], got 50"),
    ("text", lambda c: c.predict(POINTS, reject="0.5"), TypeError, "reject must be a number, got '0.5'"),
    ("risk", lambda c: c.threshold(risk=5), ValueError, "risk and coverage must lie in [0, 1], got 5"),
    ("no target", lambda c: c.threshold(), ValueError, "either risk or coverage must be given"),
    ("risk 0", lambda c: c.threshold(risk=0.0), ValueError, "no threshold guarantees a risk of 0: the least possible"),
    ("coverage", lambda c: c.predict_set(POINTS, coverage=95), ValueError, "coverage must lie in (0, 1), got 95"),
    ("new label", lambda c: c.evaluate(POINTS, ["z"] * 300), ValueError, "the labels 'z' are none of the classes"),
    ("no labels", lambda c: c.evaluate(POINTS), ValueError, "labels must be given"),
    (
        "other network",
        lambda c: Classifier(nn.Linear(3, 5), c.scorer).predict(POINTS),
        ValueError,
        "(n_rows, 3), got (256",
    ),
    ("no folder", lambda c: c.save("nowhere/model.slova"), FileNotFoundError, "there is no folder"),
    ("names", lambda c: fit().evaluate(POINTS, ["a"] * 300), ValueError, "has no names: labels must be integers"),
]


def test_there_are_at_least_forty_mistakes():
    assert len(FIT) + len(SCORE) + len(USE) >= 40


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*rest, id=name) for name, *rest in FIT + SCORE])
def test_a_mistake_in_a_fit_gets_its_message(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*rest, id=name) for name, *rest in USE])
def test_a_mistake_in_use_gets_its_message(classifier, call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(classifier)


def test_a_file_that_is_no_model_gets_its_message(tmp_path):
    with pytest.raises(ValueError, match="file is not a slova file"):
        Classifier.load(written(tmp_path, b"\x80\x04pickle" * 10), NETWORK)


def test_classes_in_another_order_than_the_labels_are_warned_of():
    with pytest.warns(CalibrationWarning, match="if the columns had another order: label k must be column k"):
        fit(labels=(LABELS + 1) % 3)


def test_labels_of_other_rows_are_warned_of():
    """No class is more frequent than another, so chance alone finds as many labels as the most frequent class does."""
    with pytest.warns(CalibrationWarning, match="inputs are preprocessed as in training"):
        fit(labels=LABELS[torch.randperm(300, generator=torch.Generator().manual_seed(1))])


def test_a_network_that_always_predicts_a_frequent_class_is_not_warned_of():
    rare = torch.where(LABELS == 2, LABELS, 0)
    network = nn.Linear(3, 3)
    with torch.no_grad():
        network.weight.copy_(torch.diag(torch.tensor([0.0, 0.0, 1.0])))
        network.bias.copy_(torch.tensor([4.0, -4.0, 0.0]))
    assert fit(labels=rare, network=network, head="softmax").scorer.report.accuracy == pytest.approx(2 / 3)


def test_labels_of_images_from_1_get_their_message():
    """Although synthetic images of no class, labelled -1, help the fit."""
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    with pytest.raises(ValueError, match=re.escape("got values from 1 to 3")):
        fit(torch.rand(300, 1, 8, 8, generator=GENERATOR), LABELS + 1, network)


def test_what_looks_like_a_mistake_and_is_none(classifier):
    """Rows and labels as users have them give the same answers."""
    wanted = classifier.predict(POINTS)
    tables = POINTS.numpy(), pd.DataFrame(POINTS.numpy()), POINTS.tolist(), list(POINTS), POINTS.double()
    for rows in tables:
        answer = classifier.predict(rows)
        assert isinstance(answer, Prediction)
        assert answer.label.tolist() == wanted.label.tolist()
    texts = ["abc"[label] for label in LABELS.tolist()]
    columns = LABELS.tolist(), LABELS.numpy(), pd.DataFrame(LABELS.numpy()), texts, np.array(texts), pd.Series(texts)
    for labels in columns:
        assert repr(fit(labels=labels, names=["a", "b", "c"])) == repr(classifier)
    assert fit(labels=texts).names == ("a", "b", "c")
    assert classifier.evaluate(POINTS, texts) == classifier.evaluate(POINTS, LABELS)


@pytest.mark.parametrize("none", [None, NONE, "NONE", -1])
def test_none_may_be_written_in_several_ways(none):
    texts = [none if row % 10 == 0 else "abc"[label] for row, label in enumerate(LABELS.tolist())]
    found = fit(labels=texts)
    assert found.names == ("a", "b", "c")
    assert found.scorer.report.none_rows == 30


def test_half_precision_works():
    half = nn.Linear(3, 3)
    half.load_state_dict(NETWORK.state_dict())
    for dtype in (torch.bfloat16, torch.float16):
        found = fit(network=half.to(dtype))
        assert found.predict(POINTS).confidence.dtype == torch.float32
        assert found.predict(POINTS.to(dtype)).label.tolist() == found.predict(POINTS).label.tolist()


@pytest.mark.parametrize("squeeze", [False, True])
def test_a_network_with_one_output_is_a_binary_problem(squeeze):
    network = nn.Sequential(nn.Linear(3, 1), *([nn.Flatten(0)] if squeeze else []))
    with torch.no_grad():
        network[0].weight.copy_(torch.tensor([[-2.0, 2.0, 0.0]]))
    known = LABELS < 2
    found = fit(POINTS[known], LABELS[known], network)
    assert repr(found).startswith("Classifier(2 classes, one logit, ")
    assert (found.predict(POINTS[known]).label == LABELS[known]).float().mean() > 0.85
    assert found.predict_proba(POINTS).shape == (300, 3)
    assert found(POINTS).log_probs.shape == (300, 2)


def test_the_prior_of_slova_none_is_a_fraction():
    with pytest.raises(ValueError, match="none_share must lie between 0 and 1, got 5"):
        fit(none_inputs=torch.zeros(30, 3), none_share=5.0)
    assert slova.NONE == -1
