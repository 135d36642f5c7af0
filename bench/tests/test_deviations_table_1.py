"""What docs/deviations.md says of the released networks, and of ReAct by its threshold, follows from their rows."""

from pathlib import Path

import pandas as pd
from slova_bench.frame import where
from slova_bench.results_folder import ResultsFolder

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
TEXT = " ".join((ROOT / "docs" / "deviations.md").read_text(encoding="utf-8").split())
RELEASED, REACT = (pd.read_csv(ROOT / "benchmarks" / "results" / name) for name in ("hein.csv", "react.csv"))
ONS, PUBLISHED = ("cifar10", "cifar100", "svhn"), ("softmax", "ceda", "acet")
PAIRS = [
    *(("cifar10", "cifar100"), ("cifar10", "svhn"), ("cifar100", "cifar10")),
    *(("cifar100", "svhn"), ("svhn", "cifar10"), ("svhn", "cifar100")),
]


def listed(*numbers: float) -> str:
    *first, last = (f"{number:.3f}".removeprefix("0") for number in numbers)
    return f"{', '.join(first)} and {last}"


def released(on: str, method: str, test: str, column: str = "mmc") -> float:
    return where(RELEASED, on=on, method=method, test=f"{test}-test")[column].item()


def paper(on: str, method: str, test: str, metric: str = "mmc") -> float:
    found = where(RESULTS.paper, experiment="ood", method=method, metric=metric, train=f"{on}-train")
    return where(found, test=f"{test}-test")["value"].item()


def ours(on: str, method: str, test: str) -> float:
    return where(RESULTS.rows("ood", on), method=method, metric="mmc", test=f"{test}-test")["value"].mean()


def gap(on: str, method: str, test: str) -> float:
    return abs(released(on, method, test) - paper(on, method, test))


def test_the_released_networks_have_the_numbers_of_the_paper():
    gaps = [gap(on, method, test) for on, test in PAIRS for method in PUBLISHED]
    assert "have these numbers here: the confidence to .001 in all eighteen cells" in TEXT
    assert (len(gaps), max(gaps) < 0.001) == (18, True)
    errors = [abs(released(on, m, on, "error") - paper(on, m, on, "error")) for on in ONS for m in PUBLISHED]
    assert "the errors to .02 points" in TEXT
    assert max(errors) < 0.0002 + 5e-5, "the paper prints two decimals of a percentage"


def test_the_confidence_of_acet_is_lower_here():
    here, theirs = ([found(on, name, t) for on, t in PAIRS] for found, name in ((ours, "acet_short"), (paper, "acet")))
    assert f"({listed(*here)}; the paper and Hein et al.'s networks {listed(*theirs)})" in TEXT
    assert all(one < other for one, other in zip(here, theirs, strict=True))


def test_pictures_of_imagenet_are_others():
    for words, test in (("have a confidence of", "imagenet224"), ("and at 32×32 pixels of", "imagenet32")):
        assert f"{words} {listed(*(released(on, 'softmax', test) for on in ONS))}" in TEXT
    gaps = [gap(on, method, "imagenet224") for on in ONS for method in PUBLISHED]
    low, high = (f"{value:.2f}".removeprefix("0") for value in (min(gaps), max(gaps)))
    assert f"the cells of CEDA and ACET differ as much (by {low} to {high})" in TEXT
    raw = [where(RESULTS.rows("ood", on, preset="paper"), method="slova_raw", metric="mmc") for on in ONS]
    recipe = [where(rows, test="imagenet224-test")["value"].mean() for rows in raw]
    theirs = listed(*(paper(on, "slova", "imagenet224") for on in ONS))
    assert f"with the published recipe {listed(*recipe)} (paper {theirs})" in TEXT


def test_the_threshold_of_react():
    own = REACT[REACT["on"] == "cifar100"].set_index(["images", "percentile"])["error"] * 100
    words = f"it is {own['training', 90]:.1f} % with them and {own['test', 90]:.1f} % with test images"
    assert f"{words}; at the percentile of 92.5 in place of 90 it is {own['training', 92.5]:.1f} %" in TEXT
    errors, theirs = ([100 * found(on, "react", on, "error") for on in ONS] for found in (released, paper))
    three = "{:.1f}, {:.1f} and {:.1f} %"
    words = f"has errors of {three} on CIFAR-10, CIFAR-100 and SVHN, in the paper {three}"
    assert words.format(*errors, *(value + 1e-9 for value in theirs)) in TEXT
    furthest = f"{max(gap(on, 'react', test) for on, test in PAIRS):.2f}".removeprefix("0")
    assert f"it differs from the paper's confidence by up to {furthest}:" in TEXT


def test_the_lowest_confidence_beside_the_released_networks():
    pairs = [*PAIRS, *((on, "imagenet224") for on in ONS)]
    lowest, theirs = set(), set()
    for on, test in pairs:
        rivals = [*PUBLISHED, "react"]
        if ours(on, "slova_raw", test) < min(released(on, name, test) for name in rivals):
            lowest.add((on, test))
        if paper(on, "slova", test) < min(paper(on, name, test) for name in rivals):
            theirs.add((on, test))
    assert "has the lowest confidence on four of nine pairs, in the paper on seven of the nine" in TEXT
    assert (len(lowest), len(theirs)) == (4, 7)
    assert "not the lowest on SVHN images, nor on any pair of a network of SVHN" in TEXT
    assert {*pairs} - lowest == {pair for pair in pairs if "svhn" in pair}
