"""Stale or not: recorded descriptions against what the code says now, which a process of its own is asked for."""

import json
import subprocess
import sys
import time

import pytest
from slova_bench import freshness as module
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.staleness import Freshness, State, freshness, judged

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 100)


def results(folder, methods: list[str], record: dict | None, name: str = "shift-digits") -> ResultsFolder:
    found = Results(folder, name)
    found.append(Row.of(CELL._replace(method=method), "ece", 0.1) for method in methods)
    found.close()
    if record is not None:
        (folder / f"{name}.json").write_text(json.dumps(record))
    return ResultsFolder.read(folder)


@pytest.fixture(scope="module")
def now() -> dict:
    """What the code says of methods on digits."""
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "slova_bench.staleness", "shift-digits", "shift-digits-quick", "shift-nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_code_describes_its_methods_with_every_preset(now):
    assert set(now) == {"shift-digits", "shift-digits-quick"}, "of an unknown set nothing is said"
    assert {"softmax", "slova", "slova paper"} <= set(now["shift-digits"])
    assert now["shift-digits"]["slova"] != now["shift-digits"]["slova_clean"]
    assert now["shift-digits"]["slova"] != now["shift-digits-quick"]["slova"]


def test_rows_are_fresh_stale_unknown_or_without_description(tmp_path, now):
    said = now["shift-digits"]
    changed = said["ova"] | {"noise": 0.75}
    record = {
        "methods": {"slova": said["slova"], "ova": changed, "mine": {"noise": 1}, "slova paper": said["slova paper"]}
    }
    start = time.monotonic()
    found = freshness(results(tmp_path, ["slova", "ova", "mine", "softmax"], record))["shift-digits"]
    assert time.monotonic() - start < 20
    assert {one.method: one.state for one in found} == {
        "slova": State.FRESH, "slova paper": State.FRESH, "ova": State.STALE, "mine": State.UNKNOWN,
        "softmax": State.UNRECORDED,
    }  # fmt: skip
    (stale,) = [one for one in found if one.state is State.STALE]
    assert stale.sentence == "ova: stale (noise: was 0.75, is 0.0)"


def test_changes_are_named_by_their_place():
    was, now = (
        {"recipe": {"rate": 0.1, "epochs": 40}, "loss": "a"},
        {"recipe": {"rate": 0.2, "epochs": 40}, "head": "b"},
    )
    (one,) = judged({"slova": was}, {"slova": now})
    assert one.why == ('head: was null, is "b"', 'loss: was "a", is null', "recipe.rate: was 0.1, is 0.2")


def test_records_of_old_have_no_descriptions_and_nobody_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_present", lambda names: pytest.fail("there is nothing to compare"))
    for record in (None, {}, {"methods": ["slova"]}, {"runs": []}):
        found = freshness(results(tmp_path, ["slova"], record))
        assert found == {"shift-digits": [Freshness("slova", State.UNRECORDED)]}


def test_without_pytorch_nothing_is_checked_and_it_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (one,) = freshness(results(tmp_path, ["slova"], {"methods": {"slova": {}}}))["shift-digits"]
    assert one.sentence == "slova: not checked (PyTorch is not installed)"


@pytest.mark.parametrize("program", ["import sys; sys.exit(3)", "print('no JSON')"])
def test_a_code_that_cannot_be_asked_is_no_error(program, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    broken = tmp_path / "python"
    broken.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c \"{program}\"\n")
    broken.chmod(0o755)
    evidence = results(tmp_path, ["slova"], {"methods": {"slova": {}}})
    monkeypatch.setattr(sys, "executable", str(broken))
    (one,) = freshness(evidence)["shift-digits"]
    assert one.state is State.UNCHECKED
    assert "could not be asked" in one.sentence


def test_an_experiment_that_is_not_known_here_is_not_checked():
    (one,) = judged({"slova": {"noise": 1}}, None)
    assert one.sentence == "slova: not checked"


def test_a_record_that_a_run_has_just_written_is_fresh(tmp_path, now):
    runner = pytest.importorskip("slova_bench.runner")
    plan = runner.Plan(experiment="shift", on="digits", results=tmp_path, store=None)
    path = tmp_path / "shift-digits.json"
    runner._describe(path, plan, plan.bench(), plan.chosen())
    recorded = json.loads(path.read_text())["methods"]
    assert len(recorded) == len(plan.chosen())
    assert {one.state for one in judged(recorded, now["shift-digits"])} == {State.FRESH}
