"""What a file says beside its scorer: a saved classifier has names and a threshold of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array
from slova.heads import NONE
from slova.scorer import Scorer

__all__ = ["Saved", "load_saved", "texts"]


class Saved(NamedTuple):
    """Of a scorer's file the threshold is 0, and there are no names."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None


def load_saved(path: str | Path) -> Saved:
    """Of a scorer, or of a classifier, whose network is left alone."""
    tensors, meta = artifact.load(path, "scorer", "classifier")
    try:
        names = meta.get("names")
        called = None if names is None else tuple(names)
        return Saved(Scorer.unpacked(tensors, meta), float(meta.get("reject") or 0.0), called)
    except (KeyError, AttributeError, TypeError) as error:
        raise artifact.ArtifactError(f"{path} is damaged: its content is not that of a scorer ({error})") from error


def texts(names: Sequence[str], classes: int) -> Array:
    """What stands in a file for each label of so many classes: its name at its place, and "-1" for NONE at the end."""
    if len(names) != classes:
        raise ValueError(f"got {len(names)} names for {classes} classes")
    if str(NONE) in names:
        raise ValueError(f"a class is called {str(NONE)!r}, which is NONE in a file: call it something else")
    return np.array([*names, str(NONE)])  # NONE = -1 finds the last one
