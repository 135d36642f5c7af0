"""Load scorer files and check output files before a command starts its work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from slova._atomic import kind_of_special
from slova._scorer_file import Saved, load_saved
from slova.io import TableError
from slova.scorer import Scorer

__all__ = ["check_output", "load", "scorer_or_none", "threshold"]


def load(path: Path) -> Saved:
    """A scorer, with threshold and names if it is that of a saved classifier."""
    try:
        saved = load_saved(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    if saved.scorer.distances:
        raise TableError(
            f"{path} is distance-aware and takes more than logits: export the classifier with its network, in Python "
            "with Classifier.export, or predict there"
        )
    return saved


def scorer_or_none(model: Path | None, head: str | None) -> Scorer | None:
    """The scorer of --model, or None for logits whose head is --head."""
    if model is not None and head is not None:
        raise click.UsageError("--head has no effect with --model, which has its own head")
    return None if model is None else load(model).scorer


def threshold(saved: Saved, options: Mapping[str, float | None]) -> float:
    """The threshold by --reject, --risk or --coverage, at most one of them; by default that of the file."""
    given = {name: value for name, value in options.items() if value is not None}
    if len(given) > 1:
        raise click.UsageError(f"give at most one of --reject, --risk and --coverage, got --{' and --'.join(given)}")
    if "risk" in given or "coverage" in given:
        if saved.scorer.validation is None:
            raise click.UsageError(
                f"--{next(iter(given))} requires a model that was fitted to validation rows: give --reject instead"
            )
        return float(saved.scorer.threshold(**given))
    return given.get("reject", saved.reject)


def check_output(output: Path, *inputs: Path | None) -> None:
    """The output must be in a writable folder and must not replace an input."""
    if str(output) == "-":
        return
    if not output.parent.is_dir():
        raise TableError(f"{output} cannot be written: there is no folder {output.parent}")
    if (kind := kind_of_special(output)) is not None:
        raise TableError(f"{output} cannot be written: it is {kind}; give the path of a file")
    if output.is_dir():
        raise TableError(f"{output} cannot be written: it is a folder")
    if not os.access(output.parent, os.W_OK):
        raise TableError(f"{output} cannot be written: its folder is read-only")
    for path in inputs:
        if path is not None and output.exists() and path.exists() and output.samefile(path):
            raise TableError(f"{output} is also an input and would be replaced")
