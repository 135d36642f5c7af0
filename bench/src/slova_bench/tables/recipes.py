"""Recipes on equal terms, one row per method: clean images, shifts, held-out shifts, near and far OOD images, noise.

One table per preset, since networks of another size are no rivals, and beside it the quartiles over shifts, OOD
detection in both conventions of FPR95, and every OOD set. A seed counts where it has every set of a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slova_bench import labels
from slova_bench.frame import Frame, frame, of, per_seed, quartiles, where
from slova_bench.labels import SCORES
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import recipe_contests
from slova_bench.tables.assembly import Part, counted, measured, of_metric, of_quartiles
from slova_bench.tables.ood import ood_names
from slova_bench.tables.quartiles import METRICS, left_out
from slova_bench.tables.recipe_groups import REAL, grouped_table, ood_groups, paper_shifts, real
from slova_bench.tables.table import Column, Table

__all__ = ["IN_VIEW", "main_table", "make"]

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
    rows = _rows(results, on, preset)
    shifts, own = paper_shifts(rows), rows[~rows["method"].isin(SCORES)]
    others = {*rows["shift"].unique()} - {"", *shifts}
    parts = [
        counted(per_seed(rows)),
        *_parts({"clean": where(rows, shift="")}, "accuracy", "ece", "nll"),
        *_parts({"shifted": where(rows, shift=shifts)}, "accuracy", *METRICS),
        *_parts({"held-out shifts": where(rows, shift=others)}, "ece", "nll"),
        *_parts(ood_groups(rows, on), "auroc"),
        *_confidence(real(own, on)),
    ]
    scores = ONLY_RANK if len(own) < len(rows) else ""
    own_notes = (IN_VIEW, PASSES) if on == "cifar10" else (UNCHANGED,)
    notes = (*own_notes, SCORING, CALIBRATED_ON, scores, _incomplete(rows))
    return grouped_table(_name("recipes", on, preset), _title("recipes on equal terms", on, preset), parts, notes=notes)


def _of_preset(results: ResultsFolder, on: str, preset: str) -> list[Table]:
    rows, main = _rows(results, on, preset), main_table(results, on, preset)
    title = _title("the image recipe against its rivals", on, preset)
    contests = recipe_contests.make(rows, on, _name("recipes-contests", on, preset), title)
    asides = [_quartiles(rows, on, preset), _detection(rows, on, preset), _sets(rows, on, preset)]
    return [main, *(table for table in (contests, *asides) if table.rows)]


def _rows(results: ResultsFolder, on: str, preset: str) -> Frame:
    """The rows of a preset, without its name: the title has it."""
    own = where(results.rows("recipes", on), preset=preset)[list(Row._fields)].assign(preset="")
    return frame(own.itertuples(index=False))


def _confidence(rows: Frame) -> list[Part]:
    """Among all outcomes; where no rows have it, given that an image has a class. Then that of mixtures."""
    mixed = per_seed(where(rows, metric="mixed_ece"), whole=True)
    mixtures = [measured(Column("ECE of K + 1 outcomes ↓", "mixtures"), "ece", mixed)] if mixed else []
    return (_parts({REAL: rows}, "confidence") or _parts({REAL: rows}, "mmc")) + mixtures


def _quartiles(rows: Frame, on: str, preset: str) -> Table:
    shifts = paper_shifts(rows)
    parts = of_quartiles({metric: quartiles(rows, metric, shifts) for metric in METRICS})
    title = _title(f"quartiles over the clean set and {len(shifts)} shifts", on, preset)
    return _aside(_name("recipes-quartiles", on, preset), title, parts, rows)


def _detection(rows: Frame, on: str, preset: str) -> Table:
    """Near and far OOD images and noise, by every metric of detection, and the mean confidence there."""
    parts = list[Part]()
    for group, found in ood_groups(rows, on).items():
        own = found[~found["method"].isin(SCORES)]
        parts += _parts({group: found}, "auroc", "fpr95", "fpr95_ood") + _parts({group: own}, "confidence", "mmc")
    title = _title("detection of OOD images, and the confidence there", on, preset)
    return _aside(_name("recipes-detection", on, preset), title, parts, rows, CONVENTIONS)


def _sets(rows: Frame, on: str, preset: str) -> Table:
    names = ood_names(where(rows, metric="auroc")["test"], on)
    parts = _parts({labels.set_name(test): where(rows, test=test) for test in names}, "auroc", "fpr95", "fpr95_ood")
    title = _title("every OOD set", on, preset)
    return _aside(_name("recipes-sets", on, preset), title, parts, rows, CONVENTIONS[:1])


def _aside(name: str, title: str, parts: Sequence[Part], rows: Frame, notes: Sequence[str] = ()) -> Table:
    seeds = counted(per_seed(of(rows, {name for part in parts for name in part.entries})))
    return grouped_table(name, title, [seeds, *parts], notes=notes, aside=True)


def _parts(places: Mapping[str, Frame], *metrics: str) -> list[Part]:
    """A column per place and metric, where there are values."""
    found = [
        (metric, per_seed(where(rows, metric=metric), whole=True), group)
        for group, rows in places.items()
        for metric in metrics
    ]
    return [of_metric(metric, values, group) for metric, values, group in found if values]


def _incomplete(rows: Frame) -> str:
    """A note that lists the seeds that are left out of a mean, if any."""
    found = ("ece", "auroc")  # of clean and shifted sets, and of OOD sets
    short = [words for metric in found for words in left_out(where(rows, metric=metric))]
    return f"Left out of means, because sets are missing: {'; '.join(short)}." if short else ""


def _name(kind: str, on: str, preset: str) -> str:
    return "-".join(part for part in (kind, on, preset) if part)


def _title(what: str, on: str, preset: str) -> str:
    network = NETWORKS.get(preset, preset)
    return f"{labels.set_name(on)}{f', {network}' if network else ''}: {what}"
