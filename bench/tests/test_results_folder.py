"""What a folder of results holds: full rows before stored logits before quick runs, and the numbers of the paper."""

import json

import pytest
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder, parts
from slova_bench.tables import runs

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 100)


def filled(folder, *names: str, journal: bool = False) -> ResultsFolder:
    """Each file with one row, whose value is its place in the list."""
    for place, name in enumerate(names):
        results = Results(folder, name)
        results.append([Row.of(CELL, "ece", place)])
        if not journal:
            results.close()
    return ResultsFolder.read(folder)


@pytest.mark.parametrize("journal", [False, True])
def test_full_rows_have_priority_over_stored_logits_and_these_over_quick_runs(tmp_path, journal):
    names = ("shift-digits-quick", "shift-digits-embedded", "shift-digits")
    for place, name in enumerate(names):
        results = filled(tmp_path, *names[: place + 1], journal=journal)
        assert results.names == (name,)
        assert results.sets("shift") == ("digits",)
        assert results.rows("shift", "digits")["value"].tolist() == [place]
        assert results.left_out == dict.fromkeys(names[:place], name)


def test_files_that_are_left_out_are_listed(tmp_path):
    results = filled(tmp_path, "shift-digits-quick", "shift-digits", "ood-digits-quick", "ood-digits-embedded")
    (tmp_path / "shift-digits.json").write_text(json.dumps({"runs": [{"note": "on a train"}]}))
    assert runs.remarks(results, {}) == [
        "ood-digits-quick is left out: ood-digits-embedded is there.",
        "shift-digits-quick is left out: shift-digits is there.",
        "shift-digits: on a train.",
    ]
    assert [row[0].text for row in runs.make(results, {}).rows] == ["ood, embedded", "shift"]


def test_only_rows_of_a_quick_run_are_marked(tmp_path):
    results = filled(tmp_path, "shift-digits-quick", "shift-svhn", "ood-digits-embedded", "ood-digits-quick")
    assert [results.mark("shift", on) for on in ("digits", "svhn", "")] == [" (quick)", "", " (quick)"]
    assert results.mark("ood", "digits") == results.mark("ood", "") == results.mark("plane", "digits") == ""


def test_a_name_has_three_parts():
    assert parts("shift-cifar10-quick") == ("shift", "cifar10", "-quick")
    assert parts("own") == ("own", "", "")


def test_the_papers_numbers_are_there_whatever_the_folder(tmp_path):
    results = filled(tmp_path, "shift-digits", "paper")
    assert results.names == ("shift-digits",), "a file of that name is not an experiment"
    assert set(results.paper["seed"]) == {-1}
    assert set(results.paper["experiment"]) == {"shift", "ood"}


def test_what_was_not_run_is_named_with_its_command(tmp_path):
    with pytest.raises(MissingRowsError, match="run slova bench run ood --on digits"):
        filled(tmp_path, "shift-digits").rows("ood", "digits")


def test_rows_of_a_preset_are_apart_and_keep_what_varies_within_a_method(tmp_path):
    results = Results(tmp_path, "noise-digits")
    cells = [CELL._replace(preset=preset, parameter="noise", parameter_value=0.1) for preset in ("", "interpolated")]
    results.append([Row.of(cell, "ece", place) for place, cell in enumerate(cells)])
    found = ResultsFolder.read(tmp_path)
    for place, preset in enumerate((None, "interpolated")):
        own = found.rows("noise", "digits", preset=preset)
        assert own[["variant", "value"]].to_numpy().tolist() == [["noise=0.1", place]]
