"""`slova bench paper`: what is missing of the paper, and for how many minutes."""

import pytest
import torch
from click.testing import CliRunner
from slova_bench.cli.paper import USUAL, missing, plans
from slova_bench.data.download import DownloadError
from slova_bench.results import Cell, Results, Row
from slova_bench.runner import Plan
from slova_bench.store import Store

from slova.cli import main


def test_methods_without_rows_are_missing_and_shared_networks_are_counted_once(tmp_path):
    cell = Cell("shift", "softmax", "", "digits-train", "digits-test", "", 0.0, 0, 100)
    Results(tmp_path, "shift-digits").append([Row.of(cell, "ece", 0.1)])
    plan = Plan(experiment="shift", methods=("softmax", "temperature"), seeds=(0, 1), results=tmp_path, store=None)
    lacking, networks = missing(plan)
    assert lacking == [("softmax", 1), ("temperature", 0), ("temperature", 1)]
    assert list(networks.values()) == [USUAL, USUAL], "that of seed 1 serves both, and that of seed 0 is not stored"


def test_a_method_of_an_interrupted_run_is_missing(tmp_path):
    """Of a network whose rows belong to no test set the number of levels says nothing."""
    for experiment, expected in (("shift", [("softmax", 1)]), ("maps", [])):
        cell = Cell(experiment, "softmax", "", "digits-train", "digits-test", "fog", 1.0, 0, 100)
        cells = [cell, cell._replace(level=2.0), cell._replace(seed=1)]
        Results(tmp_path, f"{experiment}-digits").append([Row.of(one, "ece", 0.1) for one in cells])
        plan = Plan(experiment=experiment, methods=("softmax",), seeds=(0, 1), results=tmp_path, store=None)
        assert missing(plan)[0] == expected


@pytest.mark.parametrize("folder", ["store", "models"])
def test_networks_in_the_store_or_shipped_are_only_evaluated(tmp_path, folder):
    where = {"store": None, "models": None, folder: tmp_path / folder}
    plan = Plan(experiment="shift", methods=("softmax", "ensemble"), results=tmp_path, **where)
    assert len(missing(plan)[1]) == 5, "the members of an ensemble are counted, and softmax is one of them"
    bench = plan.bench()
    for seed in (0, 3):
        weights = bench.weights(plan.chosen()[0], seed)
        Store(tmp_path / folder).get("weights", weights, lambda: {"bias": torch.zeros(1)})
    lacking, networks = missing(plan)
    assert lacking == [("softmax", 0), ("ensemble", 0)]
    assert len(networks) == 3


def test_the_plan_says_what_needs_no_training(tmp_path):
    """The networks of the experiment `noise` come with the repository: only its rows are missing."""
    where = ["--results", str(tmp_path / "results"), "--store", str(tmp_path / "store")]
    done = CliRunner().invoke(main, ["bench", "paper", "--seeds", "1", *where])
    lines = {tuple(line.split()[:3]): line for line in done.output.splitlines()}
    assert lines["noise", "cifar10", "fair"].endswith("none: evaluated only        0  slova (1)")
    assert lines["ood", "svhn", "paper"].split()[3:5] == ["2", "5"]
    assert "slova_clean (1), slova_distance (1)" in lines["ood", "svhn", "fair"]
    assert len(lines["noise", "cifar10", "fair"]) < 80, "a long list of methods does not widen the other lines"


def test_a_training_set_without_data_does_not_end_the_others(tmp_path, monkeypatch):
    """Its plans are left out and named at the end, after the page; those of the others run."""
    ran = []

    def run(plan):
        ran.append(plan.on)
        if plan.on == "cifar100":
            raise DownloadError("the archive cannot be downloaded")
        cell = Cell("shift", "softmax", "", "digits-train", "digits-test", "", 0.0, 0, 100)
        Results(plan.results, "shift-digits").append([Row.of(cell, "ece", 0.1)])
        return [], 0

    monkeypatch.setattr("slova_bench.cli.progress.run_with_progress", run)
    monkeypatch.setattr("slova_bench.cli.paper.comparison_page", lambda folder: "the page")
    where = ["--results", "results", "--store", "store", "--seeds", "1", "--minutes", "60", "--device", "cpu"]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["bench", "paper", *where])
    assert done.exit_code == 2
    assert done.stderr == "slova: error: cifar100 was left out: the archive cannot be downloaded\n"
    assert ran.count("cifar100") == 1, "a download that failed is not tried again"
    assert {"cifar10", "svhn"} <= set(ran[ran.index("cifar100") + 1 :])
    assert (tmp_path / "report.html").read_text() == "the page"


def test_what_did_not_fit_into_the_minutes_is_counted(tmp_path, monkeypatch):
    """Plans that were stopped, and those whose cheapest network takes longer."""
    ran = []

    def run(plan):
        ran.append(plan)
        return [], int(plan.experiment == "noise")

    monkeypatch.setattr("slova_bench.cli.progress.run_with_progress", run)
    monkeypatch.chdir(tmp_path)
    count = len(plans((0,), results=tmp_path))
    done = CliRunner().invoke(main, ["bench", "paper", "--seeds", "1", "--minutes", "2", "--store", "store"])
    assert done.exit_code == 0, done.output
    assert 1 < len(ran) < count
    left = count - len(ran) + 1
    assert done.stderr == f"{left} lines of the plan did not fit into 2 minutes: run it again to continue\n"


def test_every_plan_is_valid_and_without_minutes_nothing_runs(tmp_path, monkeypatch):
    for plan in plans((0,), results=tmp_path):
        plan.checked()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["bench", "paper", "--seeds", "1"])
    assert done.exit_code == 0, done.output
    assert "GPU minutes are missing" in done.output
    assert list(tmp_path.iterdir()) == []
