"""Files of scorers and classifiers, as arrays and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array
from slova._file_schema import PLACES, SchemaError, check_names, check_reject, check_scorer
from slova._validation import NONE
from slova.heads import HEADS
from slova.scorer import Scorer

__all__ = ["Saved", "file_labels", "load_saved", "pack_scorer", "save_scorer", "unpack_saved"]

VALUES: dict[str, type] = {word: kind for types in PLACES.values() for word, kind in types.items()}


class Saved(NamedTuple):
    """The content of a file: a scorer, and a classifier's threshold and class names (0 and None for a scorer)."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None


def save_scorer(scorer: Scorer, path: str | Path) -> None:
    artifact.save(path, "scorer", *pack_scorer(scorer))


def load_saved(path: str | Path) -> Saved:
    """The content of a file of a scorer, or of a classifier, without its network."""
    return unpack_saved(*artifact.load(path, "scorer", "classifier"), path)


def pack_scorer(scorer: Scorer) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays and JSON, for an artifact."""
    if HEADS.get(scorer.head.name) != scorer.head:
        raise ValueError(f"the head {scorer.head.name!r} is not one of {', '.join(HEADS)} and cannot be saved")
    tensors, meta = artifact.pack_parts(scorer, tuple(PLACES), VALUES)
    return tensors, {"classes": scorer.classes, "head": scorer.head.name, **meta}


def unpack_saved(tensors: dict[str, Array], meta: dict[str, Any], path: str | Path) -> Saved:
    """What the arrays and the JSON of a file hold, every field checked."""
    try:
        scorer = _unpack_scorer(tensors, meta)
        check_scorer(scorer)
        names = None if meta.get("names") is None else check_names(meta["names"], scorer.classes)
        return Saved(scorer, check_reject(meta.get("reject", 0.0)), names)
    except (artifact.ArtifactError, SchemaError, TypeError, ValueError) as error:
        raise artifact.ArtifactError(f"{path} cannot be used: {error}") from error


def _unpack_scorer(tensors: dict[str, Array], meta: dict[str, Any]) -> Scorer:
    head, classes = meta.get("head"), meta.get("classes")
    if not isinstance(head, str) or head not in HEADS:
        raise artifact.ArtifactError(f"the head {str(head)[:80]!r} is not one of {', '.join(HEADS)}")
    if type(classes) is not int:
        raise artifact.ArtifactError(f"classes must be an integer, got {str(classes)[:80]!r}")
    return Scorer(classes=classes, head=HEADS[head], **artifact.unpack_parts(tensors, meta, PLACES))


def file_labels(names: Sequence[str], classes: int) -> Array:
    """The text that stands in a file for each label of so many classes: its name, and last "-1" for NONE."""
    none = str(int(NONE))
    if len(names) != classes:
        raise ValueError(f"got {len(names)} names for {classes} classes")
    if none in names:
        raise ValueError(f"a class is named {none!r}, which is NONE in a file: rename it")
    return np.array([*names, none])  # NONE = -1 finds the last one
