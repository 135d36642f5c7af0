"""Model cards of the published networks, from rows and records: data, recipe, seeds, files, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from slova_bench import labels, zoo
from slova_bench.frame import Frame, per_seed, where
from slova_bench.results_folder import ResultsFolder
from slova_bench.store import XZ, file_name
from slova_bench.tables.seeds import estimate
from slova_bench.tables.table import Column, number, table, text

__all__ = ["write_cards"]

NETWORKS = {
    "softmax": ("softmax", "temperature"),
    "ova": ("ova", "slova_raw", "slova", "slova_clean"),
    "slova_none": ("slova_none_raw", "slova_none"),
}
DECIDES = ("network", "backbone", "loss", "recipe", "data")
CLEAN, OOD = ("accuracy", "ece", "nll", "brier", "mmc"), ("mmc", "auroc", "fpr95")


def write_cards(results: ResultsFolder, folder: Path) -> list[Path]:
    """Write one card per network and training set that has rows."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for on in results.sets("ood"):
        for network, readouts in NETWORKS.items():
            if network in results.record("ood", on).get("methods", {}):
                written.append(folder / f"{network}-{on}.md")
                written[-1].write_text(card(results, on, network, readouts), encoding="utf-8")
    return written


def card(results: ResultsFolder, on: str, network: str, readouts: Sequence[str]) -> str:
    what = results.record("ood", on)["methods"][network]
    rows = pd.concat([results.rows(name, on) for name in ("shift", "ood") if on in results.sets(name)])
    seeds = sorted(map(int, rows.loc[rows["method"] == network, "seed"].unique()))
    return "\n".join(
        [
            f"# {network}-{on}",
            "",
            f"{_short(what['backbone'])}, trained on {labels.set_name(on)} with `{_short(what['loss'])}`. "
            f'`slova_bench.zoo.load("{network}-{on}")` loads the network of seed 0; append a seed for another.',
            "",
            f"- Recipe: {_recipe(what['recipe'])}",
            f"- Seeds: {', '.join(map(str, seeds))}; {_files(what, seeds)}",
            "- Input: floats of [0, 1], (N, 3, 32, 32), not normalised; output: one logit per class.",
            "- For research on confidence. The images show small objects of few classes; biases of the data were not "
            "addressed.",
            "",
            *_measured("On the clean test set, means over seeds ± standard error", rows, readouts, on, CLEAN),
            *_measured("Means over OOD sets", rows, readouts, on, OOD, ood=True),
        ]
    )


def _recipe(recipe: Mapping[str, Any]) -> str:
    optimiser = "SGD with Nesterov momentum" if recipe["adam_eps"] is None else "Adam"
    return (
        f"{recipe['epochs']} epochs, batches of {recipe['batch']}, {optimiser}, rate {recipe['rate']:g}, weight decay "
        f"{recipe['weight_decay']:g}, schedule {_short(recipe['schedule'])}, augmentation "
        f"{_short(recipe['augment'])}."
    )


def _files(what: Mapping[str, Any], seeds: Sequence[int]) -> str:
    """The files of the seeds, as far as the repository has them."""
    decides = {name: what[name] for name in DECIDES}
    names = {seed: file_name("weights", {**decides, "seed": seed}, f"safetensors{XZ}") for seed in seeds}
    kept = {seed: name for seed, name in names.items() if name in zoo.checksums()}
    files = ", ".join(f"`{name}`" for name in kept.values())
    return f"files: {files}" if kept == names else f"files of {', '.join(map(str, kept)) or 'none'}: {files}"


def _short(name: str) -> str:
    """A stable name without its version."""
    return name.partition("/")[0]


def _measured(
    title: str, rows: Frame, readouts: Sequence[str], on: str, metrics: Sequence[str], *, ood: bool = False
) -> list[str]:
    """A table of readouts by metrics; empty without rows."""
    inside = rows[(rows["shift"] == "") & ((rows["test"] == f"{on}-test") != ood)]
    columns = [Column("Readout", entries={name: text(labels.look(name).name) for name in readouts})]
    for metric in metrics:
        values = per_seed(where(inside, metric=metric))
        found = {name: estimate(values[name, ""]) for name in readouts if (name, "") in values}
        entries = {name: number(one.mean, error=one.error, digits=4) for name, one in found.items()}
        head = labels.head(metric) if ood or metric != "mmc" else labels.metric(metric).name
        columns.append(Column(head, entries=entries))
    filled = any(column.entries for column in columns[1:])
    return [f"{title}:", "", table("measured", title, columns, readouts).markdown()] if filled else []
