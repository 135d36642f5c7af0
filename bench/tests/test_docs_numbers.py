"""Measured numbers of the pages are those of the rows: tables are made from them, and sentences are made here.

docs/deviations.md and docs/which-recipe.md have tests of their own, as have the pages that are made as a whole.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from slova_bench.frame import quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.recipe_groups import ood_groups

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
SHIFT, OOD, RECIPES = (RESULTS.rows(name, "cifar10") for name in ("shift", "ood", "recipes"))
PAPER = shift_groups(SHIFT)[0]
HELD_OUT = set(SHIFT["shift"]) - {"", *PAPER}
PLACES = (25, 50, 75)
spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
make_tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_tables)
short = make_tables.short


def absent(page: str, *sentences: str) -> list[str]:
    """The sentences that a page has not, whatever its line breaks."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    return [sentence for sentence in sentences if sentence not in text]


def listed(*numbers: float, digits: int = 3) -> str:
    *first, last = (short(number, digits) for number in numbers)
    return f"{', '.join(first)} and {last}"


def mean(rows, **columns) -> float:
    values = where(rows, variant="", **columns)["value"]
    assert len(values), columns
    return values.mean()


def recipe(method: str, place: str, metric: str, **columns) -> float:
    rows = where(RECIPES, method=method, preset="", metric=metric, **columns)
    own = where(rows, test="cifar10-test")
    places = {"clean": where(own, shift=""), "shifted": where(own, shift=shift_groups(own)[0])}
    places |= {name.removesuffix(" OOD"): part for name, part in ood_groups(rows, "cifar10").items()}
    assert len(places[place]), (method, place, metric)
    return places[place]["value"].mean()


def quarters(method: str, metric: str, *, held_out: bool = False) -> dict[int, dict[int, float]]:
    """Quartile -> seed -> value, over the clean set and the shifts of the paper, or over the held-out shifts."""
    rows, shifts = (where(SHIFT, shift=HELD_OUT), HELD_OUT) if held_out else (SHIFT, PAPER)
    return {place: column[method, ""] for place, column in quartiles(rows, metric, shifts).items()}


def duel(ours: str, theirs: str, **options) -> dict[tuple[str, int], tuple[float, int]]:
    """(metric, quartile) -> how much lower the mean of the first method is, and for how many seeds it is lower."""
    found = {}
    for metric in ("ece", "nll", "brier"):
        pairs = zip(
            quarters(ours, metric, **options).items(), quarters(theirs, metric, **options).values(), strict=True
        )
        for (place, mine), other in pairs:
            gaps = np.array([other[seed] - mine[seed] for seed in mine])
            found[metric, place] = (gaps.mean(), int((gaps > 0).sum()))
    return found


def wins(found: dict) -> set[tuple[str, int]]:
    return {key for key, (gap, _) in found.items() if gap > 0}


