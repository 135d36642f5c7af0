"""A run: checks before it starts, its record, and its recipes."""

import json
import subprocess
from dataclasses import replace

import pytest
from slova_bench import runner
from slova_bench.augment import shift_flip
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.methods import find, methods
from slova_bench.networks import PreactUnit
from slova_bench.pipeline import Bench
from slova_bench.presets import originals, preset, steps_hein, steps_ovadia
from slova_bench.results import Results
from slova_bench.runner import Plan, execute

FILES = ("csv", "json", "parquet")


def plan(folder, **changes) -> Plan:
    chosen = {"experiment": "ood", "methods": ("softmax",), "quick": True, "models": None, **changes}
    return Plan(**chosen, results=folder / "results", store=folder / "store")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiment": "nonsense"}, "experiment must be one of ablation, appendix"),
        ({"methods": ("softmax", "nonsense")}, "unknown method nonsense; the methods are acet, "),
        ({"on": "mars"}, "the training set must be one of digits, cifar10"),
        ({"preset": "unfair"}, "preset must be one of fair, paper, .*, resnet18, got 'unfair'"),
        ({"preset": "paper", "embedded": True}, "the stored logits are of the fair preset: omit"),
        ({"preset": "searched", "on": "cifar10", "embedded": True}, "the stored logits are of the fair preset: omit"),
        ({"device": "cuda:99"}, "device 'cuda:99' is not available"),
        ({"device": "banana"}, "device 'banana' is not available"),
    ],
)
def test_unknown_names_are_errors_before_anything_is_written(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        execute(plan(tmp_path, **change))
    assert list(tmp_path.iterdir()) == []


def test_a_record_has_one_entry_per_run(tmp_path):
    execute(plan(tmp_path))
    execute(plan(tmp_path, methods=("slova",), seeds=(1,), preset="paper"))
    record = json.loads((tmp_path / "results" / "ood-digits-quick.json").read_text())
    assert [(run["methods"], run["seeds"], run["preset"]) for run in record["runs"]] == [
        (["softmax"], [0], "fair"),
        (["slova"], [1], "paper"),
    ]
    assert list(record["methods"]) == ["slova paper", "softmax"]
    assert record["methods"]["softmax"]["recipe"]["rate"] == DATASET_RECIPES["digits"].recipes["softmax"].rate
    assert record["methods"]["slova paper"]["recipe"]["batch"] == 128


def test_a_run_that_measures_nothing_leaves_the_record_as_it_is(tmp_path):
    execute(plan(tmp_path))
    record = tmp_path / "results" / "ood-digits-quick.json"
    changed = record.read_text().replace("softmax_loss", "another_loss")
    record.write_text(changed)
    execute(plan(tmp_path))
    assert record.read_text() == changed


class Killed(BaseException):
    """Nobody catches this."""


def stopping(error):
    """Tells of the first rows by raising."""

    def stop(rows):
        raise error

    return stop


def test_a_run_that_is_killed_has_described_what_it_measured(tmp_path):
    with pytest.raises(Killed):
        execute(plan(tmp_path), report=stopping(Killed))
    record = json.loads((tmp_path / "results" / "ood-digits-quick.json").read_text())
    assert (list(record["methods"]), record["runs"]) == (["softmax"], [])


def test_a_run_that_is_interrupted_ends_as_one_that_was_out_of_time(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        execute(plan(tmp_path / "interrupted"), report=stopping(KeyboardInterrupt))
    execute(plan(tmp_path / "stopped", minutes=1e-9))
    interrupted, stopped = (tmp_path / name / "results" for name in ("interrupted", "stopped"))
    assert {path.name for path in interrupted.iterdir()} == {f"ood-digits-quick.{end}" for end in FILES}
    for end in ("csv", "parquet"):
        name = f"ood-digits-quick.{end}"
        assert (interrupted / name).read_bytes() == (stopped / name).read_bytes()
    assert len(json.loads((interrupted / "ood-digits-quick.json").read_text())["runs"]) == 1


def test_interrupted_before_the_first_row_it_leaves_no_file_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(Bench, "trained", lambda *_: stopping(KeyboardInterrupt)(()))
    with pytest.raises(KeyboardInterrupt):
        execute(plan(tmp_path))
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"quick": False}, "ood-digits"),
        ({"quick": True}, "ood-digits-quick"),
        ({"quick": False, "embedded": True}, "ood-digits-embedded"),
        ({"quick": True, "embedded": True}, "ood-digits-embedded"),
    ],
)
def test_rows_of_every_kind_have_a_file_of_their_own(tmp_path, change, name):
    assert plan(tmp_path, **change).rows.path.stem == name


