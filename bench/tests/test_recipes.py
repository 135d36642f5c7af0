"""Recipes on equal terms: which images a method is calibrated on, what is made of distances, and the table of rows."""

from dataclasses import replace

import numpy as np
import pytest
from slova_bench.calibrate import WEIGHTS, calibration, calibration_rows, posterior, readout_of
from slova_bench.dataset_recipes import DATASET_RECIPES, dataset_recipe
from slova_bench.experiment import Evaluator, Variant
from slova_bench.experiments.recipes import EXPERIMENT
from slova_bench.lazy import Networks
from slova_bench.methods import find
from slova_bench.pipeline import Bench
from slova_bench.presets import preset
from slova_bench.results import Results
from slova_bench.results_folder import ResultsFolder
from slova_bench.store import Store
from slova_bench.tables import recipes
from slova_bench.test_sets import TestSet
from torch import nn

from slova.heads import NONE, SOFTMAX

OVA_FIT, NONE_CLASS, TEMPERATURE, DEGRADED = find(
    ["ova_fit", "softmax_none_class", "temperature", "temperature_degraded"]
)
TESTS = [TestSet("digits-test"), TestSet("digits-test", "contrast", 5), TestSet("uniform")]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return Bench(DATASET_RECIPES["digits"].quick(), Store(tmp_path_factory.mktemp("store")), limit=200)


def test_rows_are_clean_then_degraded_images_then_outliers_each_a_version_of_an_image(bench):
    rows = calibration_rows(OVA_FIT, bench, bench.trained(OVA_FIT, 0))
    count = len(rows.labels) // 3
    assert (rows.labels[:count] == rows.labels[count : 2 * count]).all()
    assert (rows.labels[2 * count :] == NONE).all()
    assert (rows.groups == np.tile(np.arange(count), 3)).all()
    weights = np.stack([rows.weight, rows.none_weight], axis=1)[::count]
    np.testing.assert_allclose(weights, list(WEIGHTS.values()))
    assert rows.classes == 10
    distances = rows.outputs[0, :, 10:].mean(axis=1)
    assert distances.min() >= 0
    assert distances[:count].mean() < distances[count : 2 * count].mean() < distances[2 * count :].mean()


def test_a_temperature_of_clean_and_degraded_images_is_another_one(bench):
    trained = bench.trained(TEMPERATURE, 0)
    clean, both = (calibration(method, bench, trained) for method in (TEMPERATURE, DEGRADED))
    assert clean.temperature != both.temperature


def test_the_readout_of_a_posterior_is_given_a_class_and_has_none_beside_it(bench):
    trained = bench.trained(OVA_FIT, 0)
    outputs, _ = bench.logits(trained, TESTS[0], features=False)
    readout = readout_of(OVA_FIT, bench, trained)(outputs.logits)
    np.testing.assert_allclose(np.exp(readout.log_probs).sum(axis=1), 1)
    rows = calibration_rows(OVA_FIT, bench, trained)
    without = posterior(rows, head="slova", distances=False)(outputs.logits)
    assert not np.allclose(without.log_none, readout.log_none)
    far = outputs.logits.copy()
    far[..., 10:] += 3
    assert (readout_of(OVA_FIT, bench, trained)(far).log_none >= readout.log_none - 1e-9).all()


def test_none_as_a_class_is_split_off_the_probabilities(bench):
    trained = bench.trained(NONE_CLASS, 0)
    outputs, _ = bench.logits(trained, TESTS[0], features=False)
    assert outputs.logits.shape[-1] == 11
    readout = readout_of(NONE_CLASS, bench, trained)(outputs.logits)
    np.testing.assert_allclose(np.exp(readout.log_probs).sum(axis=1), 1)
    order = outputs.logits[0, :, :10].argmax(axis=1)
    assert (readout.log_probs.argmax(axis=1) == order).all()
    share = np.exp(SOFTMAX(outputs.logits[0]).log_probs[:, -1])
    assert np.corrcoef(share, np.exp(readout.log_none))[0, 1] > 0.8


def test_mixtures_are_scored_by_all_outcomes_and_a_method_without_none_gives_it_nothing(bench):
    found = {}
    for method in (OVA_FIT, TEMPERATURE):
        evaluator = Evaluator(bench, bench.trained(method, 0), [Variant(method)])
        rows, _ = evaluator.measure(EXPERIMENT, TESTS[2], [Variant(method)])
        found[method.name] = {row.metric: row.value for row in rows}
    assert set(found["ova_fit"]) == set(EXPERIMENT.metrics(OVA_FIT, TESTS[2], bench))
    assert found["ova_fit"]["mixed_brier"] < found["temperature"]["mixed_brier"]
    assert found["ova_fit"]["auroc"] > found["temperature"]["auroc"]


def test_stored_logits_need_no_network(bench, monkeypatch):
    trained = bench.trained(TEMPERATURE, 0)
    before, _ = bench.logits(trained, TESTS[0], features=False)
    monkeypatch.setattr(Bench, "_network", None)  # would be called for a network
    after, _ = bench.logits(replace(bench).trained(TEMPERATURE, 0), TESTS[0], features=False)
    assert np.array_equal(before.logits, after.logits)


def test_networks_are_made_once_and_on_first_use():
    made = []
    networks = Networks([lambda: made.append(1) or nn.Sequential(), lambda: made.append(2) or nn.Sequential()])
    assert len(networks) == 2
    part = networks[1:]
    assert made == []
    assert part[0] is networks[1]
    assert made == [2]


def test_the_preset_resnet18_is_one_network_and_recipe_for_all_methods():
    chosen = preset(
        find(["slova_image", "temperature"]), "resnet18", experiment="recipes", dataset=dataset_recipe("cifar10")
    )
    assert {method.preset for method in chosen} == {"resnet18"}
    assert chosen[0].recipe == chosen[1].recipe
    assert sum(p.numel() for p in chosen[1].network(None, 10).parameters()) == 11_173_962


def test_the_table_has_a_row_per_method_and_preset_and_says_what_was_in_view(tmp_path):
    columns = (
        "experiment,method,preset,train,test,shift,level,seed,n,parameter,parameter_value,accuracy,auroc,brier,ece,nll"
    )
    rows = [
        f"recipes,{method},{name},cifar10-train,{test},{shift},{level},0,100,,0,0.9,{auroc},0.1,0.02,0.3"
        for method, name in (("slova_image", ""), ("slova_image", "resnet18"))
        for test, shift, level, auroc in (
            ("cifar10-test", "", 0, ""),
            ("cifar10-test", "contrast", 1, ""),
            ("cifar10-test", "snow", 1, ""),
            ("svhn-test", "", 0, 0.98),
            ("cifar100-test", "", 0, 0.9),
        )
    ]
    (tmp_path / "recipes-cifar10.csv").write_text("\n".join([columns, *rows]) + "\n")
    assert len(Results(tmp_path, "recipes-cifar10").read()) == 10 * 5 - 6
    first, second = recipes.make(ResultsFolder.read(tmp_path), "cifar10")
    assert [row[0].text for row in first.rows] == ["Image recipe", "Image recipe, resnet18"]
    named = {column.title: entry.text for column, entry in zip(first.columns, first.rows[0], strict=True)}
    assert named["near OOD, AUROC ↑"] == "0.900"
    assert named["far OOD, AUROC ↑"] == "0.980"
    assert "held-out shifts, ECE ↓" in named
    assert "Held out: motion blur" in first.notes[0]
    assert second.aside
