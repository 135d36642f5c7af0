"""`slova bench paper`: what is missing of the paper, and for how many minutes."""

from click.testing import CliRunner
from slova_bench.cli.paper import USUAL, missing, plans
from slova_bench.results import Cell, Results, Row
from slova_bench.runner import Plan

from slova.cli import main


def test_methods_without_rows_are_missing_and_shared_networks_are_counted_once(tmp_path):
    cell = Cell("shift", "softmax", "", "digits-train", "digits-test", "", 0.0, 0, 100)
    Results(tmp_path, "shift-digits").append([Row.of(cell, "ece", 0.1)])
    plan = Plan(experiment="shift", methods=("softmax", "temperature"), seeds=(0, 1), results=tmp_path, store=None)
    lacking, minutes = missing(plan)
    assert lacking == [("softmax", 1), ("temperature", 0), ("temperature", 1)]
    assert minutes == USUAL, "the network of seed 0 is there, that of seed 1 serves both"


def test_every_plan_is_valid_and_without_minutes_nothing_runs(tmp_path, monkeypatch):
    for plan in plans((0,), results=tmp_path):
        plan.checked()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["bench", "paper", "--seeds", "1"])
    assert done.exit_code == 0, done.output
    assert "GPU minutes are missing" in done.output
    assert list(tmp_path.iterdir()) == []
