"""Write the tables of pages that are otherwise written by hand, from rows: python docs/make_tables.py.

A table stands between the lines `<!-- table NAME, made by docs/make_tables.py -->` and `<!-- end of the table -->`.
Tables whose rows are those of scripts (`benchmarks/results`) are in docs/tables_of_benchmarks.py, those of times in
docs/tables_of_speed.py.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from slova_bench.frame import Column, Frame, quartiles, shift_groups, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.recipe_groups import real

sys.path.insert(0, str(Path(__file__).parent))
from tables_of_benchmarks import TABLES as OF_BENCHMARKS
from tables_of_benchmarks import markdown, short
from tables_of_speed import TABLES as OF_SPEED

DOCS = Path(__file__).parent
RESULTS = ResultsFolder.read(DOCS.parent / "bench" / "results")
MIXES = json.loads((DOCS.parent / "bench" / "results" / "outliers.json").read_text(encoding="utf-8"))
MARK = re.compile(
    r"(<!-- table ([a-z- ]+), made by docs/make_tables\.py -->\n).*?\n(<!-- end of the table -->\n)", re.DOTALL
)

DISTANCE = {
    "temperature": "temperature scaling",
    "slova_clean": "SLOVA, no noise in calibration",
    "slova_distance": "**SLOVA, distance-aware**",
    "slova_mirror": "**the same with flip test-time augmentation** (two passes)",
    "ensemble": "ensemble of five softmax networks",
    "slova_ensemble": "SLOVA of five: mean logits (`slova_ensemble`)",
    "slova_distance_ensemble": "**SLOVA of five, distance-aware** (`slova_distance_ensemble`)",
}
RETROFIT = ("softmax", "temperature", "retrofit", "slova_clean")
NONE = {"softmax": "softmax", "slova": "one-vs-all, SLOVA readout", "none": "with NONE in training"}
SETS = {
    "svhn-test": "SVHN", "cifar10-test": "CIFAR-10", "cifar100-test": "CIFAR-100", "tinyimagenet-test": "Tiny-ImageNet",
    "imagenet32-test": "ImageNet, 32 × 32", "imagenet224-test": "ImageNet, 224 × 224",
    "low_pass": "low-pass", "permuted": "permuted", "uniform": "uniform",
}  # fmt: skip
FIRST = ("svhn-test", "cifar100-test", "tinyimagenet-test", "imagenet32-test", "imagenet224-test")  # of CIFAR-10
KINDS = {"gratings": "gratings", "discs": "discs", "digits": "digits", "means of two": "means of two"}
KINDS |= {"low_pass": "low-pass", "permuted": "permuted", "uniform": "uniform"}
MIX_NAMES = {
    "plain": "no outliers",
    "all": "all seven kinds",
    "all, twice as many": "all seven, twice as many",
    "low_pass": "low-pass noise alone",
    "virtual": "averaged, shuffled, enlarged, pasted",
    "low_pass and virtual": "these four and low-pass noise",
    "half low_pass, half virtual": "these four, half of all low-pass noise",
    "mix": "**all without uniform noise**",
    "without_low_pass": "all without low-pass noise",
    "without_permuted": "all without permuted pixels",
    "without_averaged": "all without averages",
    "without_shuffled": "all without shuffled patches",
    "without_enlarged": "all without enlarged crops",
    "without_pasted": "all without pasted quarters",
}


def page(path: Path) -> str:
    """The page with its tables made anew."""
    text = path.read_text(encoding="utf-8")
    return MARK.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", text)


def pages() -> list[Path]:
    return [path for path in sorted(DOCS.rglob("*.md")) if MARK.search(path.read_text(encoding="utf-8"))]


@cache
def shift() -> Frame:
    return RESULTS.rows("shift", "cifar10")


@cache
def ood(on: str) -> Frame:
    return RESULTS.rows("ood", on)


def mean(rows: Frame, **columns: object) -> float:
    """The mean over sets and seeds."""
    values = where(rows, variant="", **columns)["value"]
    assert len(values), columns
    return float(values.mean())


def quarters(method: str, metric: str) -> list[float]:
    """The quartiles over the clean set and the shifts of the paper, means over seeds."""
    return [_over_seeds(column, method) for column in quartiles(shift(), metric, shift_groups(shift())[0]).values()]


def quarters_held_out(method: str, metric: str) -> list[float]:
    rows = shift()
    others = set(rows["shift"]) - {"", *shift_groups(rows)[0]}
    held = where(rows, shift=others)
    return [_over_seeds(column, method) for column in quartiles(held, metric, others).values()]


def _over_seeds(column: Column, method: str) -> float:
    return float(np.mean([*column[method, ""].values()]))


def distance() -> str:
    def row(method: str, name: str) -> list[str]:
        clean = short(mean(shift(), method=method, metric="ece", shift=""))
        return [name, clean, *(_three(quarters(method, metric)) for metric in ("ece", "nll", "brier"))]

    titles = ("", "clean ECE", "ECE 25 - 50 - 75 %", "NLL", "Brier")
    return markdown(titles, (row(*one) for one in DISTANCE.items()))


def distance_held_out() -> str:
    def row(method: str, name: str) -> list[str]:
        return [name, *(_three(quarters_held_out(method, metric)) for metric in ("ece", "nll", "brier"))]

    return markdown(("", "ECE 25 - 50 - 75 %", "NLL", "Brier"), (row(*one) for one in DISTANCE.items()))


def _three(numbers: list[float]) -> str:
    return " ".join(map(short, numbers))


def retrofit() -> str:
    """The last column is the share of the gain of one-vs-all training over softmax that the retrofit reaches."""

    def rows() -> Iterator[list[str]]:
        for metric, name in {"ece": "ECE", "nll": "NLL", "brier": "Brier"}.items():
            numbers = [mean(shift(), method=method, metric=metric, shift="") for method in RETROFIT]
            yield [f"clean {name}", *_shared(numbers, 4 if metric == "ece" else 3)]
        for metric, name in {"ece": "ECE", "nll": "NLL", "brier": "Brier"}.items():
            every = [quarters(method, metric) for method in RETROFIT]
            for place, quarter in enumerate(("lower quartile", "median", "upper quartile")):
                yield [f"{name}, {quarter}", *_shared([numbers[place] for numbers in every])]
        outside = real(ood("cifar10"), "cifar10")
        for metric, name in {"mmc": "MMC", "auroc": "AUROC"}.items():
            numbers = [mean(outside, method=one, metric=metric) for one in RETROFIT if one != "temperature"]
            first, *others = _shared(numbers)
            yield [f"{name}, mean of five real OOD sets", first, "", *others]

    return markdown(("", "softmax", "temperature", "retrofit", "SLOVA, no noise", "share"), rows())


def _shared(numbers: list[float], digits: int = 3) -> list[str]:
    softmax, ours, trained = numbers[0], numbers[-2], numbers[-1]
    share = (softmax - ours) / (softmax - trained)
    return [*(short(number, digits) for number in numbers), f"{100 * share:.0f} %"]


def none_summary() -> str:
    sets = ("svhn-test", "cifar100-test", "uniform")

    def row(method: str, name: str) -> list[str]:
        accuracy = mean(shift(), method=PARTS[method][0], metric="accuracy", shift="")
        return [name, f"{100 * accuracy:.2f} %", *(none_cell("cifar10", method, test) for test in sets)]

    titles = ("", "accuracy", *(f"{name}: MMC, AUROC" for name in ("SVHN", "CIFAR-100", "uniform noise")))
    return markdown(titles, (row(*one) for one in NONE.items()))


PARTS = {"softmax": ("softmax", ""), "slova": ("slova_raw", "slova_clean"), "none": ("slova_none_raw", "slova_none")}


def none_cell(on: str, method: str, test: str, *, both: bool = False) -> str:
    """MMC without calibration, with it where there are both, and AUROC."""
    raw, calibrated = PARTS[method]
    mmc = [mean(ood(on), method=one, test=test, metric="mmc") for one in ((raw, calibrated) if both else (raw,)) if one]
    auroc = mean(ood(on), method=raw, test=test, metric="auroc")
    return f"{' '.join(short(one, 2) for one in mmc)}, {_area(auroc)}"


def _area(auroc: float) -> str:
    return f"{auroc:.2f}" if auroc > 0.9995 else short(auroc)


def none_cifar10() -> str:
    sets = [test for test in SETS if test != "cifar10-test"]
    rows = ([name, *(none_cell("cifar10", key, test, both=True) for test in sets)] for key, name in NONE.items())
    return markdown(("CIFAR-10", *(SETS[test] for test in sets)), rows)


def none_elsewhere() -> str:
    def rows() -> Iterator[list[str]]:
        for on, title in {"cifar100": "CIFAR-100", "svhn": "SVHN"}.items():
            for key, name in NONE.items():
                cells = ("" if test == f"{on}-test" else none_cell(on, key, test) for test in SETS)
                yield [f"{title}, {name.removeprefix('one-vs-all, ')}", *cells]

    return markdown(("", *SETS.values()), rows())


def mixes() -> str:
    found = {line["mix"]: line for line in MIXES["lines"]}

    def row(mix: str, name: str) -> list[str]:
        line = found[mix]
        judged = [_pair(line[kind]) for kind in list(KINDS)[:4]]
        return [name, f"{100 * line['accuracy']:.1f}", *judged, *(short(line[kind][0], 2) for kind in list(KINDS)[4:])]

    return markdown(("mix", "accuracy", *KINDS.values()), (row(*one) for one in MIX_NAMES.items()))


def _pair(numbers: Sequence[float]) -> str:
    return " / ".join(f"{one:.2f}" if one > 0.995 else short(one, 2) for one in numbers)


def exposed() -> str:
    """Networks without outliers and with the mix are those of the comparison, means over seeds, of test images."""

    def rows() -> Iterator[list[str]]:
        for key, name in {"slova": "none", "none": "the mix"}.items():
            (raw, calibrated), clean = PARTS[key], where(shift(), shift="")
            accuracy = mean(clean, method=raw, metric="accuracy")
            own = [short(mean(clean, method=raw, metric="mmc"), 2)]
            own += [short(mean(clean, method=calibrated, metric="nll"), 2)]
            yield [name, short(accuracy), *(none_cell("cifar10", key, test) for test in FIRST), *own]
        names = {"exposed": "CIFAR-100", "mix and exposed": "half the mix, half CIFAR-100"}
        for line in MIXES["exposure"]["lines"]:
            cells = [f"{short(line[test][0], 2)}, {_area(line[test][1])}" for test in FIRST]
            yield [
                names[line["mix"]],
                short(line["test accuracy"]),
                *cells,
                short(line["mmc"], 2),
                short(line["nll"], 2),
            ]

    titles = ("outliers", "test accuracy", *(SETS[test] for test in FIRST))
    return markdown((*titles, "CIFAR-10, MMC", "NLL, calibrated"), rows())


TABLES: dict[str, Callable[[], str]] = {
    "distance": distance,
    "distance held out": distance_held_out,
    "retrofit": retrofit,
    "none summary": none_summary,
    "none": none_cifar10,
    "none elsewhere": none_elsewhere,
    "mixes": mixes,
    "exposed": exposed,
    **OF_BENCHMARKS,
    **OF_SPEED,
}


if __name__ == "__main__":
    for path in pages():
        path.write_text(page(path), encoding="utf-8", newline="\n")
