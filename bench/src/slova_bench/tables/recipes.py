"""Recipes on equal terms, one row per method: clean images, shifts, held-out shifts, near and far OOD images, noise.

One table per preset, since networks of another size are no rivals, and beside it the quartiles over shifts, OOD
detection in both conventions of FPR95, and every OOD set. A seed counts where it has every set of a column.
"""

from __future__ import annotations

from slova_bench import labels
from slova_bench.frame import of, per_seed, shift_groups, where
from slova_bench.labels import SCORES
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import recipe_contests
from slova_bench.tables.assembly import counted, measured, of_places, of_quartiles
from slova_bench.tables.ood import ood_names
from slova_bench.tables.quartiles import METRICS, left_out
from slova_bench.tables.recipe_groups import REAL, grouped_table, ood_groups, real
from slova_bench.tables.table import Column, Table

__all__ = ["main_table", "make"]

DETECTION = ("auroc", "fpr95", "fpr95_ood")
NETWORKS = {"resnet18": "ResNet-18"}
IN_VIEW = (
    "In view while the recipe was developed: the sixteen shifts, SVHN, CIFAR-100 and Tiny-ImageNet. Held out: motion "
    "blur, snow and JPEG compression. Shares and kinds of the recipe were chosen on validation images, by degradations "
    "and outliers that neither training nor calibration use; that mixed images were tried at all is due to rows of "
    "AugMix and PixMix on these shifts."
)
UNCHANGED = "The recipe was chosen on CIFAR-10 and is used as it is."
SCORING = (
    "Clean and shifted images are scored by the classes given that the image has one. OOD images are ranked by P(none) "
    "where a method has it, else by its own score or the confidence. Mixtures have four clean images to one OOD image "
    "and are scored by all K + 1 outcomes, as is the mean confidence. Noise is apart from real OOD images: two of its "
    "three kinds resemble outliers in training."
)
CALIBRATED_ON = (
    "The image recipe and the default fits are calibrated on the images that Classifier.fit makes; the degraded images "
    "and outliers of other methods are other draws of the same kinds, as many of each."
)
PASSES = "Flips are two passes per image, quarter turns and RotPred four, ensembles five."
ONLY_RANK = (
    "Methods without numbers for classes only rank images; their classes are those of softmax with a temperature."
)
CONVENTIONS = (
    "FPR95 is the share of OOD images that are accepted where 95 % of the clean ones are. FPR95 of OpenOOD (since "
    "version 1.5) is the share of clean images that are rejected where 95 % of the OOD images are.",
    "MMC is the mean confidence of the classes given that the image has one.",
)


def make(results: ResultsFolder, on: str) -> tuple[Table, ...]:
    """The tables of every preset with rows; that of the data set's own network comes first."""
    presets = sorted(results.rows("recipes", on)["preset"].unique())
    return tuple(table for preset in presets for table in _of_preset(results, on, preset))


def main_table(results: ResultsFolder, on: str, preset: str = "") -> Table:
    """The table with one row per method of a preset."""
    rows = results.rows("recipes", on, preset=preset)  # without its name, which the title has
    shifts, own = shift_groups(rows)[0], rows[~rows["method"].isin(SCORES)]
    others, outside = {*rows["shift"].unique()} - {"", *shifts}, {REAL: real(own, on)}
    mixed = per_seed(where(outside[REAL], metric="mixed_ece"), whole=True)
    columns = [
        counted(per_seed(rows)),
        *of_places({"clean": where(rows, shift="")}, "accuracy", "ece", "nll", whole=True),
        *of_places({"shifted": where(rows, shift=shifts)}, "accuracy", *METRICS, whole=True),
        *of_places({"held-out shifts": where(rows, shift=others)}, "ece", "nll", whole=True),
        *of_places(ood_groups(rows, on), "auroc", whole=True),
        # among all outcomes; where no rows have it, given that an image has a class
        *(of_places(outside, "confidence", whole=True) or of_places(outside, "mmc", whole=True)),
        *([measured("ece", mixed, "mixtures", "ECE of K + 1 outcomes ↓")] if mixed else []),
    ]
    # of clean and shifted sets, and of OOD sets
    short = "; ".join(words for metric in ("ece", "auroc") if (words := left_out(where(rows, metric=metric))))
    notes = (
        *((IN_VIEW, PASSES) if on == "cifar10" else (UNCHANGED,)),
        SCORING,
        CALIBRATED_ON,
        ONLY_RANK if len(own) < len(rows) else "",
        f"Left out of means, because sets are missing: {short}." if short else "",
    )
    return grouped_table(
        _name("recipes", on, preset), _title("recipes on equal terms", on, preset), columns, notes=notes
    )


def _of_preset(results: ResultsFolder, on: str, preset: str) -> list[Table]:
    """The main table, the contests, and folded: quartiles over shifts, every metric of detection and the mean
    confidence on OOD images, and every OOD set."""
    rows = results.rows("recipes", on, preset=preset)
    shifts, tests = shift_groups(rows)[0], ood_names(where(rows, metric="auroc")["test"], on)
    title = _title("the image recipe against its rivals", on, preset)
    detection = list[Column]()
    for group, found in ood_groups(rows, on).items():
        detection += of_places({group: found}, *DETECTION, whole=True)
        detection += of_places({group: found[~found["method"].isin(SCORES)]}, "confidence", "mmc", whole=True)
    sets = of_places({labels.set_name(test): where(rows, test=test) for test in tests}, *DETECTION, whole=True)
    asides = {
        "quartiles": (f"quartiles over the clean set and {len(shifts)} shifts", of_quartiles(rows, METRICS, shifts), 0),
        "detection": ("detection of OOD images, and the confidence there", detection, 2),
        "sets": ("every OOD set", sets, 1),
    }
    tables = [recipe_contests.make(rows, on, _name("recipes-contests", on, preset), title)]
    for kind, (what, columns, notes) in asides.items():
        names = {name for column in columns for name in column.entries}
        columns, words = [counted(per_seed(of(rows, names))), *columns], _title(what, on, preset)
        name = _name(f"recipes-{kind}", on, preset)
        tables.append(grouped_table(name, words, columns, notes=CONVENTIONS[:notes], aside=True))
    return [main_table(results, on, preset), *(table for table in tables if table.rows)]


def _name(kind: str, on: str, preset: str) -> str:
    return "-".join(part for part in (kind, on, preset) if part)


def _title(what: str, on: str, preset: str) -> str:
    network = NETWORKS.get(preset, preset)
    return f"{labels.set_name(on)}{f', {network}' if network else ''}: {what}"
