"""Published scores and calibrators of trained softmax networks, from stored columns, against their definitions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from slova_bench import data
from slova_bench.calibrate import readout_of
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.experiment import Evaluator, Variant
from slova_bench.experiments.recipes import EXPERIMENT
from slova_bench.method import CalibrationRows
from slova_bench.methods import find, gen, methods
from slova_bench.networks import digits_net
from slova_bench.pipeline import Bench
from slova_bench.rescaling import fit_coefficients, temperatures
from slova_bench.scores import PERCENTILES, ash, columns, logits_of, with_scores
from slova_bench.store import Store
from slova_bench.test_sets import TestSet
from slova_bench.train import seeded

from slova.heads import SOFTMAX
from slova.metrics import fpr95

NAMES = ["gen", "fdbd", "ash", "dac", "energy_scaling"]
CLEAN, SHIFTED, NOISE = TestSet("digits-test"), TestSet("digits-test", "contrast", 5), TestSet("uniform")


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return Bench(DATASET_RECIPES["digits"].quick(), Store(tmp_path_factory.mktemp("store")), limit=200)


@pytest.fixture(scope="module")
def adapted():
    """Network, network with scores, and the training images that it has seen."""
    with seeded(torch.device("cpu"), 0):
        network = digits_net(10).eval()
    split = data.load("digits-train", limit=300)
    return network, with_scores(network, SimpleNamespace(training=split)), split.images.float() / 255


def outputs_of(network, images):
    with torch.no_grad():
        return network(images)[None].numpy()


def test_the_first_columns_are_the_logits_of_the_network(adapted):
    network, found, images = adapted
    outputs = outputs_of(found, images[:20])
    np.testing.assert_allclose(outputs[..., :10], outputs_of(network, images[:20]), rtol=1e-6)
    distances = columns(outputs, 10)[2]
    assert outputs.shape[-1] == 10 + 1 + len(PERCENTILES) + distances.shape[1]


def test_boundary_energy_and_distance_are_their_definitions_written_naively(adapted):
    network, found, images = adapted
    with torch.no_grad():
        bank, weight = network[:-1](images).numpy(), network[-1].weight.numpy()
        logits = network(images[:5]).numpy()
    boundary, energies, distances = columns(outputs_of(found, images[:5]), 10)
    unit = bank / np.linalg.norm(bank, axis=1, keepdims=True)
    for row in range(5):
        top = logits[row].argmax()
        others = [c for c in range(10) if c != top]
        away = [abs(logits[row, top] - logits[row, c]) / np.linalg.norm(weight[top] - weight[c]) for c in others]
        assert boundary[row] == pytest.approx(np.mean(away) / np.linalg.norm(bank[row] - bank.mean(0)), rel=1e-4)
        nearest = np.sort(((unit - unit[row]) ** 2).sum(1))[49]
        assert distances[row, -2] == pytest.approx(nearest, abs=1e-5)
    features = torch.from_numpy(bank[:5])
    with torch.no_grad():
        wanted = network[-1](ash(features, PERCENTILES[2])).logsumexp(1)
    np.testing.assert_allclose(energies[:, 2], wanted, rtol=1e-5)


def test_ash_keeps_the_largest_features_and_enlarges_them():
    features = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(ash(features, 75), [[0, 0, 0, 4 * np.exp(10 / 4)], [0, 0, 0, 0]], rtol=1e-6)


def test_gen_is_the_entropy_of_its_definition():
    outputs = np.random.default_rng(0).normal(size=(1, 6, 4))
    rows = CalibrationRows(outputs, np.zeros(6), np.ones(6), np.ones(6), np.arange(6), 4)
    probs = np.exp(outputs[0]) / np.exp(outputs[0]).sum(1, keepdims=True)
    np.testing.assert_allclose(gen.rank(rows)(outputs), [-sum((p * (1 - p)) ** 0.1 for p in row) for row in probs])


def test_coefficients_of_a_temperature_per_image_are_found():
    generator = np.random.default_rng(0)
    distance = generator.uniform(0, 2, 4000)
    sharp = generator.normal(size=(4000, 5)) * 3
    probs = np.exp(SOFTMAX(sharp).log_probs)
    labels = (probs.cumsum(1) > generator.uniform(size=(4000, 1))).argmax(1)
    design = np.column_stack([distance, np.ones(4000)])
    logits = sharp * temperatures(design, np.array([1.5, 0.5]))[:, None]
    given = {"start": [1.0, 1.0], "bounds": [(0, 100), (-5, 5)], "weight": np.ones(4000)}
    found = fit_coefficients(logits, labels, design, **given)
    np.testing.assert_allclose(found, [1.5, 0.5], atol=0.15)
    assert temperatures(design, np.array([-1.0, 0.0])).min() > 0


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_stored_outputs_and_a_score_has_none_of_shifts(name, bench, monkeypatch):
    (method,) = find([name])
    tests = [NOISE] if method.rank else [SHIFTED, NOISE]
    assert (EXPERIMENT.metrics(method, SHIFTED, bench) == ()) == (method.rank is not None)

    def measured():
        evaluator = Evaluator(bench, bench.trained(method, 0), [Variant(method)])
        return [row for test in tests for row in evaluator.measure(EXPERIMENT, test, [Variant(method)])[0]]

    before = measured()
    assert np.isfinite([row.value for row in before]).all()
    monkeypatch.setattr(Bench, "_network", None)  # would be called for a network
    assert measured() == before


def test_calibrators_of_single_images_keep_every_prediction_and_ranks_keep_the_probabilities(bench):
    temperature, *others = find(["temperature", "dac", "energy_scaling", "fdbd"])
    wanted = readout_of(temperature, bench, bench.trained(temperature, 0))
    for method in others:
        trained = bench.trained(method, 0)
        outputs = bench.logits(trained, CLEAN, features=False)[0].logits
        readout = readout_of(method, bench, trained)(outputs)
        assert (readout.log_probs.argmax(1) == logits_of(outputs, 10).argmax(1)).all()
        same = np.allclose(readout.log_probs, wanted(outputs[..., :10]).log_probs, atol=1e-4)
        assert same == (method.name == "fdbd")


def test_fpr95_of_openood_has_the_roles_exchanged(bench):
    (method,) = find(["gen"])
    evaluator = Evaluator(bench, bench.trained(method, 0), [Variant(method)])
    ((_, evaluation),) = evaluator._evaluations(NOISE, [Variant(method)])
    found = EXPERIMENT.measure(NOISE, evaluation)
    threshold = np.sort(evaluation.score)[int(np.ceil(0.95 * len(evaluation.score))) - 1]
    assert found["fpr95_ood"] == pytest.approx((evaluation.clean_score <= threshold).mean())
    assert found["fpr95"] == fpr95(evaluation.clean_score, evaluation.score)


def test_networks_of_the_augmentation_are_shared():
    base = methods()["softmax_augmented"]
    for name in ("gen", "fdbd", "ash", "knn", "dac", "dac_degraded", "energy_scaling"):
        found = methods()[f"softmax_augmented_{name}"]
        assert replace(found, name="", adapt=None, fit=None, rank=None, calibrate=None, calibrate_on=()) == replace(
            base, name="", adapt=None, fit=None, rank=None, calibrate=None, calibrate_on=()
        )
