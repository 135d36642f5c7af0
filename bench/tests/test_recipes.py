"""Recipes on equal terms: which images a method is calibrated on, what is made of distances, and the table of rows."""

from dataclasses import replace

import numpy as np
import pytest
from slova_bench.calibrate import WEIGHTS, calibration, calibration_rows, posterior, readout_of
from slova_bench.dataset_recipes import DATASET_RECIPES, dataset_recipe
from slova_bench.experiment import Evaluator, Variant
from slova_bench.experiments import shift as shift_metrics
from slova_bench.experiments.recipes import EXPERIMENT
from slova_bench.labels import PAPER_SHIFTS, SCORES, look
from slova_bench.methods import find, methods
from slova_bench.pipeline import Bench
from slova_bench.presets import preset
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.store import Store
from slova_bench.tables import recipes
from slova_bench.test_sets import TestSet

import slova
from slova.heads import NONE, SOFTMAX

OVA_FIT, NONE_CLASS, TEMPERATURE, DEGRADED = find(
    ["ova_fit", "softmax_none_class", "temperature", "temperature_degraded"]
)
DIGITS = Bench(DATASET_RECIPES["digits"])
TESTS = [TestSet("digits-test"), TestSet("digits-test", "contrast", 5), TestSet("uniform")]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return Bench(DATASET_RECIPES["digits"].quick(), Store(tmp_path_factory.mktemp("store")), limit=200)


def test_networks_of_one_loss_are_compared_as_trained_with_the_same_images():
    images = {}
    for method in methods().values():
        images.setdefault(method.loss, set()).add(look(method.name).images)
    assert all(len(own) == 1 for own in images.values())
    assert set.union(*images.values()) == {"mixed", "degraded", "its own"}


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


@pytest.mark.parametrize("members", [1, 2])
def test_the_default_fit_of_the_comparison_is_that_of_a_classifier(bench, members):
    """Of an ensemble as well: logits and distances are the means over its members."""
    method = replace(OVA_FIT, members=members)
    trained = bench.trained(method, 0)
    networks = [one[0].network for one in trained.networks]
    network = networks[0] if members == 1 else slova.Ensemble(networks)
    classifier = slova.Classifier.fit(
        network, bench.validation.images.float() / 255, bench.validation.labels, head="slova", progress=False
    )
    images, _ = TESTS[1].load(bench)
    readout = readout_of(method, bench, trained)(bench.logits(trained, TESTS[1], features=False)[0].logits)
    known = np.exp(readout.log_probs) * (1 - np.exp(readout.log_none))[:, None]
    wanted = classifier.predict_proba(images.float() / 255, progress=False).numpy()
    np.testing.assert_allclose(np.hstack([known, np.exp(readout.log_none)[:, None]]), wanted, atol=1e-4)


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
    assert set(found["ova_fit"]) == {*EXPERIMENT.metrics(OVA_FIT, TESTS[2], bench), "fpr95_ood", "confidence"}
    assert found["ova_fit"]["mixed_brier"] < found["temperature"]["mixed_brier"]
    assert found["ova_fit"]["auroc"] > found["temperature"]["auroc"]
    assert found["ova_fit"]["confidence"] < found["ova_fit"]["mmc"]
    assert found["temperature"]["confidence"] == pytest.approx(found["temperature"]["mmc"])


def test_stored_logits_need_no_network(bench, monkeypatch):
    trained = bench.trained(TEMPERATURE, 0)
    before, _ = bench.logits(trained, TESTS[0], features=False)
    monkeypatch.setattr(Bench, "_network", None)  # would be called for a network
    after, _ = bench.logits(replace(bench).trained(TEMPERATURE, 0), TESTS[0], features=False)
    assert np.array_equal(before.logits, after.logits)


def test_networks_are_made_once_and_on_first_use(bench, monkeypatch):
    made, network = [], Bench._network
    monkeypatch.setattr(Bench, "_network", lambda *what: made.append(what[2]) or network(*what))
    trained = bench.trained(replace(TEMPERATURE, members=2), 0)
    (_, second), _ = zip(*trained.each(), strict=True)
    assert made == []
    assert second.networks[0] is trained.networks[1]
    assert sorted(made) == [0, 1]


def test_the_preset_resnet18_is_one_network_and_recipe_for_all_methods():
    chosen = preset(
        find(["slova_image", "temperature"]), "resnet18", experiment="recipes", dataset=dataset_recipe("cifar10")
    )
    assert {method.preset for method in chosen} == {"resnet18"}
    assert chosen[0].recipe == chosen[1].recipe
    assert sum(p.numel() for p in chosen[1].network(None, 10).parameters()) == 11_173_962


def test_the_preset_authors_is_the_published_recipe_of_slova_for_every_method():
    dataset = dataset_recipe("cifar10")
    softmax, ova = preset(find(["softmax", "ova"]), "authors", experiment="shift", dataset=dataset)
    (published,) = preset(find(["ova"]), "paper", experiment="shift", dataset=dataset)
    assert softmax.recipe == ova.recipe == published.recipe
    assert softmax.preset == "authors"


SETS = (
    ("cifar10-test", "", 0), *(("cifar10-test", shift, 1) for shift in PAPER_SHIFTS), ("cifar10-test", "snow", 1),
    ("svhn-test", "", 0), ("cifar100-test", "", 0), ("uniform", "", 0),
)  # fmt: skip


