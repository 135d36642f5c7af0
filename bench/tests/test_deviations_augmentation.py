"""What docs/deviations.md says of the augmentation of SLOVA's code follows from the rows of the preset `interpolated`.

The numbers of the authors' own network are those of their repository, slova/metrics_summary at commit 4414065.
"""

from pathlib import Path

import numpy as np
from slova_bench.frame import quartiles, shift_groups, where
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results_folder import ResultsFolder

ROOT = Path(__file__).parents[2]
RESULTS = ResultsFolder.read(ROOT / "bench" / "results")
TEXT = " ".join((ROOT / "docs" / "deviations.md").read_text(encoding="utf-8").split())
CROPS, SHIFTS = (RESULTS.rows("shift", "cifar10", preset=preset) for preset in ("", "interpolated"))
SAME = CROPS[CROPS["seed"].isin(SHIFTS["seed"])]
METRICS, BLURS = ("ece", "nll", "brier"), ("gaussian_blur", "defocus_blur", "zoom_blur")
PAPER = (0.021, 0.027, 0.103)  # the quartiles of the ECE of SLOVA
AUTHORS = {"clean": 0.883, "blurs": (0.726, 0.776, 0.773), "others": (0.819, 0.752)}  # accuracy, severity 5
Three = tuple[float, float, float]


def listed(*numbers: float) -> str:
    *first, last = (f"{number:.3f}".removeprefix("0") for number in numbers)
    return f"{', '.join(first)} and {last}"


def accuracy(rows, method: str, shift: str = "") -> float:
    found = where(rows, method=method, variant="", metric="accuracy", shift=shift, level=5 if shift else 0)
    return found["value"].mean()


def of(method: str, rows, metric: str) -> Three:
    """The quartiles over the shifts of the paper, means over seeds."""
    found = quartiles(where(rows, method=method, variant=""), metric, shift_groups(rows)[0])
    return tuple(np.mean([*column[method, ""].values()]) for column in found.values())


def paper(method: str, metric: str) -> Three:
    rows = where(RESULTS.paper, experiment="shift", method=method).set_index("metric")["value"]
    return tuple(rows[f"{metric}_q{share}"] for share in (25, 50, 75))


def near(method: str, rows) -> int:
    """The number of quartiles within a tenth of the paper's."""
    ratios = [np.divide(of(method, rows, metric), paper(method, metric)) for metric in METRICS]
    return int((np.abs(np.array(ratios) - 1) <= 0.1).sum())


def blurred() -> list[str]:
    crops, shifts = ([accuracy(rows, "ova", blur) for blur in BLURS] for rows in (SAME, SHIFTS))
    bright = [accuracy(SAME, "ova", shift) for shift in ("brightness", "saturate")]
    theirs, ours, new = (f"{v:.3f}"[1:] for v in (AUTHORS["clean"], accuracy(SAME, "ova"), accuracy(SHIFTS, "ova")))
    return [
        f"has an accuracy of {theirs} on clean images, ours of seed 0 {ours}",
        f"it has {listed(*AUTHORS['blurs'])}, ours {listed(*crops)}",
        f"it has {listed(*AUTHORS['others'])}, ours {listed(*bright)}",
        f"one-vs-all has {listed(*shifts)} under these blurs, and {new} on clean images",
    ]


def gained() -> list[str]:
    crops, shifts = ([listed(*of("slova", rows, metric)) for metric in METRICS] for rows in (SAME, SHIFTS))
    words = "{} for the ECE, {} for the NLL and {} for the Brier score"
    medians = {name: [of(name, rows, "brier")[1] for rows in (SAME, SHIFTS)] for name in ("softmax", "slova")}
    (before, after), (first, then) = ([f"{v:.3f}"[1:] for v in own] for own in medians.values())
    return [
        f"the quartiles of SLOVA are {words.format(*shifts)}",
        f"at the same seed {words.format(*crops)}",
        f"{near('slova', SHIFTS)} of 9 are within a tenth of the paper's, with crops {near('slova', SAME)}",
        f"of softmax falls from {before} to {after} with it, that of SLOVA from {first} to {then}",
        f"with it has {listed(*of('temperature', SHIFTS, 'ece'))} for the ECE and "
        f"{listed(*of('temperature', SHIFTS, 'nll'))} for the NLL",
    ]


def noised() -> list[str]:
    rows = RESULTS.rows("noise", "cifar10", preset="interpolated").assign(variant="")
    found = {share: listed(*of("slova", part, "ece")) for share, part in rows.groupby("parameter_value")}
    assert all(
        abs(a - b) < 0.0135
        for a, b in zip(of("slova", rows[rows["parameter_value"] == 0.03], "ece"), PAPER, strict=True)
    )
    return [f"with shares of .1, .05, .03 and 0 they are {found[0.1]}; {found[0.05]}; {found[0.03]}; and {found[0]}"]


def test_blur():
    assert [words for words in blurred() if words not in TEXT] == []
    crops, shifts = ([accuracy(rows, "ova", blur) for blur in BLURS] for rows in (SAME, SHIFTS))
    assert all(a < b for a, b in zip(crops, shifts, strict=True)), "the augmentation helps under blur"
    assert all(a < b for a, b in zip(crops, AUTHORS["blurs"], strict=True))
    assert accuracy(SAME, "ova") > AUTHORS["clean"]


def test_what_the_augmentation_explains():
    assert SHIFTS["seed"].nunique() == 1
    assert "(preset `interpolated`, one seed)" in TEXT
    assert [words for words in gained() if words not in TEXT] == []
    for method in ("softmax", "slova"):
        assert of(method, SHIFTS, "brier")[1] < of(method, SAME, "brier")[1]


def test_what_the_recipe_might_gain():
    page = " ".join((ROOT / "docs" / "which-recipe.md").read_text(encoding="utf-8").split())
    own = [where(rows, method="softmax", metric="accuracy", variant="") for rows in (SHIFTS, SAME)]
    shifted = [f"{100 * where(rows, shift=PAPER_SHIFTS)['value'].mean():.1f} %" for rows in own]
    clean = [f"{100 * accuracy(rows, 'softmax'):.2f} %" for rows in (SHIFTS, SAME)]
    assert f"has {shifted[0]} on shifted images instead of {shifted[1]}" in page
    assert f"and {clean[0]} on clean ones instead of {clean[1]}" in page


def test_shares_of_noise_with_the_augmentation():
    assert [words for words in noised() if words not in TEXT] == []
