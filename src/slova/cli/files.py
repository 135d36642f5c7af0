"""Scorer files for commands: what cannot be used is said in a sentence, before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from slova.artifact import ArtifactError
from slova.scorer import Scorer
from slova.tables import TableError

__all__ = ["check_output", "load_scorer"]


def load_scorer(path: Path) -> Scorer:
    try:
        return Scorer.load(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise ArtifactError(f"{path} is damaged: its content is not that of a scorer ({error})") from error


def check_output(output: Path, *inputs: Path | None) -> None:
    """The output goes to a folder that can be written to, and does not replace an input."""
    if str(output) == "-":
        return
    if not output.parent.is_dir():
        raise TableError(f"{output} cannot be written: there is no folder {output.parent}")
    if output.is_dir():
        raise TableError(f"{output} cannot be written: it is a folder")
    if not os.access(output.parent, os.W_OK):
        raise TableError(f"{output} cannot be written: its folder is read-only")
    for path in inputs:
        if path is not None and output.exists() and path.exists() and output.samefile(path):
            raise TableError(f"{output} is also an input, and would be replaced")
