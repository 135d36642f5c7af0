"""Staleness: recorded descriptions compared with those of the present code."""

import json
import subprocess

import pytest
from slova_bench import staleness as module
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.staleness import Staleness, State, check_staleness, descriptions, judged

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 100)


def results_folder(folder, methods: list[str], record: dict | None, name: str = "shift-digits") -> ResultsFolder:
    found = Results(folder, name)
    found.append(Row.of(CELL._replace(method=method), "ece", 0.1) for method in methods)
    found.close()
    if record is not None:
        (folder / f"{name}.json").write_text(json.dumps(record))
    return ResultsFolder.read(folder)


@pytest.fixture(scope="module")
def now() -> dict:
    """The descriptions of the present code on digits."""
    pytest.importorskip("torch")
    return {name: descriptions(name) for name in ("shift-digits", "shift-digits-quick")}


def test_the_code_describes_its_methods_with_every_preset(now):
    assert {"softmax", "slova", "slova paper"} <= set(now["shift-digits"])
    assert now["shift-digits"]["slova"] != now["shift-digits"]["slova_clean"]
    assert now["shift-digits"]["slova"] != now["shift-digits-quick"]["slova"]


def test_rows_are_current_stale_unknown_or_without_description(tmp_path, now):
    present = now["shift-digits"]
    changed = present["ova"] | {"noise": 0.75}
    record = {
        "methods": {
            "slova": present["slova"],
            "ova": changed,
            "mine": {"noise": 1},
            "slova paper": present["slova paper"],
        }
    }
    found = check_staleness(results_folder(tmp_path, ["slova", "ova", "mine", "softmax"], record))["shift-digits"]
    assert {one.method: one.state for one in found} == {
        "slova": State.CURRENT, "slova paper": State.CURRENT, "ova": State.STALE, "mine": State.UNKNOWN,
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


def test_old_records_without_descriptions_are_not_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "descriptions", lambda name: pytest.fail("there is nothing to compare"))
    for record in (None, {}, {"methods": ["slova"]}, {"runs": []}):
        found = check_staleness(results_folder(tmp_path, ["slova"], record))
        assert found == {"shift-digits": [Staleness("slova", State.UNRECORDED)]}


def test_the_check_starts_no_process(tmp_path, now, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    record = {"methods": {"slova": now["shift-digits"]["slova"]}}
    (one,) = check_staleness(results_folder(tmp_path, ["slova"], record))["shift-digits"]
    assert one.state is State.CURRENT


def test_a_set_that_is_not_known_here_is_not_checked(tmp_path):
    results = results_folder(tmp_path, ["slova"], {"methods": {"slova": {}}}, "shift-nowhere")
    (one,) = check_staleness(results)["shift-nowhere"]
    assert one.state is State.UNCHECKED


def test_an_experiment_that_is_not_known_here_is_not_checked():
    (one,) = judged({"slova": {"noise": 1}}, None)
    assert one.sentence == "slova: not checked"


def test_a_record_that_was_just_written_is_current(tmp_path, now):
    runner = pytest.importorskip("slova_bench.runner")
    plan = runner.Plan(experiment="shift", on="digits", results=tmp_path, store=None)
    runner._record(plan, plan.bench().descriptions(plan.chosen()))
    recorded = json.loads((tmp_path / "shift-digits.json").read_text())["methods"]
    assert len(recorded) == len(plan.chosen())
    assert {one.state for one in judged(recorded, now["shift-digits"])} == {State.CURRENT}
