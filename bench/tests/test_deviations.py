"""The measured numbers of docs/deviations.md are those of the rows."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from slova_bench.frame import quartiles, shift_groups, where
from slova_bench.labels import PAPER_SHIFTS, look
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.differences import _binned
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.ranks import ood_comparison

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
TEXT = " ".join((ROOT / "docs" / "deviations.md").read_text(encoding="utf-8").split())
METHODS = ("softmax", "temperature", "dropout", "ensemble", "svi", "ll_svi", "ll_dropout", "ova_dm", "slova")
NAMES = {method: look(method).name for method in METHODS}
PAIRS = [
    *(("cifar10", "cifar100"), ("cifar10", "svhn"), ("cifar100", "cifar10")),
    *(("cifar100", "svhn"), ("svhn", "cifar10"), ("svhn", "cifar100")),
]
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
    sentences = {"ece": "the ensemble are {}; the paper", "brier": "Brier scores are then {}, smaller"}
    for metric, words in sentences.items():
        assert words.format(listed(*(of(name, rows, metric)[1] for name in names))) in TEXT
    medians = [short(of("slova", part, "brier")[1]) for part in (shift(), rows)]
    assert "median Brier score is {}, without severity 5 {}, the paper has .299".format(*medians) in TEXT


def against_the_paper(rows) -> dict[str, list[float]]:
    """Per method with rows the ratios to the nine quartiles of the paper: of the ECE, the NLL and the Brier score."""
    ratios = {}
    for metric, share in product(METRICS, (25, 50, 75)):
        theirs = where(RESULTS.paper, experiment="shift", metric=f"{metric}_q{share}").set_index("method")["value"]
        for method, value in theirs[theirs.index.isin(rows["method"])].items():
            ratios.setdefault(method, []).append(of(method, rows, metric)[(25, 50, 75).index(share)] / value)
    return ratios


def test_the_quartiles_that_agree_with_the_paper():
    ratios = against_the_paper(shift())
    for method, name in NAMES.items():
        near = sum(abs(ratio - 1) <= 0.1 for ratio in ratios[method])
        assert f"| {name} | {near} of 9 |" in TEXT
    assert ratios.keys() == NAMES.keys()
    furthest = max(abs(ratio - 1) for method in ("svi", "ll_dropout") for ratio in ratios[method])
    assert f"No quartile of SVI and LL dropout differs by more than {100 * furthest:.0f} %" in TEXT
    assert "median and the upper quartile of NLL and Brier score are larger than the paper's for all nine" in TEXT
    assert all(own[place] > 1 for own in ratios.values() for place in (4, 5, 7, 8))


def test_the_number_of_bins():
    rows, found = shift(), RESULTS.histograms("shift", "cifar10")
    found = found[(found["variant"] == "") & found["shift"].isin(["", *shift_groups(rows)[0]])]
    binned = [_binned(found, bins) for bins in (10, 100)]
    gaps = [abs(of(method, own)[1] - of(method, rows)[1]) for own in binned for method in NAMES]
    assert f"no median of the paper's methods changes by more than {short(max(gaps))}" in TEXT


def test_the_space_of_the_noise():
    """Logits of noise from the network in the package, all others as they are stored."""
    torch = pytest.importorskip("torch")
    from slova_bench import zoo
    from slova_bench.networks import CIFAR_MEAN, CIFAR_STD
    from slova_bench.predictions import embedded

    from slova import ExponentialCalibration, log_slova
    from slova.metrics import ece

    stored, network = embedded("cifar10"), zoo.load("ova-cifar10", folder=ROOT / "bench" / "models")
    logits = {key.split("|")[1]: [] for key in stored.sets}
    for key in stored.sets:
        test, name, _ = key.split("|")
        if test == "cifar10-test" and name in ("", *PAPER_SHIFTS):
            logits[name].append(log_slova(stored.logits["ova", key][:500]))
    pixels = torch.rand(500, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    scaled = pixels * torch.tensor(CIFAR_STD).view(3, 1, 1) + torch.tensor(CIFAR_MEAN).view(3, 1, 1)
    labels, validation = stored.labels["validation"], stored.logits["ova", "validation"]
    for noise, words in ((scaled, "the quartiles are {}"), (pixels, "with noise uniform in pixels {}")):
        with torch.no_grad():
            own = np.concatenate([validation[labels >= 0], network(noise).numpy()])
        fitted = ExponentialCalibration.fit(log_slova(own), np.concatenate([labels[labels >= 0], np.full(500, -1)]))
        truth = stored.labels["cifar10-test"][:500]
        values = [ece(np.exp(fitted(one)), truth) for found in logits.values() for one in found]
        assert len(values) == 81
        assert words.format(listed(*np.percentile(values, (25, 50, 75)))) in TEXT


def test_rows_that_sum_to_more_than_one():
    from slova_bench.predictions import embedded

    from slova import ExponentialCalibration, log_slova

    stored = embedded("cifar10")
    logits, labels = stored.logits["ova", "validation"], stored.labels["validation"]
    (clean,) = [stored.logits["ova", key] for key in stored.sets if key.startswith("cifar10-test||")]
    fits = [ExponentialCalibration.fit(log_slova(logits[rows]), labels[rows]) for rows in (labels > -2, labels >= 0)]
    noisy, without = (100 * np.mean(np.exp(fitted(log_slova(clean))).sum(-1) > 1) for fitted in fits)
    assert f"of one network {noisy:.0f} %, with a fit without noise {without:.0f} %" in TEXT


def test_a_smaller_share_of_noise():
    rows = RESULTS.rows("noise", "cifar10")
    rows = rows[rows["parameter_value"] == 0.03].assign(variant="")
    assert f"a share of .03 gives {listed(*of('slova', rows))}" in TEXT
    assert f"({rows['seed'].nunique()} networks)" in TEXT


def test_confidence_in_noise_goes_with_the_clean_error_of_calibration():
    ood = where(RESULTS.rows("ood", "cifar10"), method="slova_raw", test="uniform", metric="mmc")
    ece = where(shift(), method="slova", variant="", metric="ece", shift="")
    mmc, ece = (rows.set_index("seed")["value"].sort_index() for rows in (ood, ece))
    assert f"has, on the five networks, mean confidences of {listed(*mmc)} in uniform noise" in TEXT
    correlation = short(spearmanr(mmc, ece)[0])[:3]
    assert f"ECE on clean images is {listed(*ece)} (rank correlation {correlation}, five networks)" in TEXT


def test_the_recipe_of_the_authors():
    rows = shift("authors")
    assert f"the quartiles of softmax's ECE are {listed(*of('softmax', rows))}" in TEXT
    theirs, ours = (listed(*of("temperature", one)) for one in (rows, shift()))
    assert f"Those of temperature scaling are {theirs} (one recipe for all: {ours};" in TEXT
    near = {name: sum(abs(ratio - 1) <= 0.1 for ratio in own) for name, own in against_the_paper(rows).items()}
    assert "only {softmax} of 9 quartiles of softmax and {temperature} of 9 of temp".format(**near) in TEXT
    assert f"SLOVA's ECE hardly changes ({listed(*of('slova', rows))})" in TEXT
    softmax, ova = (100 * clean(name, "accuracy", rows) for name in ("softmax", "ova"))
    assert f"only {softmax:.0f} % (softmax) and {ova:.0f} % (one-vs-all)" in TEXT
    medians = [of(name, rows, "brier")[1] for name in ("softmax", "slova")]
    assert "Brier score of {} (softmax) and {} (SLOVA), larger".format(*map(short, medians)) in TEXT
    for method, median in zip(("softmax", "slova"), medians, strict=True):
        assert median > where(RESULTS.paper, method=method, metric="brier_q50")["value"].item()


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
    theirs = where(RESULTS.paper, experiment="ood", method="softmax", metric="mmc").set_index(["train", "test"])[
        "value"
    ]
    for on, other in [pair for pair in PAIRS if pair != ("svhn", "cifar100")]:
        ours, fair = (ood(on, "softmax", "mmc", other, preset) for preset in ("paper", None))
        paper = theirs[f"{on}-train", f"{other}-test"]
        assert f"{short(ours)} (paper {short(paper)}, one recipe for all {short(fair)})" in TEXT
    near = [
        abs(ood(*pair[:1], "softmax", "mmc", pair[1], "paper") - theirs[f"{pair[0]}-train", f"{pair[1]}-test"]) < 0.02
        for pair in PAIRS
    ]
    assert sum(near) == 4
    errors = [
        where(RESULTS.rows("ood", on, preset="paper"), method="ova", test=f"{on}-test", metric="error")["value"].mean()
        for on in ("cifar10", "cifar100", "svhn")
    ]
    assert "errors of {:.1f}, {:.1f} and {:.1f} %".format(*(100 * error for error in errors)) in TEXT


def ood(on: str, method: str, metric: str, test: str, preset: str | None = None) -> float:
    rows = where(RESULTS.rows("ood", on, preset=preset), method=method, metric=metric, test=f"{test}-test")
    return rows["value"].mean()


def test_the_six_pairs_of_table_1():
    gaps = {}
    for method, preset in product(("softmax", "react", "ceda"), (None, "paper")):
        theirs = where(RESULTS.paper, experiment="ood", method=method, metric="mmc").set_index(["train", "test"])[
            "value"
        ]
        pairs = [(theirs[f"{on}-train", f"{test}-test"], ood(on, method, "mmc", test, preset)) for on, test in PAIRS]
        gaps[method, preset] = [abs(one - other) for one, other in pairs]
    falls = "difference from the paper falls from {} to {} for softmax and from {} to {} for ReAct"
    means = [np.mean(gaps[method, preset]) for method in ("softmax", "react") for preset in (None, "paper")]
    assert falls.format(*map(short, means)) in TEXT
    assert f"**CEDA** differs by at most {short(max(gaps['ceda', None]))} on the six pairs" in TEXT


def test_slova_in_table_1():
    fair, published = ([short(ood(on, "slova_raw", "mmc", t, p)) for on, t in PAIRS] for p in (None, "paper"))
    words = "has {}, {} (CIFAR-10), {}, {} (CIFAR-100) and {}, {} (SVHN) on the six pairs".format(*fair)
    assert f"{words}, as published {', '.join(published[:-1])} and {published[-1]};" in TEXT
    theirs = where(RESULTS.paper, experiment="ood", method="slova", metric="mmc").set_index(["train", "test"])["value"]
    numbers = [short(theirs[f"{on}-train", f"{test}-test"]) for on, test in PAIRS]
    assert f"the paper has {', '.join(numbers[:-1])} and {numbers[-1]}." in TEXT
    react = [short(ood("cifar100", "react", "mmc", test, p)) for p in ("paper", None) for test in ("cifar10", "svhn")]
    assert "({} and {}; paper .448 and .426, one recipe for all {} and {})".format(*react) in TEXT
    errors = [100 * ood("cifar100", "react", "error", "cifar100", preset) for preset in (None, "paper")]
    assert "error on CIFAR-100 is {:.1f} %, as published {:.1f} %, in the paper 37.6 %".format(*errors) in TEXT


def test_pictures_of_imagenet():
    ons = ("cifar10", "cifar100", "svhn")
    softmax = [short(ood(on, "softmax", "mmc", "imagenet224", "paper")) for on in ons]
    assert "softmax has {}, {} and {} on them".format(*softmax) in TEXT
    large, small = ([short(ood(on, "slova_raw", "mmc", f"imagenet{side}")) for on in ons] for side in (224, 32))
    assert "has {}, {} and {}, at 32×32 pixels {}, {} and {}".format(*large, *small) in TEXT
    ceda, react = (", ".join(short(ood(on, name, "mmc", "imagenet224")) for on in ons) for name in ("ceda", "react"))
    full = ood("cifar10", "acet", "mmc", "imagenet224")
    acet = [short(ood(on, "acet_short", "mmc", "imagenet224")) for on in ons[1:]]
    theirs = where(RESULTS.paper, experiment="ood", metric="mmc", test="imagenet224-test").set_index(
        ["method", "train"]
    )
    paper = [", ".join(short(theirs["value"][name, f"{on}-train"]) for on in ons) for name in ("ceda", "acet", "react")]
    words = f"CEDA ({ceda}), ACET ({short(full)}, with the short attack {acet[0]} and {acet[1]}) and ReAct ({react})"
    assert f"{words} differ from the paper there ({'; '.join(paper)})" in TEXT


def test_acet():
    rows = RESULTS.rows("ood", "cifar10", preset=None)
    real = rows[rows["test"].str.endswith("-test") & (rows["test"] != "cifar10-test") & (rows["seed"] == 0)]
    mmc, auroc = (
        [where(real, method=name, metric=metric)["value"].mean() for name in ("acet", "acet_short")]
        for metric in ("mmc", "auroc")
    )
    assert f"its mean MMC on real OOD sets {short(mmc[0])} instead of {short(mmc[1])}" in TEXT
    assert f"its mean AUROC {short(auroc[0])} instead of {short(auroc[1])}" in TEXT
    long, short_attack = (
        100 * where(rows, method=name, metric="error", seed=0)["value"].item() for name in ("acet", "acet_short")
    )
    assert f"({long + 1e-9:.1f} %, with the short attack {short_attack:.1f} %)" in TEXT
    errors = [100 * ood(on, "acet_short", "error", on) for on in ("cifar10", "cifar100", "svhn")]
    assert "errors of {:.1f}, {:.1f} and {:.1f} % on CIFAR-10, CIFAR-100 and SVHN".format(*errors) in TEXT


def test_far_from_the_data():
    def far(experiment: str, method: str) -> list[float]:
        rows = where(RESULTS.rows(experiment, "cifar10"), method=method, metric="mmc")
        return rows[rows["level"] == rows["level"].max()].sort_values("seed")["value"].tolist()

    def numbers(*values: float) -> str:
        *first, last = (f"{value:.3f}".removeprefix("0") for value in values)
        return f"{', '.join(first)} and {last}"

    ova, slova = far("directions", "ova"), far("directions", "slova_raw")
    assert f"confidences of {numbers(*ova)} on the five networks, uncalibrated SLOVA {numbers(*slova)}:" in TEXT
    assert (sum(value > 0.9 for value in ova), sum(value < 0.05 for value in slova)) == (2, 3)
    assert [one > 0.9 and other < 0.05 for one, other in zip(ova, slova, strict=True)] == [False] * 4 + [True]
    assert f"Softmax has at least {short(min(far('directions', 'softmax')))} on each" in TEXT
    planes = (numbers(*far("plane", method)) for method in ("ova", "slova_raw"))
    assert "the same confidence ({}, SLOVA {})".format(*planes) in TEXT


def test_ranks_of_the_papers_own_table():
    own = ood_comparison(RESULTS.paper, RESULTS.paper).pooled
    first, second = (own.mean_ranks[name] for name in ("slova", "acet"))
    words = f"SLOVA {first:.3f} and ACET {second:.3f}, the Bonferroni-Dunn distance is {own.distance:.3f}"
    assert f"{words}: not significantly different" in TEXT
    assert "acet" in own.alike
