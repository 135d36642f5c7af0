"""The measured numbers of docs/deviations.md are those of the rows."""

import json
from pathlib import Path

import numpy as np
import pytest
from slova_bench.frame import quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
TEXT = " ".join((ROOT / "docs" / "deviations.md").read_text(encoding="utf-8").split())
TRIALS = json.loads((ROOT / "bench" / "results" / "searches.json").read_text())["trials"]


def short(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")


def listed(*numbers: float) -> str:
    *first, last = map(short, numbers)
    return f"{', '.join(first)} and {last}"


def of(method: str, rows, metric: str = "ece") -> tuple[float, float, float]:
    """The quartiles over the shifts of the paper, means over seeds."""
    found = quartiles(where(rows, method=method, variant=""), metric, shift_groups(rows)[0])
    return tuple(np.mean([*column[method, ""].values()]) for column in found.values())


def shift(preset: str | None = None):
    return RESULTS.rows("shift", "cifar10", preset=preset)


def clean(method: str, metric: str, rows) -> float:
    return where(rows, method=method, variant="", metric=metric, shift="")["value"].mean()


def at_seeds_of(method: str, rows):
    return rows[rows["seed"].isin(where(rows, method=method)["seed"])]


def test_calibrated_ensembles():
    rows = at_seeds_of("ensemble_temperature", shift())
    before, after = (of(name, rows)[1] for name in ("ensemble", "ensemble_temperature"))
    assert f"lowers the median ECE of the ensemble from {short(before)} to {short(after)}" in TEXT
    before, after = (clean(name, "ece", rows) for name in ("ensemble", "ensemble_temperature"))
    assert f"on clean images the ECE rises from {short(before)} to {short(after)}" in TEXT


def test_the_fit_of_the_paper():
    rows = at_seeds_of("slova_paper_fit", shift())
    theirs, ours = (listed(*of(name, rows)) for name in ("slova_paper_fit", "slova"))
    assert f"the quartiles of SLOVA's ECE are {theirs}, with the optimal fit {ours}" in TEXT


def test_without_the_greatest_severity():
    rows = shift()
    rows = rows[rows["level"] <= 4]
    names = ("softmax", "temperature", "ensemble")
    for metric, words in {"ece": "the ensemble are {}, near", "brier": "Brier scores are then {}, smaller"}.items():
        assert words.format(listed(*(of(name, rows, metric)[1] for name in names))) in TEXT


def test_a_smaller_share_of_noise():
    rows = RESULTS.rows("noise", "cifar10")
    rows = rows[rows["parameter_value"] == 0.03].assign(variant="")
    assert f"a share of .03 gives {listed(*of('slova', rows))}" in TEXT
    assert f"({rows['seed'].nunique()} networks)" in TEXT


def test_the_recipe_of_the_authors():
    rows = shift("authors")
    assert f"the quartiles of softmax's ECE are {listed(*of('softmax', rows))}" in TEXT
    assert f"SLOVA's ECE hardly changes ({listed(*of('slova', rows))})" in TEXT
    softmax, ova = (100 * clean(name, "accuracy", rows) for name in ("softmax", "ova"))
    assert f"only {softmax:.0f} % (softmax) and {ova:.0f} % (one-vs-all)" in TEXT


def test_the_random_search():
    trials = [trial for trial in TRIALS if "beta_1" in trial]
    best = max(trials, key=lambda trial: trial["accuracy"])
    chance = sum(trial["accuracy"] < 0.11 for trial in trials)
    assert len(trials) == 20
    assert f"{chance} of twenty trials stay at chance" in TEXT
    assert f"the best (rate {best['rate']}, beta_1 {best['beta_1']}, epsilon 3e-7)" in TEXT
    assert f"reaches {100 * best['accuracy']:.0f} % after 20 epochs" in TEXT
    rows = shift("searched")
    found = where(rows, method="ova", metric="accuracy", shift="").sort_values("seed")["value"]
    assert f"its accuracy is {' and '.join(f'{100 * value:.0f}' for value in found)} %" in TEXT


@pytest.mark.parametrize("method", ["svi", "ova_dm"])
def test_larger_rates(method):
    trials = [trial for trial in TRIALS if trial["method"] == method and trial["on"] == "cifar10"]
    first, later = ([t for t in trials if ("commit" in t) == more] for more in (False, True))
    was, best = (max(part, key=lambda trial: trial.get("accuracy", 0)) for part in (first, later))
    assert f"{short(was['accuracy'])} at {was['rate']:.3g} before, {short(best['accuracy'])} at {best['rate']}" in TEXT
    assert f"rates up to {max(trial['rate'] for trial in later)}" in TEXT


def test_the_network_of_hein():
    pairs = {("cifar10", "cifar100"): ".764", ("cifar100", "cifar10"): ".560", ("svhn", "cifar10"): ".732"}
    for (on, other), theirs in pairs.items():
        ours, fair = (
            where(RESULTS.rows("ood", on, preset=preset), method="softmax", test=f"{other}-test", metric="mmc")["value"]
            for preset in ("paper", None)
        )
        assert f"{short(ours.mean())} (paper {theirs}, one recipe for all {short(fair.mean())})" in TEXT
    errors = [
        where(RESULTS.rows("ood", on, preset="paper"), method="ova", test=f"{on}-test", metric="error")["value"].mean()
        for on in ("cifar10", "cifar100", "svhn")
    ]
    assert "errors of {:.1f}, {:.1f} and {:.1f} %".format(*(100 * error for error in errors)) in TEXT


def test_acet():
    rows = RESULTS.rows("ood", "cifar10")
    outside = rows[(rows["test"] != "cifar10-test") & (rows["variant"] == "")]
    mmc, auroc = (
        [where(outside, method=name, metric=metric)["value"].mean() for name in ("acet", "acet_short")]
        for metric in ("mmc", "auroc")
    )
    assert f"its mean MMC on OOD sets {short(mmc[0])} instead of {short(mmc[1])}" in TEXT
    assert f"its mean AUROC {short(auroc[0])} instead of {short(auroc[1])}" in TEXT
