"""Labels of methods, metrics, sets and shifts: names, order, colours, and the better direction. Shared by tables,
figures and pages. Unknown identifiers keep their name.

The methods are in `labels.csv`, in the order of every table and figure: the paper's baselines, its OOD baselines,
one-vs-all, SLOVA, scores, and the curves of Appendix A. Members of a family share a colour and differ in their dashes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = [
    *("SOLID", "Look", "Metric", "better", "head", "in_order", "is_better", "look", "metric", "ordered"),
    *("paper_shifts", "set_name", "shift_name", "title"),
]

SOLID = (1, 0)  # a line without gaps
DASHES = {"": SOLID, "dash": (6.0, 2.0), "dot": (1.5, 1.5), "both": (6.0, 2.0, 1.5, 2.0)}
COLOURS = {  # Okabe and Ito's, and three of Tol's
    "black": "#000000", "orange": "#e69f00", "sky": "#56b4e9", "green": "#009e73", "blue": "#0072b2",
    "red": "#d55e00", "pink": "#cc79a7", "olive": "#999933", "wine": "#882255", "grey": "#777777",
}  # fmt: skip
SPARE = [COLOURS[name] for name in ("sky", "pink", "olive", "green", "orange", "wine")]


@dataclass(frozen=True)
class Look:
    """A method in tables and figures: its name, colour, and a dash for readers who do not see the colour.

    kind: "beyond" the paper; a "variant" of a method of the paper, in tables but not in figures; or a "score", which
        only ranks images: its probabilities are softmax's.
    group: its group in the tables of recipes.
    images: those that its network was trained with, of which methods on equal terms have the same.
    """

    name: str
    colour: str
    dash: tuple[float, ...] = SOLID  # lengths of stroke and gap
    kind: str = ""
    group: str = "published"
    images: str = "its own"


@dataclass(frozen=True)
class Metric:
    """The name of a metric, and whether larger values are better."""

    name: str
    larger: bool = False


def _looks() -> dict[str, Look]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {
            line.pop("method"): Look(colour=COLOURS[line.pop("colour")], dash=DASHES[line.pop("dash")], **line)
            for line in csv.DictReader(file)
        }


METHODS = _looks()
BEYOND, VARIANTS, SCORES = (
    tuple(method for method, own in METHODS.items() if own.kind == kind) for kind in ("beyond", "variant", "score")
)
METRICS = {
    "accuracy": Metric("Accuracy", larger=True),
    "error": Metric("Error"),
    "ece": Metric("ECE"),
    "outcomes_ece": Metric("ECE of K + 1 outcomes"),
    "nll": Metric("NLL"),
    "brier": Metric("Brier score"),
    "mmc": Metric("MMC"),
    "auroc": Metric("AUROC", larger=True),
    "aupr": Metric("AUPR", larger=True),
    "fpr95": Metric("FPR95"),
    "fpr95_ood": Metric("FPR95 of OpenOOD"),
    "coverage": Metric("Coverage", larger=True),
    "confidence": Metric("Mean confidence"),
    "confident": Metric("Share above 0.5"),
    "confidence_std": Metric("Deviation of confidence"),
}

SETS = {
    "digits": "Digits",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "svhn": "SVHN",
    "lsun": "LSUN classroom",
    "tinyimagenet": "Tiny-ImageNet",
    "imagenet32": "ImageNet 32×32",
    "imagenet224": "ImageNet 224×224",
}
SHIFTS = {"": "clean", "jpeg_compression": "JPEG compression"}
# The sixteen corruptions of the paper, see `paper_shifts`.
PAPER_SHIFTS = (
    "gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "defocus_blur", "glass_blur", "zoom_blur",
    "gaussian_blur", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "saturate", "spatter",
)  # fmt: skip


def paper_shifts(shifts: Iterable[str]) -> tuple[str, ...]:
    """The shifts that the tables, figures and claims of the paper use: its sixteen corruptions where all are present,
    else all shifts (data sets with shifts of their own).

    >>> paper_shifts(["", "rotation", "contrast"])
    ('contrast', 'rotation')
    """
    present = set(shifts) - {""}
    return PAPER_SHIFTS if present.issuperset(PAPER_SHIFTS) else tuple(sorted(present))


def look(method: str, variant: str = "") -> Look:
    """A method in tables and figures. An unknown method gets a colour that depends on its name."""
    spare = SPARE[sum(map(ord, method)) % len(SPARE)]
    known = METHODS.get(method) or Look(title(method), spare, DASHES["both"])
    return replace(known, name=f"{known.name}, {variant}") if variant else known


def ordered(methods: Iterable[str]) -> list[str]:
    """Methods in the order of tables and legends. Unknown methods come last, by name."""
    places = {name: place for place, name in enumerate(METHODS)}
    return sorted(set(methods), key=lambda name: (places.get(name, len(places)), name))


def in_order(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Methods with their variants in the order of every legend; variants follow their method."""
    found = list(names)
    places = {method: place for place, method in enumerate(ordered(method for method, _ in found))}
    return sorted(found, key=lambda name: (places[name[0]], name[1]))


def metric(name: str) -> Metric:
    """The appearance of a metric. A suffix (`ece_q25`) does not change the direction."""
    if name in METRICS:
        return METRICS[name]
    base = METRICS.get(name.partition("_")[0], Metric(title(name)))
    return Metric(title(name), base.larger)


def better(name: str) -> str:
    """The arrow in a table head: ↑ where larger is better, else ↓."""
    return "↑" if metric(name).larger else "↓"


def head(name: str) -> str:
    """A metric and its better direction: "ECE ↓"."""
    return f"{metric(name).name} {better(name)}"


def is_better(name: str, one: float, other: float) -> bool:
    """Whether the first value of a metric is better than the second."""
    return one > other if metric(name).larger else one < other


def set_name(split: str) -> str:
    """The displayed name of a test set: `svhn-test` is SVHN."""
    base = split.partition("-")[0]
    return SETS.get(base, title(base))


def shift_name(shift: str) -> str:
    return SHIFTS.get(shift, title(shift).lower())


def title(name: str) -> str:
    """An identifier as a title: `low_pass` is "Low pass"."""
    text = name.replace("_", " ").strip()
    return text[:1].upper() + text[1:]
