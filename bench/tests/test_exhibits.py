"""The registry of exhibits: tables, figures, panels and claims, each made of the rows of an experiment that exists."""

from collections import Counter

import pytest
from slova_bench.exhibit import Kind
from slova_bench.exhibits import EXHIBITS, exhibits
from slova_bench.experiments import experiments
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder


def test_every_exhibit_has_a_name_of_its_own_a_title_and_an_experiment_that_exists():
    counts = Counter((exhibit.kind, exhibit.name) for exhibit in EXHIBITS)
    assert [name for name, count in counts.items() if count > 1] == []
    assert {kind for kind, _ in counts} == set(Kind)
    assert {exhibit.experiment for exhibit in EXHIBITS} <= {"", *experiments()}
    assert all(exhibit.title for exhibit in EXHIBITS)
    assert all(exhibit.about.endswith((".", "?")) for exhibit in exhibits(Kind.FIGURE, Kind.PANEL))
    assert all(exhibit.answers.startswith(("Fig.", "Sec.")) for exhibit in exhibits(Kind.FIGURE))


@pytest.mark.parametrize(("run", "other"), [("shift", "ablation"), ("ablation", "shift")])
def test_an_exhibit_of_the_ablation_takes_rows_of_shift_where_there_are_no_others(tmp_path, run, other):
    cell = Cell(run, "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)
    Results(tmp_path, f"{run}-cifar10-quick").append([Row.of(cell, "ece", 0.5)])
    results = ResultsFolder.read(tmp_path)
    by_experiment = {exhibit.experiment: exhibit for exhibit in exhibits(Kind.TABLE)}
    assert by_experiment[run].sets(results) == ("cifar10",)
    assert by_experiment[run].mark(results, "cifar10") == " (quick)"
    found = by_experiment[other].sets(results)
    assert found == (("cifar10",) if other == "ablation" else ())
    assert all(len(by_experiment[other].rows(results, on)) == 1 for on in found)
