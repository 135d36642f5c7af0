"""Files of scorers and classifiers, as arrays and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array
from slova._validation import NONE
from slova.calibration import CALIBRATORS
from slova.evaluation import Conformity, FitReport
from slova.heads import HEADS
from slova.metrics import Selection
from slova.scorer import Scorer

__all__ = ["Saved", "file_labels", "load_saved", "pack_scorer", "save_scorer", "unpack_scorer"]

PARTS = ("before", "calibrator", "none_calibrator", "validation", "conformity", "report")
VALUES: dict[str, type] = {**CALIBRATORS, "Selection": Selection, "Conformity": Conformity, "FitReport": FitReport}


class Saved(NamedTuple):
    """The content of a file: a scorer, and a classifier's threshold and class names (0 and None for a scorer)."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None


def save_scorer(scorer: Scorer, path: str | Path) -> None:
    artifact.save(path, "scorer", *pack_scorer(scorer))


def load_saved(path: str | Path) -> Saved:
    """The content of a file of a scorer, or of a classifier, without its network."""
    tensors, meta = artifact.load(path, "scorer", "classifier")
    try:
        names = meta.get("names")
        scorer = unpack_scorer(tensors, meta)
        return Saved(scorer, float(meta.get("reject") or 0.0), None if names is None else tuple(names))
    except (artifact.ArtifactError, TypeError) as error:
        raise artifact.ArtifactError(f"{path} cannot be used: {error}") from error


def pack_scorer(scorer: Scorer) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays and JSON, for an artifact."""
    if HEADS.get(scorer.head.name) != scorer.head:
        raise ValueError(f"the head {scorer.head.name!r} is not one of {', '.join(HEADS)} and cannot be saved")
    tensors, meta = artifact.pack_parts(scorer, PARTS, VALUES)
    return tensors, {"classes": scorer.classes, "head": scorer.head.name, **meta}


def unpack_scorer(tensors: dict[str, Array], meta: dict[str, Any]) -> Scorer:
    if meta.get("head") not in HEADS:
        raise artifact.ArtifactError(f"the head {meta.get('head')!r} is not one of {', '.join(HEADS)}")
    try:
        parts = artifact.unpack_parts(tensors, meta, PARTS, VALUES)
        return Scorer(classes=int(meta["classes"]), head=HEADS[meta["head"]], **parts)
    except (KeyError, AttributeError, TypeError) as error:
        raise artifact.ArtifactError(f"the content is not that of a scorer ({error!r})") from error


def file_labels(names: Sequence[str], classes: int) -> Array:
    """The text that stands in a file for each label of so many classes: its name, and last "-1" for NONE."""
    none = str(int(NONE))
    if len(names) != classes:
        raise ValueError(f"got {len(names)} names for {classes} classes")
    if none in names:
        raise ValueError(f"a class is named {none!r}, which is NONE in a file: rename it")
    return np.array([*names, none])  # NONE = -1 finds the last one
