"""Files of scorers and classifiers, as arrays and JSON, and what such a file may hold.

The types of the fields are those that the dataclasses declare (`artifact.unpack`), and calibrators check the ranges of
their own numbers. Here is what they cannot know: which value may stand where, and the other parts of the scorer. Last,
the scorer answers a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slova import artifact
from slova._backend import Array
from slova._labels import class_names
from slova._validation import NONE
from slova.calibration import CALIBRATORS
from slova.evaluation import Conformity, FitReport
from slova.heads import HEADS
from slova.metrics import Selection
from slova.metrics.confidence_histogram import CELLS
from slova.scorer import Scorer

PLACES: Mapping[str, Mapping[str, type]] = {
    "before": {word: kind for word, kind in CALIBRATORS.items() if kind.takes == "logits"},
    "calibrator": {word: kind for word, kind in CALIBRATORS.items() if kind.takes != "logits"},
    "none_calibrator": {
        word: kind for word, kind in CALIBRATORS.items() if kind.takes == "log_probs" and kind.elementwise
    },
    "validation": {"Selection": Selection},
    "conformity": {"Conformity": Conformity},
    "report": {"FitReport": FitReport},
}
"""The parts of a scorer, and the types that each may have."""
MOST_CLASSES = 1 << 31
FEW = 8
LARGEST = 1e30  # of the numbers of a calibrator: what float32 can hold, with room for products
INFINITE = ("max_distances",)  # fields that may be infinite
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
        _check_scorer(scorer)
        names = None if meta.get("names") is None else check_names(meta["names"], scorer.classes)
        return Saved(scorer, _check_reject(meta.get("reject", 0.0)), names)
    except (TypeError, ValueError) as error:
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
    none, names = str(int(NONE)), class_names(names, classes)
    if none in names:
        raise ValueError(f"a class is named {none!r}, which is NONE in a file: rename it")
    return np.array([*names, none])  # NONE = -1 finds the last one


def _check_scorer(scorer: Scorer) -> None:
    """Raises if the parts of the scorer do not fit together."""
    if not 1 <= scorer.classes <= MOST_CLASSES:
        raise ValueError(f"classes must be from 1 to {MOST_CLASSES}, got {scorer.classes}")
    for problem in _problems(scorer):
        raise ValueError(problem)
    _try(scorer)


def check_names(names: Any, classes: int) -> tuple[str, ...]:
    """The names of the classes: as many, different, and printable."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("names must be a list of text")
    odd = next((name for name in names if not name.isprintable()), None)
    if odd is not None:
        raise ValueError(f"the class name {odd[:80]!a} cannot be printed")
    return class_names(names, classes)


def _check_reject(reject: Any) -> float:
    if type(reject) not in (int, float) or not 0 <= reject <= 1:
        raise ValueError(f"reject must be a number from 0 to 1, got {str(reject)[:80]!r}")
    return float(reject)


def _problems(scorer: Scorer) -> Iterator[str]:
    for place in ("before", "calibrator", "none_calibrator"):
        yield from _number_problems(getattr(scorer, place), place)
    expected = getattr(scorer.calibrator, "classes", scorer.classes)
    if expected != scorer.classes:
        yield f"the calibrator has {expected} classes, the scorer {scorer.classes}"
    if scorer.head.columns is not None and scorer.classes != 2:
        yield f"the head {scorer.head.name} has 2 classes, not {scorer.classes}"
    if scorer.validation is not None:
        yield from _selection_problems(scorer.validation)
    if scorer.conformity is not None:
        yield from _conformity_problems(scorer.conformity, scorer.classes)
    if scorer.report is not None:
        yield from _report_problems(scorer.report)


def _number_problems(part: Any, place: str) -> Iterator[str]:
    """Numbers that no fit gives: not finite, or too large to calculate with."""
    for field in () if part is None else fields(part):
        value = getattr(part, field.name)
        if field.name in INFINITE or not isinstance(value, float | np.ndarray):
            continue
        if not (np.abs(np.asarray(value, np.float64)) <= LARGEST).all():
            yield f"{place}.{field.name} must be finite, and at most {LARGEST:g}"


def _selection_problems(found: Selection) -> Iterator[str]:
    columns = [np.asarray(getattr(found, field.name)) for field in fields(found)]
    if any(column.shape != (CELLS,) for column in columns):
        yield f"the arrays of validation must have shape ({CELLS},)"
        return
    count, hits, total, least, largest = columns
    if not (_whole(count) and _whole(hits) and (hits <= count).all() and count.sum() > 0):
        yield "validation must count rows, and hits among them"
        return
    there = count > 0
    inside = (least[there] >= 0).all() and (least[there] <= largest[there]).all() and (largest[there] <= 1).all()
    if not (inside and np.isfinite(total).all() and (total >= 0).all() and (total <= count * (1 + 1e-9)).all()):
        yield "the confidences of validation must be from 0 to 1"


def _conformity_problems(found: Conformity, classes: int) -> Iterator[str]:
    scores, outcomes = np.asarray(found.scores), np.asarray(found.outcomes)
    if scores.ndim != 1 or scores.shape != outcomes.shape or not scores.size:
        yield f"conformity must have one score per outcome, got shapes {scores.shape} and {outcomes.shape}"
    elif not ((scores >= 0) & (scores <= 1)).all():
        yield "the scores of conformity must be from 0 to 1"
    elif not (_whole(outcomes) and outcomes.max() <= classes):
        yield f"the outcomes of conformity must be from 0 to {classes}"


def _report_problems(found: FitReport) -> Iterator[str]:
    if not 0 <= found.none_rows <= found.rows:
        yield f"the report has {found.none_rows} NONE rows of {found.rows}"
    shares = (found.ece_before, found.ece_after, found.error, found.perfect_ece, found.accuracy, found.largest_class)
    losses = (found.nll_before, found.nll_after, found.plain_nll or 0.0)
    if any(share < 0 or share > 1 for share in (*shares, found.plain_ece or 0.0)) or any(loss < 0 for loss in losses):
        yield "the report must have shares from 0 to 1, and no negative NLL"


def _whole(counts: Array) -> bool:
    return counts.dtype.kind in "iu" and bool((counts >= 0).all())


def _try(scorer: Scorer) -> None:
    """The answers to a few rows must be distributions. These rows are values of every kind, probabilities too."""
    if not hasattr(scorer.calibrator, "classes"):  # as good with few classes, and no array of as many as are declared
        scorer = replace(scorer, classes=min(scorer.classes, FEW))
    columns = scorer.head.columns or scorer.classes
    rows = np.full((3, columns), 1 / max(2, columns))
    rows[1:, 0] += [1e-3, -1e-3]
    with np.errstate(all="ignore"):
        logits, ops = scorer.head.check(rows, scorer.classes)
        distances = np.zeros((len(rows), scorer.distances)) if scorer.distances else None
        log_probs, log_none = scorer.readout(logits, ops, distances)
        total = np.exp(log_probs).sum(axis=1) + np.exp(log_none)
    if not (np.abs(total - 1) < 1e-3).all():
        raise ValueError("the probabilities that it gives do not sum to one")