def rows_of(method, preset="", seed=0, sets=SETS, train="cifar10", **values):
    """Rows of a method: 0.5 unless a value is given by metric, or by set and metric."""
    for test, shift, level in sets:
        inside = test == f"{train}-test"
        metrics = shift_metrics.METRICS if inside else (*EXPERIMENT.metrics(OVA_FIT, TESTS[2], DIGITS), "fpr95_ood")
        cell = Cell("recipes", method, preset, f"{train}-train", test, shift, float(level), seed, 100)
        for metric in () if inside and method in SCORES else metrics:
            yield Row.of(cell, metric, values.get(f"{test.partition('-')[0]}_{metric}", values.get(metric, 0.5)))


def tables_of(folder, rows, on="cifar10"):
    Results(folder, f"recipes-{on}").append(rows)
    return {table.name: table for table in recipes.make(ResultsFolder.read(folder), on)}


def shown(table, row=0):
    return {column.title: entry.text for column, entry in zip(table.columns, table.rows[row], strict=True)}


def test_every_preset_has_its_tables_and_methods_are_in_groups(tmp_path):
    names = ("temperature", "softmax_augmented_gen", "slova_image_flip", "softmax_mixed", "slova_image_mixed", "mine")
    rows = [row for name in names for row in rows_of(name, cifar100_auroc=0.9, svhn_auroc=0.98)]
    tables = tables_of(tmp_path, [*rows, *rows_of("slova_image", "resnet18")])
    main = tables["recipes-cifar10"]
    groups = ["image recipe", "same augmentation", "published", "published", "no augmentation", "several views"]
    assert [row[1].text for row in main.rows] == groups
    assert tables["recipes-cifar10-resnet18"].title == "CIFAR-10, ResNet-18: recipes on equal terms"
    assert [row[0].text for row in tables["recipes-cifar10-resnet18"].rows] == ["Image recipe without mixing"]
    found = shown(main)
    assert (found["near OOD, AUROC ↑"], found["far OOD, AUROC ↑"]) == ("0.900", "0.980")
    assert {"shifted, ECE ↓", "held-out shifts, ECE ↓", "real OOD, MMC ↓"} <= set(found)
    assert "Held out: motion blur" in main.notes[0]
    score = shown(main, 2)
    assert score["Method"] == "Softmax, without mixing, GEN"
    assert (score["Seeds"], score["shifted, ECE ↓"], score["real OOD, MMC ↓"]) == ("1", "–", "–")
    assert all(table.aside for name, table in tables.items() if "recipes-c" not in name)
    assert "SVHN, FPR95 of OpenOOD ↓" in shown(tables["recipes-sets-cifar10"])
    assert "near OOD, FPR95 ↓" in shown(tables["recipes-detection-cifar10"])


def test_a_seed_without_every_set_is_left_out_of_means_and_named(tmp_path):
    whole = [*rows_of("slova_image_mixed", ece=0.02), *rows_of("softmax_mixed")]
    part = rows_of("slova_image_mixed", seed=1, sets=SETS[:2], ece=0.2)
    main = tables_of(tmp_path, [*whole, *part])["recipes-cifar10"]
    assert shown(main)["held-out shifts, ECE ↓"] == "0.020"
    assert "Image recipe at seed 1 (2 of 18 sets)" in main.notes[-1]


def test_another_training_set_has_tables_of_the_rows_there_are(tmp_path):
    sets = (("cifar100-test", "", 0), ("cifar10-test", "", 0))
    tables = tables_of(tmp_path, list(rows_of("slova_image", "resnet18", sets=sets, train="cifar100")), "cifar100")
    found = shown(tables["recipes-cifar100-resnet18"])
    assert found["near OOD, AUROC ↑"] == "0.500"
    assert "shifted, ECE ↓" not in found
    assert "chosen on CIFAR-10" in tables["recipes-cifar100-resnet18"].notes[0]


def test_contests_are_differences_and_cells_at_common_seeds(tmp_path):
    rows = [*rows_of("slova_image", ece=0.02, auroc=0.9), *rows_of("slova_image", seed=1, ece=0.4, accuracy=0.9)]
    rows += [*rows_of("softmax_augmented", ece=0.04, nll=0.4), *rows_of("softmax_augmented_gen")]
    rows += [*rows_of("slova_image_ensemble", ece=0.01), *rows_of("softmax_augmented_ensemble", seed=1)]
    contests = tables_of(tmp_path, rows)["recipes-contests-cifar10"]
    pairs = [(row[0].text, row[1].text, row[2].text) for row in contests.rows]
    ours = "Image recipe without mixing"
    softmax, ensemble = "Softmax, without mixing, temperature", "Softmax, without mixing, ensemble, temperature"
    assert pairs == [(ours, softmax, "1"), (ours, ensemble, "1")]
    found = shown(contests)
    assert (found["shifted, ECE ↓"], found["near OOD, AUROC ↑"]) == ("−0.020", "+0.400")
    assert (found["ECE, cells"], found["ECE, excess"]) == ("3 of 3", "−50.0 %")
    assert (found["NLL, cells"], found["NLL, excess"]) == ("0 of 3", "+25.0 %")
    assert (found["clean, Accuracy ↑"], shown(contests, 1)["clean, Accuracy ↑"]) == ("0.00 %", "+40.00 %")


def test_contests_are_between_networks_with_the_same_images(tmp_path):
    names = ("slova_image_mixed", "slova_image", "softmax_mixed", "softmax_augmented", "softmax_exposed", "augmix")
    contests = tables_of(tmp_path, [row for name in names for row in rows_of(name)])["recipes-contests-cifar10"]
    pairs = {(row[0].text, row[1].text) for row in contests.rows}
    ours, without = "Image recipe", "Image recipe without mixing"
    softmax = [f"Softmax, {kind}" for kind in ("without mixing, temperature", "without mixing, outlier exposure")]
    assert pairs == {
        *((without, name) for name in softmax),
        (ours, "Softmax, augmented, temperature"),
        (ours, "AugMix, temperature"),
    }
