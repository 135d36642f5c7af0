"""Recipes on equal terms, one row per method: clean images, shifts, held-out shifts, near and far OOD images, noise.

One table per preset, since networks of another size are no rivals, and beside it the quartiles over shifts, OOD
detection in both conventions of FPR95, and every OOD set. A seed counts where it has every set of a column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from slova_bench import labels
from slova_bench.frame import RowList, frame
from slova_bench.labels import SCORES
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import recipe_contests
from slova_bench.tables.assembly import Part, label, measured
from slova_bench.tables.ood import ood_names
from slova_bench.tables.quartiles import METRICS, QUARTILES, quartiles
from slova_bench.tables.recipe_groups import grouped_table
from slova_bench.tables.recipe_means import REAL, Chosen, means, ood_groups, paper_shifts, real
from slova_bench.tables.table import Column, Table, text

__all__ = ["IN_VIEW", "main_table", "make"]

NETWORKS = {"resnet18": "ResNet-18"}
IN_VIEW = (
    "In view while the recipe was developed: the sixteen shifts, SVHN, CIFAR-100 and Tiny-ImageNet. Held out: motion "
    "blur, snow and JPEG compression. Shares and kinds of the recipe were chosen on validation images, by degradations "
    "and outliers that neither training nor calibration use."
)
UNCHANGED = "The recipe was chosen on CIFAR-10 and is used as it is."
SCORING = (
    "Clean and shifted images are scored by the classes given that the image has one. OOD images are ranked by P(none) "
    "where a method has it, else by its own score or the confidence. Mixtures have four clean images to one OOD image "
    "and are scored by all K + 1 outcomes, as is the mean confidence. Noise is apart from real OOD images: two of its "
    "three kinds resemble outliers in training."
)
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
    shifts = paper_shifts(rows)
    others = {row.shift for row in rows} - {"", *shifts}
    parts = [_seeds(rows), *_clean(rows), *_shifted(rows, shifts), *_held_out(rows, others)]
    parts += [*_detected(rows, on), *_confidence(rows, on), *_mixtures(rows, on)]
    scores = ONLY_RANK if any(row.method in SCORES for row in rows) else ""
    notes = (IN_VIEW if on == "cifar10" else UNCHANGED, SCORING, scores, _incomplete(rows))
    return grouped_table(_name("recipes", on, preset), _title("recipes on equal terms", on, preset), parts, notes=notes)


def _of_preset(results: ResultsFolder, on: str, preset: str) -> list[Table]:
    rows, main = _rows(results, on, preset), main_table(results, on, preset)
    title = _title("the image recipe against its rivals", on, preset)
    contests = recipe_contests.make(rows, on, _name("recipes-contests", on, preset), title)
    asides = [_quartiles(rows, on, preset), _detection(rows, on, preset), _sets(rows, on, preset)]
    return [main, *(table for table in (contests, *asides) if table.rows)]


def _rows(results: ResultsFolder, on: str, preset: str) -> list[Row]:
    """The rows of a preset, without its name: the title has it."""
    found = results.rows("recipes", on)
    own = found.loc[found["preset"] == preset, list(Row._fields)].assign(preset="")
    return RowList(frame(own.itertuples(index=False)))


def _seeds(rows: Sequence[Row]) -> Part:
    counts = Counter(name for name, _ in {((row.method, row.variant), row.seed) for row in rows})
    return Part(Column("Seeds"), {name: text(count) for name, count in counts.items()})


def _clean(rows: Sequence[Row]) -> list[Part]:
    return _parts(rows, ("accuracy", "ece", "nll"), {"clean": lambda row: not row.shift})


def _shifted(rows: Sequence[Row], shifts: Sequence[str]) -> list[Part]:
    return _parts(rows, ("accuracy", *METRICS), {"shifted": lambda row: row.shift in shifts})


def _held_out(rows: Sequence[Row], others: set[str]) -> list[Part]:
    return _parts(rows, ("ece", "nll"), {"held-out shifts": lambda row: row.shift in others})


def _detected(rows: Sequence[Row], on: str) -> list[Part]:
    return _parts(rows, ("auroc",), ood_groups(on))


def _confidence(rows: Sequence[Row], on: str) -> list[Part]:
    """Among all outcomes; where no rows have it, given that an image has a class."""
    own = [row for row in rows if row.method not in SCORES]
    return _parts(own, ("confidence",), {REAL: real(on)}) or _parts(own, ("mmc",), {REAL: real(on)})


def _mixtures(rows: Sequence[Row], on: str) -> list[Part]:
    own = [row for row in rows if row.method not in SCORES]
    found = means(own, "mixed_ece", real(on))
    return [measured(Column("ECE of K + 1 outcomes ↓", "mixtures"), "ece", found)] if found else []


def _quartiles(rows: Sequence[Row], on: str, preset: str) -> Table:
    shifts = paper_shifts(rows)
    found = {metric: quartiles(rows, metric, shifts) for metric in METRICS}
    parts = [
        measured(Column(f"{share} %", f"{labels.metric(metric).name} {labels.better(metric)}"), metric, values[share])
        for metric, values in found.items()
        for share in QUARTILES
    ]
    title = _title(f"quartiles over the clean set and {len(shifts)} shifts", on, preset)
    return _aside(_name("recipes-quartiles", on, preset), title, parts, rows)


def _detection(rows: Sequence[Row], on: str, preset: str) -> Table:
    """Near and far OOD images and noise, by every metric of detection, and the mean confidence there."""
    own = [row for row in rows if row.method not in SCORES]
    parts = [
        part
        for where, chosen in ood_groups(on).items()
        for part in (
            *_parts(rows, ("auroc", "fpr95", "fpr95_ood"), {where: chosen}),
            *_parts(own, ("confidence", "mmc"), {where: chosen}),
        )
    ]
    title = _title("detection of OOD images, and the confidence there", on, preset)
    return _aside(_name("recipes-detection", on, preset), title, parts, rows, CONVENTIONS)


def _sets(rows: Sequence[Row], on: str, preset: str) -> Table:
    names = ood_names((row for row in rows if row.metric == "auroc"), (), on)
    chosen: dict[str, Chosen] = {labels.set_name(test): lambda row, test=test: row.test == test for test in names}  # type: ignore[misc]
    parts = _parts(rows, ("auroc", "fpr95", "fpr95_ood"), chosen)
    title = _title("every OOD set", on, preset)
    return _aside(_name("recipes-sets", on, preset), title, parts, rows, CONVENTIONS[:1])


def _aside(name: str, title: str, parts: Sequence[Part], rows: Sequence[Row], notes: Sequence[str] = ()) -> Table:
    names = {name for part in parts for name in part.entries}
    seeds = _seeds([row for row in rows if (row.method, row.variant) in names])
    return grouped_table(name, title, [seeds, *parts], notes=notes, aside=True)


def _parts(rows: Sequence[Row], metrics: Sequence[str], where: Mapping[str, Chosen]) -> list[Part]:
    """A column per place and metric, where there are values."""
    found = [(name, metric, means(rows, metric, chosen)) for name, chosen in where.items() for metric in metrics]
    return [measured(_column(metric, name), metric, values) for name, metric, values in found if values]


def _incomplete(rows: Sequence[Row]) -> str:
    """A note that lists the seeds that are left out of a mean, if any."""
    short = list[str]()
    for metric in ("ece", "auroc"):  # of clean and shifted sets, and of OOD sets
        found = [row for row in rows if row.metric == metric]
        every = len({(row.test, row.shift, row.level) for row in found})
        counts = Counter(((row.method, row.variant), row.seed) for row in found)
        those = [(label(name), seed, count) for (name, seed), count in counts.items() if count < every]
        short += [f"{name} at seed {seed} ({count} of {every} sets)" for name, seed, count in those]
    return f"Left out of means, because sets are missing: {'; '.join(short)}." if short else ""


def _column(metric: str, where: str) -> Column:
    return Column(f"{labels.metric(metric).name} {labels.better(metric)}", where)


def _name(kind: str, on: str, preset: str) -> str:
    return "-".join(part for part in (kind, on, preset) if part)


def _title(what: str, on: str, preset: str) -> str:
    network = NETWORKS.get(preset, preset)
    return f"{labels.set_name(on)}{f', {network}' if network else ''}: {what}"
