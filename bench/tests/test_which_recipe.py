"""The numbers of `docs/which-recipe.md` are those of the rows: each sentence is made from them and must be there."""

from pathlib import Path

import pytest
from slova_bench.frame import Frame, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.recipe_groups import ood_groups, paper_shifts, real

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
        places = {"clean": where(own, shift=""), "shifted": where(own, shift=paper_shifts(own))}
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
