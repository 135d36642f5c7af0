"""`slova demo`: the numbers of `slova.demo` as tables."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import click

from slova.cli.terminal import aligned, print_json, progress
from slova.demo import Cell, Promise, Report

__all__ = ["run"]


def run(seed: int, risk: float, as_json: bool) -> None:
    _check_extras()
    from slova.demo import run as compute

    with progress("training") as tell:
        report = compute(seed, risk=risk, tell=tell)
    print_json(_plain(report)) if as_json else click.echo(_text(report, risk))


def _check_extras() -> None:
    for name in ("torch", "sklearn"):
        try:
            importlib.import_module(name)
        except ImportError:
            raise click.ClickException(f'the demo needs {name}: pip install "slova[torch,sklearn]"') from None


def _plain(report: Report) -> dict[str, object]:
    cells = [{name: value for name, value in cell._asdict().items() if value is not None} for cell in report.cells]
    promises = [promise._asdict() for promise in report.promises]
    return {
        "seed": report.seed,
        "images": report.images,
        "cells": cells,
        "promises": promises,
        "over_one": report.over_one,
    }


def _text(report: Report, risk: float) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in report.images.items())
    return "\n\n".join(
        [
            f"scikit-learn's digits: {counts} images; seed {report.seed}",
            "On clean test images, and the mean over nine shifts of them (noise, rotation, translation):",
            aligned(_digit_rows(report.cells)),
            "On images that show no digit: mean maximal confidence (low is good), AUROC against the clean test images:",
            aligned(_foreign_rows(report.cells)),
            _promised(report, risk),
            f"Calibrated class by class, {report.over_one:.1%} of the clean rows of SLOVA sum to more than one;\n"
            "completed, all sum to one, with none of the digits as an eleventh outcome.",
        ]
    )


def _digit_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """A line a method: each metric on the clean images, then its mean over the shifted ones."""
    names = {"accuracy": "accuracy", "ece": "ECE", "nll": "NLL", "brier": "Brier"}
    places = [(kind, name) for kind in ("clean", "shifted") for name in names]
    heads = [["", *(kind for kind, _ in places)], ["", *(names[name] for _, name in places)]]
    lines = ([method, *(_mean(cells, method, *place) for place in places)] for method in _methods(cells))
    return [*heads, *lines]


def _foreign_rows(cells: Sequence[Cell]) -> list[list[str]]:
    sets = list(dict.fromkeys(cell.images for cell in cells if cell.kind == "foreign"))
    places = [(images, name) for name in ("mmc", "auroc") for images in sets]
    heads = [["", *(name.upper() for _, name in places)], ["", *(images for images, _ in places)]]
    lines = ([method, *(_mean(cells, method, *place) for place in places)] for method in _methods(cells))
    return [*heads, *lines]


def _methods(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.method for cell in cells))


def _mean(cells: Sequence[Cell], method: str, where: str, name: str) -> str:
    """The mean over the sets of that kind, or of that name."""
    values = [getattr(cell, name) for cell in cells if cell.method == method and where in (cell.kind, cell.images)]
    return f"{sum(values) / len(values):.3f}"


def _promised(report: Report, risk: float) -> str:
    lines = [f"Promised: at most {risk:.1%} errors among answers to images like the validation ones (certainty 95 %)."]
    lines += [line for promise in report.promises for line in _kept(promise)]
    return "\n".join(lines if report.promises else [*lines, "After these validation images no method can."])


def _kept(promise: Promise) -> list[str]:
    def answered(kind: str) -> str:
        error = promise.errors[kind]
        wrong = "" if error is None else f", {error:.1%} of the answers wrong"
        return f"answered {promise.answered[kind]:,} of {promise.images[kind]:,}{wrong}"

    rejected = 1 - promise.answered["foreign"] / promise.images["foreign"]
    return [
        f"{promise.method}, which rejects below a confidence of {promise.threshold:.3f}:",
        f"  clean:    {answered('clean')}",
        f"  shifted:  {answered('shifted')} (nothing was promised here)",
        f"  no digit: rejected {rejected:.1%} of {promise.images['foreign']:,}",
    ]
