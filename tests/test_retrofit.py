"""A softmax network as a one-vs-all one: the odds are softmax's own, known maps are found again, features stay."""

import numpy as np
import pytest
import torch
from slova_bench.methods import find
from slova_bench.methods.retrofit import Retrofitted
from slova_bench.predictions import StoredBench, embedded
from torch import nn

import slova
from slova.calibration import AffineCalibration
from slova.heads import NONE, SOFTMAX, log_ova, log_softmax
from slova.metrics import ece
from slova.retrofit import NotConvergedWarning, OneVsAll, features_of, log_odds, refit


def some_logits(rows=200, classes=6, spread=4.0, seed=0):
    return np.random.default_rng(seed).normal(0, spread, (rows, classes))


# The odds.


def test_the_sigmoids_of_the_odds_are_the_softmax():
    logits = some_logits()
    np.testing.assert_allclose(log_ova(log_odds(logits)), log_softmax(logits), rtol=1e-12)


def test_the_odds_are_those_of_the_definition_however_sure_the_row():
    logits = some_logits(spread=60.0)
    others = [np.logaddexp.reduce(np.delete(logits, k, axis=1), axis=1) for k in range(logits.shape[1])]
    np.testing.assert_allclose(log_odds(logits), logits - np.stack(others, axis=1), rtol=1e-12, atol=1e-12)


def test_a_shift_of_a_row_changes_nothing_so_log_probs_serve_as_logits():
    logits = some_logits()
    shifts = np.random.default_rng(1).normal(0, 5, (len(logits), 1))
    np.testing.assert_allclose(log_odds(logits + shifts), log_odds(logits), atol=1e-9)
    np.testing.assert_allclose(log_odds(log_softmax(logits)), log_odds(logits), atol=1e-9)


def test_the_odds_keep_the_order_of_the_classes():
    logits = some_logits(spread=30.0)
    assert (np.argsort(log_odds(logits), axis=1) == np.argsort(logits, axis=1)).all()


def test_torch_and_numpy_agree_and_gradients_are_finite():
    logits = torch.tensor(some_logits(), requires_grad=True)
    odds = log_odds(logits)
    np.testing.assert_allclose(odds.detach().numpy(), log_odds(logits.detach().numpy()), rtol=1e-12)
    assert torch.autograd.gradcheck(log_odds, logits[:3].detach().requires_grad_(True))


def test_one_class_has_no_odds():
    with pytest.raises(ValueError, match=r"at least two classes, got shape \(3, 1\)"):
        log_odds(np.zeros((3, 1)))


# Scale and offset.


