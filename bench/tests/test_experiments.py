"""Every experiment in its quick form on digits, from the command line to rows that make sense."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import gammaincc
from slova_bench import runner
from slova_bench.experiments import experiments
from slova_bench.experiments.directions import LEVELS
from slova_bench.experiments.plane import AXIS
from slova_bench.results import Results
from slova_bench.shifts import DIGITS

from slova.cli import main

SHIFTS = {(name, level) for name in DIGITS.names for level in range(1, 6)} | {("", 0)}
KINDS = {"recipes": ("--methods", "temperature_degraded,slova_none_fit,softmax_none_class,slova_image")}  # one of each
RANGES = {"nll": (0, math.inf), "brier": (0, 2)}  # of everything else: 0 to 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One store for all, so that networks are trained once, and fewer images than a quick run has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "QUICK", 60)
        yield tmp_path_factory.mktemp("comparison")


def bench_run(folder, experiment: str, *options: str):
    arguments = ["bench", "run", experiment, "--quick", "--results", folder / "results", "--store", folder / "store"]
    done = CliRunner().invoke(main, [str(argument) for argument in (*arguments, *options)])
    assert done.exit_code == 0, done.stderr
    return Results(folder / "results", f"{experiment}-digits-quick").read()


def check(rows, metrics: set[str], methods: set[str], sets: set[tuple[str, str, float]]) -> None:
    """All of it, once, in range."""
    assert Counter(row.key for row in rows).most_common(1)[0][1] == 1
    assert {row.method for row in rows} == methods
    for method in methods:
        assert {(row.test, row.shift, row.level) for row in rows if row.method == method} == sets
    assert {row.metric for row in rows} == metrics
    for row in rows:
        low, high = RANGES.get(row.metric, (0, 1))
        assert low - 1e-6 <= row.value <= high + 1e-6, row


@pytest.mark.slow
def test_shift_measures_every_method_on_every_shift_and_severity(folder):
    rows = bench_run(folder, "shift")
    methods = set(experiments()["shift"].methods)
    check(rows, {"accuracy", "ece", "nll", "brier", "mmc"}, methods, {("digits-test", *shift) for shift in SHIFTS})
    assert len(rows) == 5 * len(methods) * len(SHIFTS)
    clean, worst = ([r.value for r in rows if r.metric == "accuracy" and r.level == level] for level in (0, 5))
    assert np.mean(clean) > np.mean(worst) + 0.1


def test_ablation_is_shift_with_five_methods(folder):
    rows = bench_run(folder, "ablation")
    methods = {"softmax", "ova", "slova_raw", "slova", "slova_clean"}
    check(rows, {"accuracy", "ece", "nll", "brier", "mmc"}, methods, {("digits-test", *shift) for shift in SHIFTS})
    for metric in ("accuracy", "mmc"):  # the readout changes the confidence and not the prediction
        one, other = ([r.value for r in rows if (r.method, r.metric) == (m, metric)] for m in ("ova", "slova_raw"))
        assert (one == other) is (metric == "accuracy")


def test_ood_has_the_error_on_the_test_set_and_detection_on_ood_sets(folder):
    rows = bench_run(folder, "ood")
    sets = {("digits-test", "", 0)} | {(name, "", 0) for name in DIGITS.ood}
    check(rows, {"error", "mmc", "auroc", "aupr", "fpr95"}, set(experiments()["ood"].methods), sets)
    inside = {row.metric for row in rows if row.test == "digits-test"}
    outside = {row.metric for row in rows if row.test != "digits-test"}
    assert (inside, outside) == ({"error", "mmc"}, {"mmc", "auroc", "aupr", "fpr95"})
    same = {m: [r.value for r in rows if r.method == m and r.metric in ("error", "mmc")] for m in ("softmax", "energy")}
    assert same["softmax"] == same["energy"]  # a detector changes the score, not the probabilities
    assert [r.value for r in rows if (r.method, r.metric) == ("softmax", "auroc")] != [
        r.value for r in rows if (r.method, r.metric) == ("energy", "auroc")
    ]


def test_directions_follow_the_confidence_from_the_images_on(folder):
    rows = bench_run(folder, "directions")
    sets = {("digits-test", "direction", level) for level in LEVELS}
    check(rows, {"mmc", "confidence_std", "confident"}, {"softmax", "ova", "slova_raw", "slova"}, sets)
    clean = next(
        r.value for r in bench_run(folder, "ood") if (r.method, r.test, r.metric) == ("ova", "digits-test", "mmc")
    )
    start = next(r.value for r in rows if (r.method, r.level, r.metric) == ("ova", 0, "mmc"))
    assert start == pytest.approx(clean, abs=1e-6)


def test_stability_has_the_optimal_fit_beside_every_number_of_terms_and_points(folder):
    rows = bench_run(folder, "stability")
    check(rows, {"accuracy", "ece", "nll", "brier", "mmc"}, {"slova"}, {("digits-test", "", 0)})
    variants = {row.variant for row in rows}
    assert {"", "M=1", "M=50", "n_b=20", "n_b=10000"} <= variants
    assert len(rows) == 5 * len(variants)
    assert len({row.value for row in rows if row.metric == "accuracy"}) == 1  # one increasing map or another


def test_planes_have_rings_and_pictures_and_runs_add_to_them(folder):
    rows = bench_run(folder, "plane", "--methods", "ova")
    check(rows, {"mmc"}, {"ova"}, {("digits-test", "plane", row.level) for row in rows})
    rows = bench_run(folder, "plane", "--methods", "slova_raw")
    check(rows, {"mmc"}, {"ova", "slova_raw"}, {("digits-test", "plane", row.level) for row in rows})
    points = pd.read_parquet(folder / "results" / "plane-digits-quick-picture.parquet").to_dict("records")
    assert Counter(point["method"] for point in points) == {"ova": len(AXIS) ** 2, "slova_raw": len(AXIS) ** 2}
    for method in ("ova", "slova_raw"):
        middle = next(p["confidence"] for p in points if (p["method"], p["alpha"], p["beta"]) == (method, 0, 0))
        assert middle == pytest.approx(next(r.value for r in rows if (r.method, r.level) == (method, 0)), abs=1e-6)


def test_the_appendix_needs_no_network_and_its_curves_match_their_formulas(folder):
    rows = bench_run(folder, "appendix")
    check(
        rows, {"calibrated"}, {"exact", "approximate", "fitted"}, {("", "", round(n / 100, 2)) for n in range(1, 101)}
    )
    found = {(row.method, row.level): row.value for row in rows}
    assert found["exact", 0.3] == pytest.approx(gammaincc(3, -math.log(0.3)), abs=1e-7)
    assert found["approximate", 0.3] == pytest.approx(1 - 0.7**3, abs=1e-7)
    levels = np.arange(1, 101) / 100
    exact, fitted = (np.array([found[name, level] for level in levels]) for name in ("exact", "fitted"))
    powers = [np.mean((levels**alpha - exact) ** 2) for alpha in np.geomspace(0.01, 10, 200)]
    assert np.mean((fitted - exact) ** 2) <= min(powers) + 1e-9


@pytest.mark.parametrize("experiment", sorted(set(experiments()) - {"shift"}))
def test_a_second_run_does_nothing_and_changes_nothing(folder, experiment):
    options = KINDS.get(experiment, ())
    bench_run(folder, experiment, *options)
    files = {path: path.read_bytes() for path in (folder / "results").glob(f"{experiment}-*") if path.suffix != ".json"}
    folders = ["--results", f"{folder}/results", "--store", "/dev/null/nowhere"]
    done = CliRunner().invoke(main, ["bench", "run", experiment, "--quick", *options, *folders])
    assert done.exit_code == 0, done.stderr  # with no store to find weights in, and none made
    assert " 0 of them new" in done.stderr
    assert {path: path.read_bytes() for path in files} == files
