"""The numbers of `docs/which-recipe.md` are those of the rows: each sentence is made from them and must be there."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel
from slova_bench.frame import Frame, quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.recipe_groups import ood_groups, real

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "which-recipe.md").read_text(encoding="utf-8")
OURS, SOFTMAX, SAME, FIT = "slova_image_mixed", "softmax_mixed", "softmax_mixed_degraded", "softmax_mixed_fit"


@pytest.fixture(scope="module")
def rows() -> Frame:
    return ResultsFolder.read(ROOT / "bench" / "results").rows("recipes", "cifar10")


@pytest.fixture(scope="module")
def number(rows):
    """The mean of a metric over the sets of a place and the seeds, as it is written."""

    def text(method: str, place: str, metric: str, *, preset: str = "", seed: int | None = None) -> str:
        found = where(rows, method=method, preset=preset, **({} if seed is None else {"seed": seed}))
        own = where(found, test="cifar10-test")
        places = {"clean": where(own, shift=""), "shifted": where(own, shift=shift_groups(own)[0])}
        places["held-out"] = where(own, shift={*own["shift"]} - {"", *shift_groups(own)[0]})
        places |= {name.removesuffix(" OOD"): part for name, part in ood_groups(found, "cifar10").items()}
        places |= {"SVHN": where(found, test="svhn-test"), "OOD": real(found, "cifar10")}
        values = where(places[place], metric=metric)["value"]
        assert len(values), (method, place, metric)
        mean = values.mean()
        if metric == "accuracy":
            return f"{100 * mean:.1f} %"
        digits = 2 if place == "OOD" else 3
        return f"{mean:.{digits}f}".removeprefix("0")

    return text


def missing(*sentences: str) -> list[str]:
    return [sentence for sentence in sentences if sentence not in PAGE]


def test_the_row_on_softmax(number):
    accuracy = [number(method, "shifted", "accuracy") for method in (SOFTMAX, OURS)]
    near, far = ([number(method, place, "auroc") for method in (FIT, OURS)] for place in ("near", "far"))
    ece = [number(method, "shifted", "ece") for method in (FIT, OURS)]
    assert not missing(f"{accuracy[0]} under shift against {accuracy[1]} of the recipe")
    assert not missing(f"near OOD AUROC {near[0]} against {near[1]}, far {far[0]} against {far[1]}")
    assert not missing(f"(ECE {ece[0]} against {ece[1]})")
    clean = [number(SOFTMAX, place, "auroc") for place in ("near", "far")]
    assert not missing(
        f"the ECE under shift is {number(SOFTMAX, 'shifted', 'ece')}, and the AUROC {clean[0]} and {clean[1]}"
    )


def test_what_the_recipe_is_worth(number):
    near, far, noise = (
        [number(method, place, "auroc") for method in (OURS, SOFTMAX)] for place in ("near", "far", "noise")
    )
    assert not missing(
        f"an AUROC of {near[0]} against {near[1]} on near OOD images, {far[0]} against {far[1]} on far ones, "
        f"{noise[0]} against {noise[1]} on noise"
    )
    confidence = [number(method, "OOD", "confidence") for method in (OURS, SOFTMAX)]
    assert not missing(f"a mean confidence of {confidence[0]} against {confidence[1]} on real OOD images")


def test_softmax_with_the_same_outliers(number):
    names = ("softmax_mixed_none_class", "softmax_mixed_exposed", OURS)
    (none, exposed, ours) = ([number(name, place, "auroc", seed=0) for place in ("near", "far")] for name in names)
    assert not missing(
        f"NONE as a class of its own has an AUROC of {none[0]} on near OOD images and {none[1]} on far ones, outlier "
        f"exposure has {exposed[0]} and {exposed[1]}, and the recipe {ours[0]} and {ours[1]} with the same seed"
    )
    ece = [number(name, "shifted", "ece", seed=0) for name in names]
    assert not missing(f"(ECE under shift {ece[0]} against {ece[2]}), outlier exposure is not ({ece[1]})")
    near = [number(name, "near", "auroc") for name in ("softmax_none_class", "softmax_exposed", "slova_image")]
    assert not missing(f"{', '.join(near)} on near OOD images")


def test_a_larger_network(number):
    def larger(method, place, metric):
        return number(method, place, metric, preset="resnet18")

    ours, theirs = ([larger(name, place, "accuracy") for place in ("clean", "shifted")] for name in (OURS, SOFTMAX))
    assert not missing(f"the recipe has {ours[0]} on clean images and {ours[1]} on shifted ones")
    assert not missing(f"softmax with the same images {theirs[0]} and {theirs[1]}")
    near, far = ([larger(name, place, "auroc") for name in (SAME, OURS)] for place in ("near", "far"))
    assert not missing(f"{near[0]} against {near[1]} on near OOD images, {far[0]} against {far[1]} on far ones")
    ece = [larger(name, "shifted", "ece") for name in (OURS, SAME, SOFTMAX)]
    assert not missing(f"the ECE there is {ece[0]} for the recipe and {ece[1]} for softmax")
    assert not missing(f"A temperature on clean images has {ece[2]}.")
    clean, svhn = larger(OURS, "clean", "ece"), larger(OURS, "SVHN", "auroc")
    assert not missing(
        f"the accuracy ({ours[0]}), the ECE of clean images ({clean}), near OOD images ({near[1]}) and SVHN ({svhn})"
    )


@pytest.mark.parametrize("place", ["clean", "shifted"])
def test_the_confidence_with_and_without_none(number, place):
    columns = [number(OURS, place, name) for name in ("accuracy", "mmc", "ece", "confidence", "outcomes_ece")]
    assert not missing(f"| {' | '.join([place, *columns])} |")


def test_several_passes(number):
    """One pass, flips and five networks."""
    names = {OURS: None, f"{OURS}_flip": 0, f"{OURS}_ensemble": 0}

    def of(place: str, metric: str) -> list[str]:
        return [number(name, place, metric, seed=seed).removesuffix(" %") for name, seed in names.items()]

    clean, shifted, near = of("clean", "accuracy"), of("shifted", "accuracy"), of("near", "auroc")
    assert not missing(
        f"ResNet-20 has {clean[0]} % with one pass (five seeds), {clean[1]} % with flips (two passes, one seed), "
        f"{clean[2]} % with five networks (five passes, one set of them), and {', '.join(shifted)} % under shift; near "
        f"OOD AUROC {', '.join(near)}"
    )


@pytest.fixture(scope="module")
def quarters(rows):
    """Metric -> quartile -> seed -> value of a method, over the clean set and the sixteen shifts."""

    def found(method: str, preset: str = "") -> dict[str, list[dict[int, float]]]:
        own = where(rows, method=method, preset=preset, test="cifar10-test")
        columns = {metric: quartiles(own, metric, shift_groups(own)[0]).values() for metric in ("ece", "nll", "brier")}
        return {metric: [one for column in found for one in column.values()] for metric, found in columns.items()}

    return found


def ratios(ours, theirs) -> dict[str, list[float]]:
    """Metric -> per quartile the mean of the first over that of the second."""
    means = [
        {metric: [np.mean([*one.values()]) for one in found[metric]] for metric in found} for found in (ours, theirs)
    ]
    return {metric: [a / b for a, b in zip(*(found[metric] for found in means), strict=True)] for metric in ours}


def test_quartiles_against_softmax_with_the_same_calibration_images(quarters):
    ours, theirs = quarters(OURS), quarters(SAME)
    found = ratios(ours, theirs)
    assert max(found["ece"]) < 0.5
    assert all(max(found[metric][:2]) < 1 for metric in ("nll", "brier"))
    upper = [100 * (found[metric][2] - 1) for metric in ("nll", "brier")]
    assert not missing(f"in the upper quartile they are {upper[0]:.1f} % and {upper[1]:.1f} % higher")
    for metric in ("nll", "brier"):
        pairs = [(ours[metric][2][seed], theirs[metric][2][seed]) for seed in ours[metric][2]]
        assert len(pairs) == 5
        assert ttest_rel(*zip(*pairs, strict=True)).pvalue > 0.05
    before = ratios(quarters("slova_image"), quarters("softmax_augmented_degraded"))["nll"]
    assert not missing(
        f"The quartiles of its NLL were up to {100 * (max(before) - 1):.0f} % above those of softmax",
        f"with mixed images the largest excess is {100 * (max(found['nll']) - 1):.1f} %",
    )


def test_quartiles_of_ensembles_and_of_a_larger_network(quarters):
    five = ratios(quarters(f"{OURS}_ensemble"), quarters("softmax_mixed_ensemble_degraded"))
    larger = ratios(quarters(OURS, "resnet18"), quarters(SAME, "resnet18"))
    assert all(max(found[metric]) < 1 for found in (five, larger) for metric in found)
    assert not missing(
        "Five networks of the recipe are ahead of five softmax networks on the same images in all nine.",
        "softmax is behind in all nine quartiles of ECE, NLL and Brier score",
    )
    one = ratios(quarters(OURS), quarters("softmax_mixed_ensemble_degraded"))
    assert max(one["ece"]) < 1 < min(one["nll"])


def test_five_softmax_networks(number):
    five = "softmax_mixed_ensemble_degraded"
    for place in ("clean", "shifted"):
        assert number(five, place, "accuracy") > number(OURS, place, "accuracy")
    for place in ("near", "far"):
        assert number(five, place, "auroc") < number(OURS, place, "auroc")
    assert number("softmax_mixed_ensemble", "shifted", "ece") < number(OURS, "shifted", "ece")
    assert not missing("With a temperature on clean images alone their ECE is the lower one.")


def test_calibration_under_shift(number):
    ece, nll = ([number(method, "shifted", metric) for method in (OURS, SOFTMAX)] for metric in ("ece", "nll"))
    assert not missing(f"(ECE under shift {ece[0]} against {ece[1]}, NLL {nll[0]} against {nll[1]})")
    without = number(f"{OURS}_no_distances", "shifted", "ece")
    assert not missing(f"has an ECE of {ece[0]} under shift, or {without} without distances")


def test_without_mixed_images(number):
    before = [number("slova_image", "shifted", metric) for metric in ("accuracy", "nll", "ece")]
    now = [number(OURS, "shifted", metric) for metric in ("nll", "ece")]
    near, far = (number("slova_image", place, "auroc") for place in ("near", "far"))
    assert not missing(
        f"{before[0]} on shifted ones, an NLL of {before[1]} there against {now[0]}, an ECE of {before[2]} against "
        f"{now[1]}, and an AUROC of {near} and {far} (five seeds)"
    )


def test_augmix_and_pixmix(number):
    def of(metric: str, place: str, *methods: str) -> list[str]:
        return [number(method, place, metric, seed=0) for method in methods]

    three = ("augmix", "pixmix", OURS)
    accuracy, nll = of("accuracy", "shifted", *three), of("nll", "shifted", *three)
    held_out = of("nll", "held-out", "augmix", OURS)
    near, far = (of("auroc", place, *three, "temperature") for place in ("near", "far"))
    assert not missing(
        f"has {accuracy[0]} on shifted images, with PixMix (its pictures drawn by formula) {accuracy[1]}, against "
        f"{accuracy[2]} of the recipe with the same seed, and a mean NLL of {nll[0]} and {nll[1]} against {nll[2]}",
        f"(NLL {held_out[0]} against {held_out[1]})",
        f"AUROC {near[0]} and {near[1]} on near OOD images, {far[0]} and {far[1]} on far ones, where the recipe has "
        f"{near[2]} and {far[2]} and plain softmax {near[3]} and {far[3]}",
    )


def test_rotations(number):
    near, far = (number("rotpred", place, "auroc") for place in ("near", "far"))
    assert near == number(OURS, "near", "auroc", seed=0)
    shifted = number("rotpred", "shifted", "accuracy")
    assert not missing(f"({near}) with four passes, less on far ones ({far}), and {shifted} on shifted")
    before, after = (number(name, "clean", "accuracy", seed=0) for name in ("slova_image", "slova_image_turns"))
    assert not missing(f'`views="turns"` lowers {before} to {after} (without mixed images)')


def test_cifar100():
    rows = ResultsFolder.read(ROOT / "bench" / "results").rows("recipes", "cifar100")

    def of(method: str) -> list[float]:
        own = where(rows, method=method)
        known = where(own, test="cifar100-test", metric="accuracy")
        parts = [where(known, shift=""), where(known, shift=shift_groups(known)[0])]
        parts += [where(part, metric="auroc") for part in list(ood_groups(own, "cifar100").values())[:2]]
        return [part["value"].mean() for part in parts]

    ours, theirs = of("slova_image"), of("softmax_augmented_degraded")
    assert all(a > b for a, b in zip(ours, theirs, strict=True))
    assert not missing("(ResNet-18, one seed): it has the higher accuracy, clean and shifted, and detects near and far")


def test_a_pretrained_network():
    found = pd.read_csv(ROOT / "benchmarks" / "results" / "pretrained.csv").groupby(["calibration", "test"])
    means = found.mean(numeric_only=True)
    nll = means["nll"].unstack(0)
    ratio = nll["posterior"] / nll["temperature"]
    assert not missing(
        f"the clean NLL is {100 * (ratio['ImageNet'] - 1):.0f} % higher**",
        f"the NLL of degraded images is {100 * (1 - ratio['ImageNet, degraded']):.0f} % lower",
    )
    ours = means.loc["posterior"]
    detected = [f"{100 * ours['detected'][name]:.0f} %" for name in ("svhn", "cifar10")]
    none = [f"{ours['none'][name]:.2f}".removeprefix("0") for name in ("svhn", "cifar10", "ImageNet")]
    assert min(ours["detected"][name] for name in ("noise224", "noise32")) > 0.999
    assert not missing(
        f"{detected[0]} of SVHN, {detected[1]} of CIFAR-10 and all noise are",
        f"its mean is {none[0]} on SVHN and {none[1]} on CIFAR-10 ({none[2]} on ImageNet)",
    )


def test_a_fine_tuned_network():
    found = pd.read_csv(ROOT / "benchmarks" / "results" / "fine_tune.csv")
    network = {"recipe": "image recipe", "softmax": "softmax, degradations"}
    own = found[found["calibration"] == "posterior"].set_index("network")
    svhn = own[own["test"] == "svhn-test"]["confidence"]
    ours, theirs = (f"{svhn[network[name]]:.2f}".removeprefix("0") for name in ("recipe", "softmax"))
    assert not missing(f"its mean confidence is {ours} against {theirs}")
    other = found[(found["level"] > 0) & (found["network"] == network["softmax"])]
    means = other.groupby(["held_out", "calibration"])["accuracy"].mean().unstack()
    lost = 100 * (means["temperature"] - means["posterior"]).max()
    assert not missing(f"here it cost softmax up to {lost:.1f} points")


def test_how_often_classes_are_corrected():
    found = pd.read_csv(ROOT / "benchmarks" / "results" / "order.csv")
    fits = found[(found["test"] == "clean") & (found["order"] == "auto")]
    corrected = fits["part"].isin(["classes", "pairs"]).sum()
    assert not missing(f"which it does in {corrected} of {len(fits)} fits")
