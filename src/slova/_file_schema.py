"""What a .slova file of a scorer may hold: which value may stand where, and the counts and ranges of its numbers.

The types of the fields are those that the dataclasses declare (`artifact.unpack`), and calibrators check the ranges of
their own numbers. Here is what they cannot know: the other parts of the scorer. Last, the scorer answers a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from slova._backend import Array
from slova.calibration import CALIBRATORS
from slova.evaluation import Conformity, FitReport
from slova.metrics import Selection
from slova.metrics.confidence_histogram import CELLS
from slova.scorer import Scorer

__all__ = ["PLACES", "SchemaError", "check_names", "check_reject", "check_scorer"]

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
INFINITE = ("max_distance", "max_distances")  # fields that may be infinite


class SchemaError(ValueError):
    """A field of a file is wrong."""


def check_scorer(scorer: Scorer) -> None:
    """Raise SchemaError if the parts of the scorer do not fit together."""
    if not 1 <= scorer.classes <= MOST_CLASSES:
        raise SchemaError(f"classes must be from 1 to {MOST_CLASSES}, got {scorer.classes}")
    problem = next(_problems(scorer), None)
    if problem is not None:
        raise SchemaError(problem)
    _try(scorer)


def check_names(names: Any, classes: int) -> tuple[str, ...]:
    """The names of the classes: as many, different, and printable."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError("names must be a list of text")
    if len(names) != classes:
        raise SchemaError(f"got {len(names)} names for {classes} classes")
    odd = next((name for name in names if not name.isprintable()), None)
    if odd is not None:
        raise SchemaError(f"the class name {odd[:80]!a} cannot be printed")
    if len(set(names)) < len(names):
        raise SchemaError("two classes have the same name")
    return tuple(names)


def check_reject(reject: Any) -> float:
    if type(reject) not in (int, float) or not 0 <= reject <= 1:
        raise SchemaError(f"reject must be a number from 0 to 1, got {str(reject)[:80]!r}")
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
    if any(share < 0 or share > 1 for share in shares) or min(found.nll_before, found.nll_after) < 0:  # NaN is unknown
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
        log_probs, log_none = scorer.readout(logits, ops, _no_distance(scorer.calibrator, len(rows)))
        total = np.exp(log_probs).sum(axis=1) + np.exp(log_none)
    if not (np.abs(total - 1) < 1e-3).all():
        raise SchemaError("the probabilities that it gives do not sum to one")


def _no_distance(calibrator: Any, rows: int) -> Array | None:
    """Distances of 0, for a calibrator that takes them."""
    if calibrator is None or calibrator.name not in ("distance", "posterior"):
        return None
    count = len(calibrator.positive_weights) - 1
    return None if calibrator.name == "posterior" and not count else np.zeros((rows, count))