def test_the_commit_is_that_of_the_package_and_not_of_where_it_runs(tmp_path, monkeypatch):
    here = runner._commit()
    monkeypatch.chdir(tmp_path)
    assert runner._commit().removesuffix("-dirty") == here.removesuffix("-dirty")

    def missing(*_, **__):
        raise FileNotFoundError(2, "No such file or directory", "git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert runner._commit() == "unknown"


# presets


@pytest.mark.parametrize("experiment", ["shift", "ood"])
@pytest.mark.parametrize("on", list(DATASET_RECIPES))
def test_the_paper_preset_changes_the_weights_of_every_method_and_the_fair_one_of_none(experiment, on):
    bench = Bench(DATASET_RECIPES[on])
    ours = (
        "slova_image",
        "softmax_augmented",
        "softmax_exposed",
        "softmax_none_class",
        "softmax_mixed",
    )  # in no publication
    ours += ("softmax_mixed", "augmix", "logitnorm", "pixmix", "rotpred")  # with the fair recipe only
    chosen = [method for name, method in methods().items() if not name.startswith(ours)]
    with pytest.raises(ValueError, match="no recipe is published for slova_image"):
        preset(find(["slova_image"]), "paper", experiment=experiment, dataset=bench.dataset)
    paper = preset(chosen, "paper", experiment=experiment, dataset=bench.dataset)
    assert preset(chosen, "fair", experiment=experiment, dataset=bench.dataset) == chosen
    for fair, published in zip(chosen, paper, strict=True):
        assert (fair.preset, published.preset) == ("", "paper")
        assert bench.weights(published, 0) != bench.weights(fair, 0)
        assert published.recipe.augment is bench.dataset.recipes["softmax"].augment
        assert replace(published, recipe=None, preset="", network=fair.network) == fair
        assert (published.network == fair.network) == (experiment == "shift" or not _of_hein(published, on))


def _of_hein(method, on):
    return on != "digits" and method.recipe.schedule is steps_hein


def test_on_ood_data_the_paper_preset_has_the_network_and_momentum_of_hein():
    softmax, dropout = preset(
        find(["softmax", "dropout"]), "paper", experiment="ood", dataset=DATASET_RECIPES["cifar10"]
    )
    units = [module for module in softmax.network(None, 10).modules() if isinstance(module, PreactUnit)]
    assert len(units) == 9
    assert softmax.recipe.nesterov is False
    assert dropout.network == find(["dropout"])[0].network


def test_small_batches_and_the_best_of_the_search_are_one_recipe_for_all():
    for name, numbers in {"small_batch": (128, 3.07e-3, 1e-7), "searched": (512, 0.129, 2.97e-7)}.items():
        chosen = preset(find(["softmax", "ova"]), name, experiment="shift", dataset=DATASET_RECIPES["cifar10"])
        assert {(own.recipe.batch, own.recipe.rate, own.recipe.adam_eps) for own in chosen} == {numbers}
        assert {own.preset for own in chosen} == {name}


def test_interpolated_is_the_fair_recipe_with_the_augmentation_of_the_code_of_slova():
    chosen, dataset = find(["softmax", "ova"]), DATASET_RECIPES["cifar10"]
    found = preset(chosen, "interpolated", experiment="shift", dataset=dataset)
    assert [own.recipe for own in found] == [replace(dataset.recipe(own), augment=shift_flip) for own in chosen]
    assert {own.preset for own in found} == {"interpolated"}


def test_methods_that_shared_weights_still_do(tmp_path):
    chosen = find(["softmax", "temperature", "react", "ensemble", "knn"])
    paper = preset(chosen, "paper", experiment="shift", dataset=DATASET_RECIPES["cifar10"])
    bench = Bench(DATASET_RECIPES["cifar10"])
    assert len({json.dumps(bench.weights(method, 0)) for method in paper}) == 1


def test_published_numbers_are_those_of_the_publications():
    shift, ood = originals("shift", "cifar10"), originals("ood", "cifar100")
    assert (shift["softmax"].batch, shift["softmax"].rate, shift["softmax"].epochs) == (7, 7.17e-4, 200)
    assert (shift["svi"].batch, shift["dropout"].batch, shift["ll_dropout"].rate) == (107, 5, 3.13e-4)
    assert (shift["ova"].batch, shift["ova"].epochs, shift["ova"].weight_decay) == (512, 250, 2e-4)
    assert (ood["softmax"].batch, ood["softmax"].rate, ood["softmax"].weight_decay) == (128, 0.1, 1e-3)
    assert (ood["ova"].rate, ood["ova"].weight_decay, ood["ova"].adam_eps) == (0.03, 0.02, None)


def test_published_schedules_drop_at_the_published_epochs():
    epochs = [0, 80, 81, 120, 121, 160, 161, 180, 181, 199]
    assert [steps_ovadia(e / 200) for e in epochs] == [1, 1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0005, 0.0005]
    assert [steps_hein(e / 100) for e in (0, 49, 50, 74, 75, 89, 90, 99)] == [1, 1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001]
    assert [originals("shift", "cifar10")["ova"].schedule(e / 250) for e in (124, 125, 184, 185)] == [1, 0.1, 0.1, 0.01]


def test_a_method_without_a_publication_has_no_paper_recipe():
    own = replace(find(["softmax"])[0], name="own", loss=test_published_schedules_drop_at_the_published_epochs)
    with pytest.raises(ValueError, match="no recipe is published for own"):
        preset([own], "paper", experiment="shift", dataset=DATASET_RECIPES["digits"])


def test_rows_of_both_presets_stand_side_by_side(tmp_path):
    for name in ("fair", "paper"):
        execute(plan(tmp_path, methods=("softmax", "slova"), preset=name))
    rows = Results(tmp_path / "results", "ood-digits-quick").read()
    found = {(row.method, row.variant): [r.value for r in rows if r[1:3] == row[1:3]] for row in rows}
    assert found.keys() == {("softmax", ""), ("softmax", "paper"), ("slova", ""), ("slova", "paper")}
    assert len({len(values) for values in found.values()}) == 1
    assert found["softmax", ""] != found["softmax", "paper"]


def test_a_preset_and_what_else_varies_are_columns(tmp_path):
    execute(plan(tmp_path, experiment="stability", methods=("slova_clean",), preset="paper"))
    rows = Results(tmp_path / "results", "stability-digits-quick").read()
    assert {row.preset for row in rows} == {"paper"}
    assert {("", 0.0), ("M", 1.0), ("n_b", 20.0)} <= {(row.parameter, row.parameter_value) for row in rows}
    assert {"paper", "paper M=1"} <= {row.variant for row in rows}


def test_a_quick_run_has_a_tenth_of_the_epochs_of_every_recipe(tmp_path):
    fair, paper = (plan(tmp_path, preset=name) for name in ("fair", "paper"))
    for one in (fair, paper):
        recipe = one.bench().dataset.recipe(one.chosen()[0])
        whole = replace(one, quick=False)
        assert recipe.epochs == whole.bench().dataset.recipe(whole.chosen()[0]).epochs // 10
