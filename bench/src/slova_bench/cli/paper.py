"""`slova bench paper`: all experiments of the paper, what is left of them, and what fits into a number of minutes."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slova.cli.options import FILE
from slova.cli.report import write
from slova.cli.terminal import aligned
from slova_bench.cli.options import Minutes, data_dir, results, store
from slova_bench.cli.report import comparison_page

if TYPE_CHECKING:
    from slova_bench.runner import Plan

__all__ = ["missing", "paper", "plans"]

Left = tuple["Plan", list[tuple[str, int]], dict[str, float]]  # a plan and what `missing` says of it

SETS = ("cifar10", "cifar100", "svhn")
OVA = ("ova", "slova_raw", "slova")  # one network
OOD = ("softmax", "ceda", "acet_short", "react", *OVA, "slova_none_raw", "slova_none", "slova_clean", "slova_distance")
FITS = ("ensemble_temperature", "slova_paper_fit")  # further fits of its networks
BAYES = ("softmax", "temperature", "dropout", "ensemble", "svi", "ll_svi", "ll_dropout", "ova_dm", "slova")
# Experiment, training sets, methods (None: its own), preset; cheap ones first.
WORK: tuple[tuple[str, tuple[str, ...], tuple[str, ...] | None, str], ...] = (
    *((name, SETS[:1], None, "fair") for name in ("appendix", "ablation", "stability", "noise", "maps")),
    *((name, SETS[:1], None, "fair") for name in ("directions", "plane")),
    ("shift", SETS[:1], (*BAYES, *FITS, "slova_normalised"), "fair"),
    ("ood", SETS, OOD, "fair"),
    ("ood", SETS[:1], ("ensemble", *FITS), "fair"),
    ("shift", SETS[:1], ("ensemble_ten",), "fair"),
    ("ood", SETS, ("softmax", "react", *OVA), "paper"),
    *(
        ("shift", SETS[:1], ("softmax", "temperature", *OVA), name)
        for name in ("authors", "interpolated", "small_batch")
    ),
    ("shift", SETS[:1], OVA, "searched"),
    ("recipes", SETS, ("slova_image_mixed", "softmax_mixed", "softmax_mixed_degraded"), "fair"),
    ("ood", SETS[:1], ("acet",), "fair"),
    ("ood", SETS[:1], ("acet_full",), "paper"),
)
ONE_SEED = (("acet",), ("acet_full",))  # too expensive for more
# Of a training on one H200, by method and preset; others: USUAL.
MINUTES = {"acet": 26.0, "acet_full": 26.0, "acet_short": 3.8, "svi": 2.0, "dropout": 2.0, "slova_image_mixed": 2.0}
OF_PRESET = {"authors": 3.0, "searched": 3.0, "small_batch": 8.0, "paper": 2.5}
USUAL = 1.2


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="The first so many of each method.")
@click.option("--minutes", type=Minutes(0), default=0.0, show_default=True, help="Run what fits; 0: plan only.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto for the best available.")
@click.option("-o", "--output", type=FILE, default="report.html", show_default=True, help="The page to write.")
@data_dir
@results
@store
def paper(seeds: int, minutes: float, output: Path, **options: Any) -> None:
    """Plan the whole paper: what there is, what is missing, and how many GPU minutes that takes; then run what fits
    into --minutes, and write the page.

    Example: slova bench paper --minutes 60
    """
    left = [(plan, *missing(plan)) for plan in plans(tuple(range(seeds)), **options)]
    click.echo(_table(left))
    every = {key: takes for *_, networks in left for key, takes in networks.items()}
    click.echo(
        f"{sum(every.values()):.0f} GPU minutes are missing (estimated for one H200): each network to train, once. "
        "Networks in the store or in bench/models are only evaluated"
    )
    lost, unfinished = _run(left, minutes)
    if unfinished:
        click.echo(
            f"{unfinished} lines of the plan did not fit into {minutes:g} minutes: run it again to continue", err=True
        )
    if options["results"].is_dir():
        write(output, comparison_page(options["results"]))
    if lost:
        raise click.ClickException("; ".join(f"{on} was left out: {error}" for on, error in lost.items()))


def _run(left: list[Left], minutes: float) -> tuple[dict[str, Exception], int]:
    """Run what fits. Training sets whose data cannot be read are left out, and returned with the reason; then how many
    plans are left for another run."""
    from slova_bench.cli.progress import run_with_progress
    from slova_bench.data.download import DataError, DownloadError

    lost: dict[str, Exception] = {}
    unfinished = 0
    end = time.monotonic() + 60 * minutes
    for plan, lacking, networks in left:
        remaining = (end - time.monotonic()) / 60
        if not minutes or not lacking or plan.on in lost:
            continue
        if min(networks.values(), default=0) > remaining:
            unfinished += 1
            continue
        try:
            _, sets = run_with_progress(replace(plan, minutes=remaining))
            unfinished += sets > 0
        except (DataError, DownloadError) as error:
            lost[plan.on] = error
    return lost, unfinished


def plans(seeds: tuple[int, ...], **options: Any) -> list[Plan]:
    """One plan per experiment, training set and preset."""
    from slova_bench.runner import Plan

    return [
        Plan(
            experiment=name,
            on=on,
            methods=methods,
            preset=preset,
            seeds=seeds[:1] if methods in ONE_SEED else seeds,
            **options,
        )
        for name, sets, methods, preset in WORK
        for on in sets
    ]


def missing(plan: Plan) -> tuple[list[tuple[str, int]], dict[str, float]]:
    """Methods and seeds without all of their rows, and of the networks of these that have to be trained first, by their
    description, the minutes that each takes."""
    from slova_bench.pipeline import member_seeds

    chosen, bench, known = plan.chosen(), plan.bench(), _known(plan)
    if not chosen:
        return ([] if known else [(plan.experiment, 0)]), {}
    pairs = [(method, seed) for method in chosen for seed in plan.seeds]
    lacking = [(method, seed) for method, seed in pairs if (method.name, method.preset, seed) not in known]
    networks: dict[str, float] = {}
    for method, seed in lacking:
        for member in member_seeds(method.members, seed):
            what = bench.weights(method, member)
            if bench.store.find("weights", what) is None:
                takes = MINUTES.get(method.name, OF_PRESET.get(plan.preset, USUAL))
                networks.setdefault(json.dumps(what, sort_keys=True), takes)
    return [(method.name, seed) for method, seed in lacking], networks


def _known(plan: Plan) -> set[tuple[str, str, int]]:
    """Methods, presets and seeds with rows; of an experiment on test sets, with rows of as many as any other. A run
    that was interrupted has fewer."""
    from slova_bench.experiment import Experiment

    sets = defaultdict[tuple[str, str, int], set[Any]](set)
    for row in plan.rows.read():
        sets[row.method, row.preset, row.seed].add(row.cell._replace(method="", preset="", seed=0, n=0))
    most = max(map(len, sets.values()), default=0) if isinstance(plan.checked(), Experiment) else 0
    return {one for one, found in sets.items() if len(found) >= most}


def _table(left: list[Left]) -> str:
    """The methods come last, because their names are longer than a line."""
    rows, missing = [["experiment", "on", "preset", "networks to train", "minutes"]], ["missing"]
    for plan, lacking, networks in left:
        counts = Counter(name for name, _ in lacking)
        words = ", ".join(f"{name} ({count})" for name, count in counts.items()) or "nothing"
        trained = f"{len(networks)}" if networks or not lacking else "none: evaluated only"
        rows.append([plan.experiment, plan.on, plan.preset, trained, f"{sum(networks.values()):.0f}"])
        missing.append(words)
    return "\n".join(f"{line}  {words}" for line, words in zip(aligned(rows).splitlines(), missing, strict=True))
