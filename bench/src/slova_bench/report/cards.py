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

__all__ = ["NETWORKS", "card", "write_cards"]

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
    names = {seed: _file(what, seed) for seed in seeds}
    kept = {seed: name for seed, name in names.items() if name in zoo.checksums()}
    files = ", ".join(f"`{name}`" for name in kept.values())
    return f"files: {files}" if kept == names else f"files of {', '.join(map(str, kept)) or 'none'}: {files}"


def _file(what: Mapping[str, Any], seed: int) -> str:
    what = {**{name: what[name] for name in DECIDES}, "seed": seed}
    return file_name("weights", what, f"safetensors{XZ}")


def _short(name: str) -> str:
    """A stable name without its version."""
    return name.partition("/")[0]


def _measured(
    title: str, rows: Frame, readouts: Sequence[str], on: str, metrics: Sequence[str], *, ood: bool = False
) -> list[str]:
    """A table of readouts by metrics; empty without rows."""
    inside = rows[(rows["shift"] == "") & ((rows["test"] == f"{on}-test") != ood)]
    columns = [per_seed(where(inside, metric=metric)) for metric in metrics]
    found = {name: [_mean(column.get((name, ""), {})) for column in columns] for name in readouts}
    if not any(value for values in found.values() for value in values):
        return []
    heads = [_head(metric, judged=ood or metric != "mmc") for metric in metrics]
    lines = [["Readout", *heads], ["---"] * (len(heads) + 1)]
    lines += [[labels.look(name).name, *(value or "–" for value in values)] for name, values in found.items()]
    return [f"{title}:", "", *(f"| {' | '.join(line)} |" for line in lines), ""]


def _head(metric: str, *, judged: bool) -> str:
    name = labels.metric(metric).name
    return f"{name} {labels.better(metric)}" if judged else name


def _mean(seeds: Mapping[int, float]) -> str:
    if not seeds:
        return ""
    found = estimate(seeds)
    return f"{found.mean:.4f}" + ("" if found.error is None else f" ± {found.error:.4f}")