def test_the_odds_of_an_honest_softmax_network_need_no_scale_and_no_offset():
    logits = some_logits(40_000, 5, 2.0)
    probs = np.exp(log_softmax(logits))
    labels = (np.random.default_rng(2).random((len(probs), 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=4)
    found = AffineCalibration.fit(log_odds(logits), labels)
    assert found.scale == pytest.approx(1.0, abs=0.02)
    assert found.offset == pytest.approx(0.0, abs=0.03)


def overconfident(rows, seed):
    """Logits of a softmax network that is three times too sure, each row at a level of its own, and labels."""
    generator = np.random.default_rng(seed)
    calibrated = generator.normal(0, 2, (rows, 8))
    probs = np.exp(log_softmax(calibrated))
    labels = (generator.random((rows, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=7)
    return 3 * calibrated + generator.normal(0, 4, (rows, 1)), labels


def test_without_training_data_an_overconfident_softmax_network_becomes_a_calibrated_one_vs_all_network():
    (logits, labels), (more, truth) = overconfident(6000, 0), overconfident(6000, 1)
    raw = ece(np.exp(log_softmax(more)), truth)
    fitted = slova.Scorer.fit(log_odds(logits), labels, head="slova", rescale=True)
    after = ece(np.exp(fitted(log_odds(more)).log_probs), truth)
    direct = slova.Scorer.fit(logits, labels)
    assert direct.head.name == "softmax"
    assert after < 0.1 * raw
    assert ece(np.exp(direct(more).log_probs), truth) < 0.1 * raw
    with pytest.warns(slova.CalibrationWarning, match="the calibration is not good"):  # noise in the level of the row
        levels = slova.Scorer.fit(logits, labels, head="slova", calibration="exponential", rescale=True)
    assert after < 0.5 * ece(np.exp(levels(more).log_probs), truth)


def test_a_wrapped_network_says_the_odds_and_the_classifier_keeps_its_labels():
    logits, labels = (torch.as_tensor(part) for part in overconfident(2000, 0))
    network = OneVsAll(nn.Identity())
    assert torch.equal(network(logits), log_odds(logits))
    classifier = slova.Classifier.fit(network, (logits, labels), rescale=True)
    answers = classifier.predict(logits)
    assert torch.equal(answers.label, logits.argmax(1))
    assert (classifier.scorer.head.name, classifier.scorer.report.found) == ("slova", "as given")


# A new last layer.


def blobs(seed=0):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(900) % 3
    images = torch.randn(900, 5, generator=generator)
    images[torch.arange(900), labels] += 2
    return images, labels


def test_features_are_what_the_last_layer_is_given_and_modes_come_back():
    images, labels = blobs()
    network = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 3)).train()
    features, truth = features_of(network, network[2], (images, labels), batch_size=128)
    torch.testing.assert_close(features, network[0](images).detach())
    assert torch.equal(truth, labels)
    assert network[1].training
    assert not network[2]._forward_pre_hooks


def test_a_layer_that_is_never_passed_is_an_error():
    with pytest.raises(ValueError, match="got 0 runs in 4 batches"):
        features_of(nn.Linear(5, 3), nn.Linear(5, 3), blobs())


def test_the_new_layer_is_the_minimum_wherever_it_starts_and_the_old_one_stays():
    images, labels = blobs()
    torch.manual_seed(0)
    first, second = nn.Linear(5, 3), nn.Linear(5, 3)
    before = first.weight.clone()
    found, again = (refit(start, images, labels, decay=0.1) for start in (first, second))
    assert torch.equal(first.weight, before)
    torch.testing.assert_close(found.weight, again.weight, atol=1e-3, rtol=1e-3)
    loss = slova.ova_loss(found(images), labels) + 0.1 / 2 * found.weight.square().sum()
    slopes = torch.autograd.grad(loss, list(found.parameters()))
    assert max(float(slope.abs().max()) for slope in slopes) < 1e-4


def test_none_rows_teach_the_new_layer_to_say_none():
    images, labels = blobs()
    far = torch.full((300, 5), -3.0)
    last = refit(nn.Linear(5, 3), torch.cat([images, far]), torch.cat([labels, torch.full((300,), NONE)]))
    assert slova.log_none(last(far[:1])).exp().item() > 0.95


@pytest.mark.parametrize(
    ("last", "shape", "message"),
    [
        (nn.Linear(5, 3, bias=False), (4, 5), "must have a bias"),
        (nn.Linear(5, 3), (4, 6), r"\(4, 6\) must have shape \(4, 5\)"),
    ],
)
def test_what_cannot_be_refitted_is_an_error(last, shape, message):
    with pytest.raises(ValueError, match=message):
        refit(last, torch.zeros(shape), torch.zeros(4, dtype=torch.long))


def rows_with(value, count=900):
    features, labels = blobs()
    features[1:3, 2] = value
    return features[:count], labels[:count]


@pytest.mark.parametrize(
    ("given", "decay", "message"),
    [
        (rows_with(float("nan")), 1e-3, "finite, but 2 of 900 rows have NaN or infinity"),
        (rows_with(float("inf")), 1e-3, "finite, but 2 of 900 rows have NaN or infinity"),
        (blobs(), -1.0, "decay must be finite and not negative, got -1.0"),
        (blobs(), float("nan"), "decay must be finite and not negative, got nan"),
        (rows_with(0.0, count=0), 1e-3, r"at least one row, got \(0,\)"),
        ((torch.zeros(4, 5), torch.zeros(4, 1, dtype=torch.long)), 1e-3, r"shape \(N,\) .*, got \(4, 1\)"),
    ],
)
def test_what_would_give_weights_that_are_no_numbers_is_an_error(given, decay, message):
    with pytest.raises(ValueError, match=message):
        refit(nn.Linear(5, 3), *given, decay=decay)
    with pytest.raises(TypeError, match="tensors or numpy arrays, got str and Tensor"):
        refit(nn.Linear(5, 3), "features.npy", torch.zeros(1, dtype=torch.long))


def test_numpy_arrays_are_taken_for_tensors():
    images, labels = blobs()
    network = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    features, truth = features_of(network, network[1], (images, labels))
    arrays = features_of(network, network[1], (images.double().numpy(), labels.numpy()))
    assert torch.equal(arrays[0], features)
    assert torch.equal(arrays[1], truth)
    found = refit(network[1], features.numpy(), truth.numpy())
    assert torch.equal(found.weight, refit(network[1], features, truth).weight)


@pytest.fixture
def separable():
    """Features that differ in their scales, and classes that a plane can tell apart."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(300) % 3
    features = torch.randn(300, 20, generator=generator)
    features[torch.arange(300), labels] += 3
    return features * torch.logspace(0, -2, 20), labels


def test_a_layer_that_stopped_before_its_minimum_is_warned_of(separable):
    features, labels = separable
    torch.manual_seed(0)
    last = nn.Linear(20, 3)
    refit(last, features, labels)  # warnings are errors here
    for given, decay in ((features, 0.0), (features * 100, 1e-3)):
        with pytest.warns(NotConvergedWarning, match="scale the features .* or raise the decay"):
            refit(last, given, labels, decay=decay)


# In the comparison.


@pytest.mark.parametrize("name", ["retrofit", "retrofit_noise"])
def test_the_stored_softmax_network_is_retrofitted_better_than_it_was(name):
    bench, (method,) = StoredBench.of(embedded("cifar10")), find([name])
    logits, labels = bench.validation_logits(bench.trained(method, 0), method.noise)
    log_probs = SOFTMAX(logits[0]).log_probs
    fitted = Retrofitted.fit(log_probs, labels)
    assert (fitted(log_probs).argmax(1) == log_probs.argmax(1)).all()
    assert ece(np.exp(fitted(log_probs)), labels) < 0.5 * ece(np.exp(log_probs), labels)
