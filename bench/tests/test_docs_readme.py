"""What README.md says of rivals and ranks follows from the rows: recomputed here with scipy."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from slova_bench.claims import CLAIMS, judged_claims
from slova_bench.figures.sources import ranking
from slova_bench.frame import where
from slova_bench.labels import PAPER_SHIFTS, look
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import TABLES
from slova_bench.tables.ranks import shift_comparison

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
ROWS = where(RESULTS.rows("shift", "cifar10"), variant="")
VIEW = where(ROWS, shift=["", *PAPER_SHIFTS])
HELD_OUT = where(ROWS, shift=["motion_blur", "snow", "jpeg_compression"])
METRICS = ("ece", "nll", "brier")
spec = importlib.util.spec_from_file_location("make_readme", ROOT / "docs" / "make_readme.py")
make_readme = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_readme)


def gaps(rows, ours, theirs, statistic) -> pd.Series:
    """How much lower a statistic over the sets is, at each common seed."""
    first, second = (where(rows, method=method).groupby("seed")["value"].apply(statistic) for method in (ours, theirs))
    return (second - first).dropna()


def sign(values) -> int:
    """1 if lower, -1 if higher, 0 if seeds cannot distinguish it."""
    apart = len(values) < 3 or stats.ttest_1samp(values, 0).pvalue < 0.05
    return int(np.sign(values.mean())) if apart else 0


def counts(rows, ours, theirs) -> list[str]:
    """In how many quartiles ours is better, and worse."""
    signs = [
        sign(gaps(where(rows, metric=metric), ours, theirs, lambda values, share=share: np.percentile(values, share)))
        for metric in METRICS
        for share in (25, 50, 75)
    ]
    return [str(signs.count(1)), str(signs.count(-1))]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return make_readme.words(RESULTS).splitlines()


@pytest.mark.parametrize(("method", "rival"), make_readme.CONTESTS)
def test_each_contest_has_the_count_over_shifts_in_view_and_over_held_out_ones(method, rival, lines):
    (line,) = [line for line in lines if line.startswith(f"| {look(method).name} | {look(rival).name} |")]
    seeds = len({*where(ROWS, method=method)["seed"]} & {*where(ROWS, method=rival)["seed"]})
    said = line.strip("| ").split(" | ")[2:]
    assert said == [str(seeds), *counts(VIEW, method, rival), *counts(HELD_OUT, method, rival)]


def test_a_method_that_is_compared_with_the_ensemble_is_compared_with_the_calibrated_one():
    rivals = {"ensemble", "ensemble_temperature"}
    pairs = [{method for method, rival in make_readme.CONTESTS if rival == one} for one in sorted(rivals)]
    assert pairs[0] == pairs[1] == {"slova_mirror", "slova_distance_ensemble"}


def test_the_first_sentence_says_where_softmax_is_better_and_where_slova_is():
    pair, text = (make_readme.OURS, make_readme.RIVAL), make_readme.pitch(RESULTS)
    rows = where(RESULTS.rows("recipes", "cifar10"), variant="")
    found = {-1: set(), 0: set(), 1: set()}
    for shifts in ("", PAPER_SHIFTS, {*HELD_OUT["shift"]}):
        for metric in ("accuracy", *METRICS):
            those = where(rows, test="cifar10-test", shift=shifts, metric=metric)
            side = sign(gaps(those, *pair, "mean")) * (-1 if metric == "accuracy" else 1)
            values = [where(those, method=method)["value"].mean() for method in pair[:: side or 1]]
            numbers = (f"{100 * v:.2f} %" if metric == "accuracy" else f"{v:.3f}" for v in values)
            found[side].add(" against ".join(numbers))
    sides = {1: "Slova is better ", -1: "Softmax is better "}
    for side, start in sides.items():
        said = text.partition(start)[2].partition(". ")[0]
        assert set(re.findall(r"\(([^)]*)\)", said)) == found[side]
    for tests in (("cifar100-test", "tinyimagenet-test"), ("svhn-test",), ("uniform", "permuted", "low_pass")):
        assert sign(gaps(where(rows, test=tests, metric="auroc"), *pair, "mean")) == -1, "slova has the larger AUROC"


def test_the_ranks_of_the_claim_the_table_and_the_figure_are_the_same():
    """They are means over seeds of plain mean ranks."""
    titles = ("Methods whose mean ranks do not differ significantly from SLOVA's",)
    (claim,) = judged_claims(RESULTS, [one for one in CLAIMS if one.title in titles])
    table = next(one for one in TABLES if one.name == "ranks").make(RESULTS, "cifar10")[0]
    drawn = ranking("shift", shift_comparison)(RESULTS, "cifar10").mean_ranks
    seeds = set.intersection(*({*where(VIEW, method=method)["seed"]} for method in drawn))
    rows = where(VIEW, method=drawn, metric=METRICS, seed=seeds)
    index = ["metric", "shift", "level", "seed"]
    expected = rows.pivot_table(index=index, columns="method", values="value").rank(axis=1).mean()
    shown = {row[0].text: row[4].value for row in table.rows}
    for method, rank in expected.items():
        assert drawn[method] == pytest.approx(rank)
        assert shown[look(method).name] == pytest.approx(rank)
        assert f"{look(method).name} {rank:.2f}" in claim.ours
