"""Labels of methods, metrics, sets and shifts: names, order, colours, and the better direction. Shared by tables,
figures and pages. Unknown identifiers keep their name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    *("SOLID", "Look", "Metric", "better", "head", "in_order", "is_better", "look", "metric", "ordered"),
    *("paper_shifts", "set_name", "shift_name", "title"),
]

SOLID = (1, 0)  # a line without gaps


@dataclass(frozen=True)
class Look:
    """The appearance of a method: name, colour, and a dash for readers who do not see the colour."""

    name: str
    colour: str
    dash: tuple[float, ...] = SOLID  # lengths of stroke and gap


@dataclass(frozen=True)
class Metric:
    """The name of a metric, and whether larger values are better."""

    name: str
    larger: bool = False


# Okabe and Ito's colours, and three of Tol's. Members of a family share a colour and differ in their dashes.
_BLACK, _ORANGE, _SKY, _GREEN, _BLUE = "#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2"
_RED, _PINK, _OLIVE, _WINE, _GREY = "#d55e00", "#cc79a7", "#999933", "#882255", "#777777"
_SPARE = (_SKY, _PINK, _OLIVE, _GREEN, _ORANGE, _WINE)
_DASH, _DOT, _BOTH = (6.0, 2.0), (1.5, 1.5), (6.0, 2.0, 1.5, 2.0)
_ON_BOTH = "temperature on clean and degraded images"

# In the order of every table and figure: the paper's baselines, its OOD baselines, one-vs-all, SLOVA, scores.
METHODS = {
    "softmax": Look("Softmax", _GREY),
    "temperature": Look("Temperature scaling", _GREY, _DASH),
    "dropout": Look("Dropout", _SKY),
    "ensemble": Look("Ensemble", _BLUE),
    "ensemble_ten": Look("Ensemble of ten", _BLUE),
    "ensemble_temperature": Look("Ensemble, temperature", _BLUE, _DOT),
    "svi": Look("SVI", _GREEN),
    "ll_svi": Look("LL SVI", _GREEN, _DASH),
    "ll_dropout": Look("LL dropout", _SKY, _DASH),
    "ova_dm": Look("OVA DM", _OLIVE),
    "ova_dm_original": Look("OVA DM, original", _OLIVE, _DASH),
    "ceda": Look("CEDA", _PINK),
    "acet": Look("ACET", _PINK, _DOT),
    "acet_full": Look("ACET, as published", _PINK, _BOTH),
    "acet_short": Look("ACET, short attack", _PINK, _DASH),
    "react": Look("ReAct", _GREY, _DOT),
    "ova": Look("OVA", _ORANGE),
    "slova_raw": Look("SLOVA, uncalibrated", _RED, _DASH),
    "slova": Look("SLOVA", _RED),
    "slova_paper_fit": Look("SLOVA, the paper's fit", _RED, _BOTH),
    "slova_clean": Look("SLOVA, no noise in calibration", _RED, _DOT),
    "slova_distance": Look("SLOVA, distance-aware", _RED, _BOTH),
    "slova_mirror": Look("SLOVA, distance-aware, flip test-time augmentation", _BLACK, _DASH),
    "slova_ensemble": Look("SLOVA, ensemble", _BLUE, _DASH),
    "slova_distance_ensemble": Look("SLOVA, ensemble, distance-aware", _BLUE, _BOTH),
    "slova_none_raw": Look("SLOVA, NONE in training, uncalibrated", _WINE, _BOTH),
    "slova_none": Look("SLOVA, NONE in training", _WINE),
    "temperature_degraded": Look("Temperature, clean and degraded images", _GREY, _DOT),
    "softmax_fit": Look("Softmax, default fit", _GREY),
    "logitnorm": Look("LogitNorm, temperature", _OLIVE, _DASH),
    "rotpred": Look("RotPred, temperature", _OLIVE),
    "augmix": Look("AugMix, temperature", _GREEN),
    "augmix_degraded": Look("AugMix, temperature on clean and degraded images", _GREEN, _DOT),
    "pixmix": Look("PixMix-like, temperature", _GREEN, _DASH),
    "pixmix_degraded": Look("PixMix-like, temperature on clean and degraded images", _GREEN, _BOTH),
    "softmax_mixed": Look("Softmax, augmented, temperature", _SKY),
    "softmax_mixed_degraded": Look("Softmax, augmented, temperature on clean and degraded images", _SKY, _DOT),
    "softmax_mixed_flip": Look("Softmax, augmented, flips, temperature on clean and degraded images", _SKY, _BOTH),
    "softmax_mixed_fit": Look("Softmax, augmented, default fit", _SKY, _DASH),
    "softmax_augmented": Look("Softmax, without mixing, temperature", _GREEN),
    "softmax_augmented_degraded": Look(f"Softmax, without mixing, {_ON_BOTH}", _GREEN, _DOT),
    "softmax_augmented_flip": Look(f"Softmax, without mixing, flips, {_ON_BOTH}", _GREEN, _BOTH),
    "softmax_augmented_fit": Look("Softmax, without mixing, default fit", _GREEN, _DASH),
    "softmax_exposed": Look("Softmax, without mixing, outlier exposure", _PINK, _DASH),
    "softmax_none_class": Look("Softmax, without mixing, NONE as a class", _PINK, _DOT),
    "softmax_mixed_exposed": Look("Softmax, augmented, outlier exposure", _PINK, _BOTH),
    "softmax_mixed_none_class": Look("Softmax, augmented, NONE as a class", _PINK, _BOTH),
    "softmax_mixed_ensemble": Look("Softmax, augmented, ensemble, temperature", _BLUE, _DASH),
    "softmax_mixed_ensemble_degraded": Look(f"Softmax, augmented, ensemble, {_ON_BOTH}", _BLUE, _DOT),
    "softmax_augmented_ensemble": Look("Softmax, without mixing, ensemble, temperature", _BLUE, _DASH),
    "softmax_augmented_ensemble_degraded": Look(f"Softmax, without mixing, ensemble, {_ON_BOTH}", _BLUE, _DOT),
    "ova_fit": Look("One-vs-all, default fit", _ORANGE),
    "ova_fit_no_distances": Look("One-vs-all, default fit without distances", _ORANGE, _DASH),
    "ova_fit_clean": Look("One-vs-all, default fit without degraded images", _ORANGE, _DOT),
    "slova_none_fit": Look("NONE in training, default fit", _WINE, _DASH),
    "slova_image_mixed": Look("Image recipe", _RED),
    "slova_image_mixed_no_distances": Look("Image recipe, fit without distances", _RED, _DASH),
    "slova_image_mixed_flip": Look("Image recipe, flips", _RED),
    "slova_image_mixed_ensemble": Look("Image recipe, ensemble", _BLUE, _BOTH),
    "slova_image": Look("Image recipe without mixing", _WINE),
    "slova_image_ova": Look("Image recipe without mixing, without cross-entropy", _WINE, _DOT),
    "slova_image_no_distances": Look("Image recipe without mixing, fit without distances", _WINE, _DASH),
    "slova_image_neighbours": Look("Image recipe without mixing, nearest neighbours as a distance", _WINE, _BOTH),
    "slova_image_flip": Look("Image recipe without mixing, flips", _WINE),
    "slova_image_turns": Look("Image recipe without mixing, quarter turns", _WINE, _DOT),
    "slova_image_ensemble": Look("Image recipe without mixing, ensemble", _BLUE, _BOTH),
    "retrofit": Look("Retrofitted softmax", _OLIVE, _BOTH),
    "retrofit_noise": Look("Retrofitted softmax, noise in calibration", _OLIVE, _DOT),
    "energy": Look("Energy", _BLACK, _DOT),
    "max_logit": Look("Max logit", _BLACK, _DASH),
    "knn": Look("Nearest neighbours", _BLACK, _BOTH),
    "mahalanobis": Look("Mahalanobis", _BLACK),
    "vim": Look("ViM", _BLACK, _DOT),
    "dac": Look("DAC", _GREEN, _DASH),
    "dac_degraded": Look("DAC on clean and degraded images", _GREEN, _DOT),
    "energy_scaling": Look("Energy-based scaling", _GREEN, _DOT),
    "gen": Look("GEN", _BLACK, _DASH),
    "fdbd": Look("fDBD", _BLACK, _BOTH),
    "ash": Look("ASH-S", _BLACK, _DOT),
    "softmax_augmented_dac": Look("Softmax, without mixing, DAC", _GREEN, _DASH),
    "softmax_augmented_dac_degraded": Look("Softmax, without mixing, DAC on clean and degraded images", _GREEN, _DOT),
    "softmax_augmented_energy_scaling": Look("Softmax, without mixing, energy-based scaling", _GREEN, _BOTH),
    "softmax_augmented_gen": Look("Softmax, without mixing, GEN", _OLIVE, _DASH),
    "softmax_augmented_fdbd": Look("Softmax, without mixing, fDBD", _OLIVE, _BOTH),
    "softmax_augmented_ash": Look("Softmax, without mixing, ASH-S", _OLIVE, _DOT),
    "softmax_augmented_knn": Look("Softmax, without mixing, nearest neighbours", _OLIVE, _BOTH),
    "fitted": Look("Sum of powers, fitted to the exact curve", _ORANGE),  # the curves of Appendix A
    "exact": Look("Exact", _BLACK, _DOT),
    "approximate": Look("Approximation 1 − (1 − P)ᴷ", _BLUE, _DASH),
}
BEYOND = (  # methods that the paper does not have
    *("slova_distance", "slova_mirror", "slova_ensemble", "slova_distance_ensemble"),
    *("slova_none_raw", "slova_none", "retrofit", "retrofit_noise"),
)
# Of methods of the paper: in tables, not in figures.
VARIANTS = ("ensemble_temperature", "ensemble_ten", "slova_paper_fit")

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
SCORES = (  # they only rank images; the probabilities are softmax's
    *("energy", "max_logit", "knn", "mahalanobis", "vim", "gen", "fdbd", "ash"),
    *("softmax_augmented_gen", "softmax_augmented_fdbd", "softmax_augmented_ash", "softmax_augmented_knn"),
)


def paper_shifts(shifts: Iterable[str]) -> tuple[str, ...]:
    """The shifts that the tables, figures and claims of the paper use: its sixteen corruptions where all are present,
    else all shifts (data sets with shifts of their own).

    >>> paper_shifts(["", "rotation", "contrast"])
    ('contrast', 'rotation')
    """
    present = set(shifts) - {""}
    return PAPER_SHIFTS if present.issuperset(PAPER_SHIFTS) else tuple(sorted(present))


def look(method: str, variant: str = "") -> Look:
    """The appearance of a method. An unknown method gets a colour that depends on its name."""
    known = METHODS.get(method) or Look(title(method), _SPARE[sum(map(ord, method)) % len(_SPARE)], _BOTH)
    return Look(f"{known.name}, {variant}", known.colour, known.dash) if variant else known


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