@pytest.mark.parametrize("path", make_tables.pages(), ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_tables_are_made_from_rows(path):
    assert path.read_text(encoding="utf-8") == make_tables.page(path), f"{path} is stale: python docs/make_tables.py"


def test_every_table_is_on_a_page():
    text = "".join(path.read_text(encoding="utf-8") for path in make_tables.pages())
    assert [name for name in make_tables.TABLES if f"<!-- table {name}, made by" not in text] == []


def test_augmix_on_corrupted_images():
    ours, theirs = (recipe(name, "shifted", "accuracy", seed=0) for name in ("slova_image_mixed", "augmix"))
    assert 0.007 < theirs - ours < 0.013
    assert not absent("README.md", "is about a point more accurate on corrupted images than the recipe below")


def test_several_networks():
    one, five = "slova_image_mixed", "slova_image_mixed_ensemble"
    accuracy = {m: [f"{100 * recipe(m, place, 'accuracy'):.1f}" for place in ("clean", "shifted")] for m in (one, five)}
    near = {method: short(recipe(method, "near", "auroc")) for method in (one, five)}
    assert not absent(
        "docs/calibration-under-shift.md",
        f"have {accuracy[five][0]} % on clean and {accuracy[five][1]} % on shifted images, where one has "
        f"{accuracy[one][0]} and {accuracy[one][1]} %, and an AUROC of {near[five]} on near OOD images, where one has "
        f"{near[one]}",
    )


def test_training_on_images():
    mixed, plain = "slova_image_mixed", "slova_image"
    accuracy, nll = (
        [recipe(m, "shifted", metric) for m in (plain, mixed, "slova_image_ova")] for metric in ("accuracy", "nll")
    )
    assert not absent(
        "docs/training-images.md",
        f"raised the accuracy of ResNet-20 from {100 * accuracy[0]:.1f} % to {100 * accuracy[1]:.1f} % and lowered the "
        f"NLL from {short(nll[0])} to {short(nll[1])}",
    )
    first, second = "slova_image_ova", plain
    nll = [short(recipe(method, "shifted", "nll", seed=0)) for method in (first, second)]
    far = [short(recipe(method, "far", "auroc", seed=0)) for method in (first, second)]
    assert not absent(
        "docs/training-images.md",
        f"lowered the NLL of shifted test images from {nll[0]} to {nll[1]}",
        f"(AUROC {far[1]} instead of {far[0]})",
    )


def test_how_many_rows_a_guarantee_needs():
    assert 0.99**299 < 0.05 < 0.99**298
    assert not absent("docs/choosing-a-calibrator.md", "a risk of 1 % needs about 300 answered rows without any error")


NONE = "docs/measurements/none.md"


def test_none_in_training():
    accuracy = [mean(SHIFT, method=m, metric="accuracy", shift="") for m in ("slova_none", "slova_raw")]
    ece = mean(SHIFT, method="slova_none", metric="ece", shift="")
    assert not absent(
        NONE,
        f"{100 * accuracy[0]:.2f} % accuracy (one-vs-all without outliers {100 * accuracy[1]:.2f} %) and a clean ECE "
        f"of {short(ece)}",
    )
    error = {
        (on, m): mean(RESULTS.rows("ood", on), method=m, test=f"{on}-test", metric="error")
        for on in ("cifar100", "svhn")
        for m in ("slova_none_raw", "slova_raw")
    }
    with_none, without = ([short(error[on, m]) for on in ("cifar100", "svhn")] for m in ("slova_none_raw", "slova_raw"))
    seeds = [RESULTS.rows("ood", on)["seed"].nunique() for on in ("cifar100", "svhn")]
    assert seeds == [3, 3]
    assert not absent(NONE, f"(three seeds; error {' and '.join(with_none)}, without outliers {' and '.join(without)};")


def test_none_in_training_by_seed():
    spans = {
        (m, test): where(OOD, method=m, test=test, metric="mmc")["value"].agg(["min", "max"]).tolist()
        for m in ("slova_none_raw", "slova_raw")
        for test in ("svhn-test", "uniform")
    }
    (low, high), plain = spans["slova_none_raw", "svhn-test"], spans["slova_raw", "svhn-test"]
    noise, plain_noise = spans["slova_none_raw", "uniform"], spans["slova_raw", "uniform"]
    assert not absent(
        NONE,
        f"the MMC on SVHN is between {short(low, 2)} and {short(high, 2)} (between {short(plain[0], 2)} and "
        f"{short(plain[1], 2)} without outliers), and that of uniform noise is at most {short(noise[1], 2)} (between "
        f"{short(plain_noise[0], 2)} and {short(plain_noise[1], 2)})",
    )


def test_none_in_training_under_shift():
    ours, theirs = (
        {metric: [np.mean([*part.values()]) for part in quarters(method, metric).values()] for metric in METRICS}
        for method in ("slova_none", "temperature")
    )
    ece = [" ".join(map(short, found["ece"])) for found in (ours, theirs)]
    upper = [f"{short(ours[metric][2])} against {short(theirs[metric][2])}" for metric in ("nll", "brier")]
    others = [
        f"{short(ours[m][0])} and {short(ours[m][1])} against {short(theirs[m][0])} and {short(theirs[m][1])}"
        for m in ("nll", "brier")
    ]
    assert not absent(
        NONE,
        f"the quartiles of the ECE are {ece[0]}, those of temperature scaling {ece[1]}",
        f"({', '.join(upper)})",
        f"({', '.join(others)})",
    )


METRICS = ("ece", "nll", "brier")
MIXES = json.loads((ROOT / "bench" / "results" / "outliers.json").read_text(encoding="utf-8"))


def test_the_mix_of_outliers():
    lines = {line["mix"]: line for line in MIXES["lines"]}
    lost = {mix: 100 * (lines["plain"]["accuracy"] - line["accuracy"]) for mix, line in lines.items() if mix != "plain"}
    noisy = [loss for mix, loss in lost.items() if mix.startswith(("all", "without"))]
    others = [loss for mix, loss in lost.items() if not mix.startswith(("all", "without"))]
    assert not absent(
        NONE,
        f"Every mix with it lost {min(noisy):.1f} to {max(noisy):.1f} points of accuracy in 20 epochs, those without "
        f"it {min(others):.1f} to {max(others):.1f}.",
        f"the MMC of smooth noise is high ({short(lines['without_low_pass']['low_pass'][0], 2)})",
        f"that of superpositions ({short(lines['without_averaged']['means of two'][0], 2)})",
        f"that of digits ({short(lines['without_enlarged']['digits'][0], 2)})",
        f"({short(lines['low_pass']['permuted'][0], 2)}, {short(lines['low_pass']['uniform'][0], 2)})",
    )


def test_real_outliers():
    gains = [
        line[test][1] - mean(OOD, method="slova_raw", test=test, metric="auroc")
        for line in MIXES["exposure"]["lines"]
        for test in ("tinyimagenet-test", "imagenet32-test")
    ]
    assert all(0.02 < gain < 0.04 for gain in gains)
    assert not absent(NONE, "Near sets gain about .03 of AUROC")
    assert not absent("docs/none.md", "the AUROC of near sets gains .03")
    mmc, nll = (
        mean(SHIFT, method=m, metric=metric, shift="") for m, metric in (("slova_raw", "mmc"), ("slova_clean", "nll"))
    )
    after = sorted(short(line["nll"], 2) for line in MIXES["exposure"]["lines"])
    assert not absent(
        NONE,
        f"falls from {short(mmc, 2)} to a little over one half",
        f"the NLL after calibration is {after[0]} to {after[1]} instead of {short(nll, 2)}",
    )
    assert not absent("docs/none.md", f"falls from {short(mmc, 2)} to about one half")


DISTANCE = "docs/measurements/distance-aware.md"


def test_one_network_with_distances():
    found = duel("slova_distance", "temperature")
    assert {key for key in found if key not in wins(found)} == {("nll", 25)}
    assert wins(duel("slova_distance", "ensemble")) == {("ece", 25), ("ece", 50), ("ece", 75), ("nll", 75)}
    lower = [np.mean([*quarters(m, "nll")[25].values()]) for m in ("slova_distance", "temperature")]
    brier = [np.mean([*quarters(m, "brier")[75].values()]) for m in ("slova_distance", "ensemble")]
    assert not absent(
        DISTANCE,
        f"is better than temperature scaling in eight of nine quartiles (the lower NLL is {short(lower[0])} against "
        f"{short(lower[1])})",
        f"but not in the upper Brier score ({short(brier[0])}, {short(brier[1])})",
    )


def test_one_network_with_flips():
    found = duel("slova_mirror", "temperature")
    assert {seeds for _, seeds in found.values()} == {5}
    found = duel("slova_mirror", "ensemble")
    assert {key for key, (_, seeds) in found.items() if seeds == 5} == {("ece", place) for place in PLACES} | {
        ("nll", 75)
    }
    (nll, three), (brier, also) = found["nll", 50], found["brier", 75]
    assert (three, also) == (3, 3)
    assert not absent(
        DISTANCE,
        "is better than temperature scaling in all nine, for each of the five seeds",
        f"In the median NLL (by {short(nll)}) and in the upper Brier score (by {short(brier)}) it is better for three "
        "seeds of five",
    )


def test_five_networks_with_distances():
    found = duel("slova_distance_ensemble", "ensemble")
    assert len(wins(found)) == 9
    assert {key for key, (_, seeds) in found.items() if seeds < 5} == {("brier", 50)}
    assert found["brier", 50][1] == 4
    six = wins(duel("slova_ensemble", "ensemble"))
    assert set(found) - six == {("ece", 50), ("ece", 75), ("brier", 50)}
    assert not absent(
        DISTANCE,
        "are better than the ensemble of softmax networks in all nine, for every seed except one of the median Brier",
        "mean logits are better in six: not in the median and upper ECE and the median Brier score.",
    )


def test_noise_and_mean_logits():
    names = ("slova_ensemble", "slova_clean", "slova_distance", "slova_distance_ensemble")
    mmc = [short(mean(OOD, method=name, test="uniform", metric="mmc"), 2) for name in names]
    assert not absent(
        DISTANCE,
        f"(MMC {mmc[0]}) than one on average ({mmc[1]}); with distance-aware calibration one network has {mmc[2]} and "
        f"five have {mmc[3]}",
    )


def test_held_out_shifts():
    found = duel("slova_distance", "temperature", held_out=True)
    assert len(wins(found)) == 9
    assert {found["nll", place][1] for place in PLACES} == {2, 3}
    assert len(wins(duel("slova_mirror", "temperature", held_out=True))) == 9
    ours, theirs = (
        [short(np.mean([*part.values()])) for part in quarters(name, "ece", held_out=True).values()][:2]
        for name in ("slova_distance_ensemble", "ensemble")
    )
    assert wins(duel("slova_distance_ensemble", "ensemble", held_out=True)) >= {
        (metric, place) for metric in ("nll", "brier") for place in PLACES
    }
    assert not absent(
        DISTANCE,
        f"({', '.join(ours)}) are not better than those of the ensemble ({', '.join(theirs)})",
        "(better for two or three of five)",
    )


RETROFIT = "docs/measurements/retrofit.md"


def test_two_numbers_instead_of_a_training():
    cells = [line.split(" | ") for line in make_tables.retrofit().splitlines()[2:]]
    shares = {line[0].strip("| "): int(line[-1].split()[0]) for line in cells}
    brier = [share for name, share in shares.items() if "Brier" in name]
    assert min(share for name, share in shares.items() if name.startswith(("ECE", "NLL", "clean NLL"))) >= 100
    assert not absent(
        RETROFIT,
        f"the whole gain of training in ECE under shift and in NLL, {shares['clean ECE']} % of that in clean ECE, "
        f"{min(brier)} to {max(brier)} % of that in the Brier score and "
        f"{shares['MMC, mean of five real OOD sets']} % of that in MMC",
        "than temperature scaling of the same network in eight of the nine quartiles, for every seed",
    )
    found = duel("retrofit", "temperature")
    assert {key: seeds for key, (_, seeds) in found.items() if seeds < 5} == {("brier", 25): 0}
    assert shares["AUROC, mean of five real OOD sets"] == pytest.approx(33, abs=3)
    assert not absent("docs/retrofit.md", "and a third of its gain in AUROC on real OOD images")


def test_the_ranking_of_a_retrofit():
    three, outside = ("softmax", "retrofit", "slova_clean"), make_tables.real(OOD, "cifar10")
    first, ours, trained = (mean(outside, method=method, metric="auroc") for method in three)
    each = {
        test: ", ".join(short(mean(OOD, method=method, test=test, metric="auroc")) for method in three)
        for test in ("imagenet224-test", "svhn-test", "uniform")
    }
    accuracy = [short(mean(SHIFT, method=m, metric="accuracy", shift=""), 4) for m in ("softmax", "slova_clean")]
    assert not absent(
        RETROFIT,
        f"increases by {short(ours - first)} of {short(trained - first)}",
        f"(ImageNet at 224 × 224: {each['imagenet224-test']})",
        f"and on SVHN ({each['svhn-test']})",
        f"the one-vs-all network is *worse* than softmax and the retrofit is not ({each['uniform']})",
        f"({accuracy[0]}; the one-vs-all networks have {accuracy[1]})",
    )


def test_softmax_with_outliers_has_the_seeds_that_the_page_names():
    seeds = RECIPES[RECIPES["preset"] == ""].groupby("method")["seed"].nunique()
    assert {seeds[f"softmax_{kind}"] for kind in ("exposed", "none_class")} == {3}
    assert {seeds[f"softmax_mixed_{kind}"] for kind in ("exposed", "none_class")} == {1}
    assert not absent("docs/comparison.md", "three seeds each on CIFAR-10.", "with mixed images, one seed each.")
