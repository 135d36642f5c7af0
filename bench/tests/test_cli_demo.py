"""The demo: from what comes with slova to a table on the terminal and a page."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("altair")

from slova_bench.cli.demo import STORED, TRAINED, _plans, _size
from slova_bench.frame import frame
from slova_bench.predictions import embedded
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import ranks

from slova.cli import main


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, CliRunner().invoke(main, ["bench", "demo", "-o", str(folder)])


def test_the_demo_ends_in_a_table_and_the_path_of_a_page(demo):
    folder, done = demo
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "CIFAR-10 at a glance"
    assert {line.split("  ")[0] for line in lines[4:-3]} >= {"Softmax", "Temperature scaling", "OVA", "SLOVA"}
    assert lines[-2] == "1 seed, 500 images of every shift; with 10,000 images and more seeds: docs/results.md"
    assert lines[-1] == str(folder / "report.html")
    assert (folder / "report.html").stat().st_size < 5e6
    assert "shift on cifar10" in done.stderr, "progress"


def test_every_experiment_that_stored_logits_allow_is_run(demo):
    results = ResultsFolder.read(demo[0] / "results")
    assert set(results.names) == {f"{name}-cifar10-embedded" for name in STORED}
    assert set(results.rows("shift", "cifar10")["n"]) == {500, 10_000}


def test_ranks_are_those_among_the_papers_methods(demo):
    """As in docs/results.md, although the folder does not hold the numbers of the paper."""
    table = ranks.make(ResultsFolder.read(demo[0] / "results"), "cifar10")[0]
    assert table.title == "Mean ranks under shift, CIFAR-10, the paper's methods"
    assert [row[0].text for row in table.rows] == ["Softmax", "Temperature scaling", "Ensemble", "SLOVA"]


def test_the_reported_size_comes_from_the_rows():
    cell = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 500)
    rows = [Row.of(cell._replace(shift=shift, seed=seed), "ece", 0.1) for shift in ("", "fog") for seed in (0, 1)]
    assert _size(frame(rows)) == "2 seeds, 500 images of every shift"


def test_a_second_run_computes_nothing_and_prints_the_same(demo):
    folder, before = demo
    done = CliRunner().invoke(main, ["bench", "demo", "-o", str(folder)])
    assert done.stdout == before.stdout
    assert ", 0 of them new" in done.stderr


def test_stored_logits_give_the_committed_rows_of_the_clean_test_set(demo):
    """One byte per logit costs less than a thousandth of accuracy, ECE, NLL and Brier score."""
    committed = {row.key: row for row in Results(Path(__file__).parents[1] / "results", "shift-cifar10").read()}
    rows = [row for row in Results(demo[0] / "results", "shift-cifar10-embedded").read() if not row.shift]
    both = [row for row in rows if row.key in committed]
    assert {row.method for row in both} >= {"softmax", "ensemble", "ova", "slova", "slova_none"}
    assert {row.metric for row in both} >= {"accuracy", "ece", "nll", "brier"}
    for row in both:
        assert row.value == pytest.approx(committed[row.key].value, abs=1e-3), row


def test_on_digits_every_experiment_of_the_paper_is_run(tmp_path):
    plans = _plans("digits", tmp_path)
    assert [plan.experiment for plan in plans] == list(TRAINED)
    assert all(plan.checked().name == plan.experiment and not plan.embedded for plan in plans)


def test_the_stored_logits_are_small_and_complete():
    predictions = embedded("cifar10")
    assert len(predictions.sets) == 1 + 95 + 8
    for name in predictions.names:
        for where in predictions.sets:
            assert np.isfinite(predictions.logits[name, where]).all()
