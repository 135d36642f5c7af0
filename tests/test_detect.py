"""`head="auto"` recognises what it was given, says so, and refuses what is nothing of the kind."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from torch import nn

from slova import NONE, Scorer
from slova._detect import check_kind, detect_head
from slova._warnings import CalibrationWarning
from slova.heads import HEADS
from slova.losses import ova_loss, prepare

IMAGES, LABELS = load_digits(return_X_y=True)
IMAGES = ((IMAGES - 8) / 8).astype(np.float32)
TRAIN, TEST = slice(0, 1000), slice(1000, None)


def network(loss, steps, start=lambda network: network, seed=0):
    torch.manual_seed(seed)
    module = start(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimiser = torch.optim.Adam(module.parameters(), 1e-3)
    images, labels = torch.tensor(IMAGES[TRAIN]), torch.tensor(LABELS[TRAIN])
    for _ in range(steps):
        rows = torch.randint(0, len(images), (128,))
        optimiser.zero_grad()
        loss(module(images[rows]), labels[rows]).backward()
        optimiser.step()
    return module(torch.tensor(IMAGES[TEST])).detach().numpy()


def trained(model):
    return model.fit(IMAGES[TRAIN], LABELS[TRAIN]).decision_function(IMAGES[TEST])


REAL = {
    "logistic regression": ("softmax", lambda: trained(LogisticRegression(max_iter=300))),
    "one-vs-rest": ("slova", lambda: trained(OneVsRestClassifier(LogisticRegression(max_iter=300)))),
    "linear SVM": ("slova", lambda: trained(LinearSVC())),
    **{f"softmax, {n} steps": ("softmax", lambda n=n: network(nn.CrossEntropyLoss(), n)) for n in (5, 60, 300)},
    **{f"one-vs-all, {n} steps": ("slova", lambda n=n: network(ova_loss, n)) for n in (60, 300)},
    **{f"one-vs-all, prepared, {n} steps": ("slova", lambda n=n: network(ova_loss, n, prepare)) for n in (5, 60, 300)},
}


@pytest.fixture(scope="module", params=REAL)
def real(request):
    """The name of the head and logits of the test images."""
    head, logits = REAL[request.param]
    return head, logits()


@pytest.mark.parametrize("rows", [20, 797])
def test_logits_of_real_models_are_recognised(real, rows):
    head, logits = real
    found = detect_head(logits[:rows], LABELS[TEST][:rows])
    assert found.head.name == head
    assert ("softmax logits" if head == "softmax" else "one-vs-all logits") in found.why


def test_the_scale_of_the_logits_and_none_rows_do_not_matter(real):
    head, logits = real
    labels = LABELS[TEST].copy()
    for scale in (0.1, 1, 10):
        assert detect_head(scale * logits, labels).head.name == head
    labels[::7] = NONE
    assert detect_head(logits, labels).head.name == head


def probabilities(classes, dtype=np.float64, rows=300):
    logits = np.random.default_rng(classes).normal(0, 3, (rows, classes))
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (odds / odds.sum(axis=1, keepdims=True)).astype(dtype)


@pytest.mark.parametrize("classes", [2, 3, 10, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_probabilities_and_log_probabilities_are_recognised(classes, dtype):
    probs = probabilities(classes, dtype)
    labels = np.arange(300) % classes
    assert detect_head(probs, labels).head.name == "probabilities"
    if dtype != np.float16:
        assert detect_head(np.log(probs), labels).why == "the rows are log-probabilities"
    ova = np.clip(probs * 1.3, 0, 1)
    assert detect_head(ova, labels).head.name == "ova_probabilities"


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_probabilities_of_few_decimals_are_recognised(digits):
    assert detect_head(probabilities(10).round(digits), np.arange(300) % 10).head.name == "probabilities"


def test_mean_log_probabilities_of_an_ensemble_are_softmax():
    logits = [network(nn.CrossEntropyLoss(), 60, seed=seed) for seed in (0, 1)]
    log_probs = np.mean([HEADS["softmax"](member).log_probs for member in logits], axis=0)
    assert detect_head(log_probs, LABELS[TEST]).head.name == "softmax"


@pytest.mark.parametrize("values", [np.linspace(-4, 3, 50), np.linspace(-4, 3, 50)[:, None]])
def test_one_column_is_a_binary_problem(values):
    labels = np.arange(50) % 2
    assert Scorer.fit(values, labels, calibration="temperature").head.name == "binary"
    assert Scorer.fit(1 / (1 + np.exp(-values)), labels, calibration="temperature").head.name == "binary_probabilities"


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros((20, 3)), ValueError, "every row has the same value for all classes"),
        (100 * probabilities(3, rows=20), ValueError, "divide percentages by 100"),
        (np.arange(60).reshape(20, 3), TypeError, "must be floating point, got int64"),
        (np.full((20, 3), np.nan), ValueError, "must not be NaN, got NaN in 20 of 20 rows"),
    ],
)
def test_what_is_nothing_of_the_kind_is_an_error(values, error, message):
    with pytest.raises(error, match=message):
        Scorer.fit(values, np.arange(20) % 3)


@pytest.mark.parametrize(("loss", "steps"), [(nn.CrossEntropyLoss(), 5), (ova_loss, 5)])
def test_a_network_that_is_hardly_trained_is_a_guess_and_says_so(loss, steps):
    found = detect_head(network(loss, steps), LABELS[TEST])
    assert {found.head.name, found.other.name} == {"slova", "softmax"}
    assert found.why.endswith('a guess: pass head="slova" or head="softmax" to be sure')


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), ova_loss])
def test_a_trained_network_of_many_classes_is_no_guess(loss):
    found = detect_head(network(loss, 300), LABELS[TEST])
    assert found.other is None
    assert "guess" not in found.why


def test_three_classes_are_a_guess_where_softmax_logits_have_as_few_positive_ones():
    labels = np.arange(300) % 3
    logits = 8 * (np.eye(3)[labels] - 1 / 2) + np.random.default_rng(0).normal(size=(300, 3))
    assert detect_head(logits, labels).other is None  # the sigmoids sum to one
    assert detect_head(logits / 4, labels).other.name == "softmax"


def test_a_guess_warns_only_where_the_two_readings_differ():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    margin = rng.normal(2 * labels - 1, 1)
    logits = 1.4 * np.stack([-margin, margin], axis=1)
    assert "a guess" in Scorer.fit(logits, labels).report.found
    with pytest.warns(CalibrationWarning, match="the confidences of the two readings differ by") as caught:
        Scorer.fit(logits, labels, calibration=None)
    assert [warning.filename for warning in caught] == [__file__]


def test_head_overrides_what_would_be_recognised():
    logits, labels = network(nn.CrossEntropyLoss(), 60), LABELS[TEST]
    assert Scorer.fit(logits, labels).report.found.startswith("softmax logits")
    given = Scorer.fit(logits, labels, head="slova")
    assert (given.head.name, given.report.found) == ("slova", "as given")


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_the_kind_of_a_few_rows_is_checked_where_it_shows(kind):
    probs, logits = probabilities(3), np.random.default_rng(0).normal(size=(300, 3))
    check_kind(HEADS["softmax"], kind(logits))
    check_kind(HEADS["probabilities"], kind(probs))
    check_kind(HEADS["softmax"], kind(probs[:1]))  # one row may be a coincidence
    check_kind(HEADS["slova"], kind(np.zeros((0, 3))))
    check_kind(HEADS["probabilities"], kind(np.full((2, 3), np.nan)))
    with pytest.raises(ValueError, match="fitted to logits, got rows of probabilities"):
        check_kind(HEADS["slova"], kind(probs[:5]))
    for head in ("probabilities", "ova_probabilities", "binary_probabilities"):
        with pytest.raises(ValueError, match="fitted to probabilities, got values from"):
            check_kind(HEADS[head], kind(logits[:5]))
