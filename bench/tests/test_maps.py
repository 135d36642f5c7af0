"""The experiment `maps`: the curves are the methods' own, over the averages they were fitted to."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from slova_bench.calibrate import calibration
from slova_bench.experiments import experiments, maps
from slova_bench.methods import find
from slova_bench.paper_fit import fit_paper
from slova_bench.pipeline import mean_readout
from slova_bench.results import Results
from slova_bench.runner import Plan, execute

from slova.calibration.pairs import Pairs


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    return Plan(experiment="maps", quick=True, results=folder / "results", store=folder / "store", models=None)


@pytest.fixture(scope="module")
def rows(plan):
    return execute(plan)


def curve(rows, method, metric):
    return {row.level: row.value for row in rows if (row.method, row.metric) == (method, metric)}


def trained(plan, method):
    bench = plan.bench()
    return bench, bench.trained(method, 0)


def test_it_is_listed_with_both_calibrated_methods():
    assert experiments()["maps"].methods == ("slova", "slova_clean")


@pytest.mark.parametrize("name", ["slova", "slova_clean"])
def test_the_calibrated_values_are_those_of_the_calibrator_of_the_method(plan, rows, name):
    (method,) = find([name])
    fitted = calibration(method, *trained(plan, method))
    found = curve(rows, name, "calibrated")
    direct = np.exp(fitted(np.log(list(found))))
    np.testing.assert_allclose(list(found.values()), direct, rtol=1e-7)  # rows have eight digits
    assert set(maps.GRID) <= set(found)
    assert {1e-8, 1e-4, 0.01, 0.5, 1.0} <= set(maps.GRID)
    assert found[1.0] == pytest.approx(1)


def test_the_averages_are_the_librarys_own(plan, rows):
    (method,) = find(["slova_clean"])
    bench, networks = trained(plan, method)
    split = bench.validation
    log_probs = mean_readout(method.head, networks.outputs(split.images).logits).log_probs
    pairs = Pairs.of(log_probs, split.labels.numpy())
    averages = {float(f"{p:.8g}"): hits for p, hits in zip(*pairs.averages(), strict=True)}
    found = curve(rows, "slova_clean", "observed")
    assert found == {level: pytest.approx(averages[level], rel=1e-7) for level in found}
    assert {row.n for row in rows if row.method == "slova_clean"} == {int(pairs.total)}


def test_windows_are_spread_over_p_and_over_log_p():
    levels = np.sort(np.random.default_rng(0).beta(0.1, 1, 4000))
    found = np.array(maps._spread(levels))
    assert set(found) <= set(levels)
    assert 100 <= len(found) <= 200
    by_p, by_log = np.histogram(found, np.linspace(0, 0.8, 9))[0], np.histogram(found, np.geomspace(1e-8, 1, 9))[0]
    assert min(by_p) >= 8
    assert min(by_log) >= 8


def test_observed_and_calibrated_share_their_levels(rows):
    for name in ("slova", "slova_clean"):
        observed, calibrated = (curve(rows, name, metric) for metric in ("observed", "calibrated"))
        assert {level for level in observed if level > 0} == set(calibrated) - set(maps.GRID) | (
            observed.keys() & set(maps.GRID)
        )


def test_rows_that_are_there_are_not_made_again(plan, rows, monkeypatch):
    monkeypatch.setattr(maps, "_fitted", lambda *_: pytest.fail("fitted again"))
    assert execute(plan, expect=lambda work: work and pytest.fail(f"{work} announced")) == rows


def test_a_cut_off_journal_is_completed_to_the_same_rows(plan, rows, tmp_path):
    part = replace(plan, results=tmp_path)
    written = [row for row in rows if row.method == "slova"]
    Results(tmp_path, "maps-digits-quick").append(written[:-20])  # without the end of the grid
    announced = []
    assert execute(part, expect=announced.extend) == rows
    assert announced == [1, 1]


def test_methods_without_a_curve_have_no_rows(plan, tmp_path):
    for name in ("softmax", "temperature"):
        assert execute(replace(plan, methods=(name,), results=tmp_path / name)) == []


def test_a_partial_of_a_fit_has_a_curve():
    (method,) = find(["slova_clean"])
    assert maps._has_curve(method)
    assert maps._has_curve(replace(method, calibrate=partial(fit_paper, terms=3)))
