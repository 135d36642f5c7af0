"""A card for each network that is worth shipping, from rows and records alone: data, recipe, seeds, files, metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slova_bench import labels
from slova_bench.results import Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.store import XZ, file_name
from slova_bench.tables.seeds import estimate

__all__ = ["NETWORKS", "card", "write_cards"]

NETWORKS = {
    "softmax": ("softmax", "temperature"),
    "ova": ("ova", "slova_raw", "slova", "slova_clean"),
    "slova_none": ("slova_none_raw", "slova_none"),
}
DECIDES = ("network", "backbone", "loss", "recipe", "data")
CLEAN, FOREIGN = ("accuracy", "ece", "nll", "brier", "mmc"), ("mmc", "auroc", "fpr95")


def write_cards(evidence: ResultsFolder, folder: Path) -> list[Path]:
    """Those that there are rows for: one file for each network of the list and each training set."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for on in evidence.sets("ood"):
        for network, readouts in NETWORKS.items():
            if network in evidence.record("ood", on).get("methods", {}):
                written.append(folder / f"{network}-{on}.md")
                written[-1].write_text(card(evidence, on, network, readouts), encoding="utf-8")
    return written


def card(evidence: ResultsFolder, on: str, network: str, readouts: Sequence[str]) -> str:
    what = evidence.record("ood", on)["methods"][network]
    rows = [*(evidence.rows("shift", on) if on in evidence.sets("shift") else []), *evidence.rows("ood", on)]
    seeds = sorted({row.seed for row in rows if row.method == network})
    return "\n".join(
        [
            f"# {network}-{on}",
            "",
            f"{_short(what['backbone'])}, trained on {labels.set_name(on)} with `{_short(what['loss'])}`. "
            f'`slova_bench.zoo.load("{network}-{on}")` gives the network of seed 0, with a number behind it another.',
            "",
            f"- Recipe: {_recipe(what['recipe'])}",
            f"- Seeds: {', '.join(map(str, seeds))}; files: {', '.join(_file(what, seed) for seed in seeds)}",
            "- Input: floats of [0, 1], (N, 3, 32, 32), not normalised; output: one logit a class.",
            "- For research on confidence; the images show small objects of few kinds, and nothing was done about the "
            "biases of the data.",
            "",
            *_measured("On the clean test set, means over seeds ± standard error", rows, readouts, on, CLEAN),
            *_measured("Means over foreign sets", rows, readouts, on, FOREIGN, foreign=True),
        ]
    )


def _recipe(recipe: Mapping[str, Any]) -> str:
    optimiser = "SGD with Nesterov momentum" if recipe["adam_eps"] is None else "Adam"
    return (
        f"{recipe['epochs']} epochs, batches of {recipe['batch']}, {optimiser}, rate {recipe['rate']:g}, weight decay "
        f"{recipe['weight_decay']:g}, schedule {_short(recipe['schedule'])}, augmentation "
        f"{_short(recipe['augment'])}."
    )


def _file(what: Mapping[str, Any], seed: int) -> str:
    what = {**{name: what[name] for name in DECIDES}, "seed": seed}
    return f"`{file_name('weights', what, f'safetensors{XZ}')}`"


def _short(name: str) -> str:
    """A stable name without its version."""
    return name.partition("/")[0]


def _measured(
    title: str, rows: Sequence[Row], readouts: Sequence[str], on: str, metrics: Sequence[str], *, foreign: bool = False
) -> list[str]:
    """A table of read-outs by metrics; nothing where there are no rows."""
    inside = [row for row in rows if not row.shift and (row.test == f"{on}-test") != foreign]
    found = {name: [_mean(inside, name, metric) for metric in metrics] for name in readouts}
    if not any(value for values in found.values() for value in values):
        return []
    heads = [_head(metric, judged=foreign or metric != "mmc") for metric in metrics]
    lines = [["Read-out", *heads], ["---"] * (len(heads) + 1)]
    lines += [[labels.look(name).name, *(value or "–" for value in values)] for name, values in found.items()]
    return [f"{title}:", "", *(f"| {' | '.join(line)} |" for line in lines), ""]


def _head(metric: str, *, judged: bool) -> str:
    name = labels.metric(metric).name
    return f"{name} {labels.better(metric)}" if judged else name


def _mean(rows: Sequence[Row], method: str, metric: str) -> str:
    seeds: dict[int, list[float]] = {}
    for row in rows:
        if (row.method, row.metric, row.variant) == (method, metric, ""):
            seeds.setdefault(row.seed, []).append(row.value)
    if not seeds:
        return ""
    found = estimate({seed: float(np.mean(values)) for seed, values in seeds.items()})
    return f"{found.mean:.4f}" + ("" if found.error is None else f" ± {found.error:.4f}")
