"""Warnings of a fit that is not good, with what to do about it."""

from __future__ import annotations

import warnings

import numpy as np

from slova._validation import NONE, Floats, Ints
from slova._warnings import CalibrationWarning
from slova.calibration import SmallValidationWarning
from slova.calibration._posterior_choice import FEWEST_ROWS
from slova.evaluation import FitReport
from slova.scorer import Scorer

GIVEN = "as given"  # the head of a fit that had nothing to recognise
BAD = 0.05  # a cross-fitted ECE above this, and 4 standard errors above that of a perfect model, is worth a warning
ENOUGH = 100  # rows that show whether logits say anything of the labels
MOST_CLASSES = 200  # whose columns are compared with all labels
FIT, MUCH = 0.5, 0.1  # the accuracy by other columns that shows that they are right, and its least gain


def warn_if_bad(scorer: Scorer) -> None:
    """Warns where the report of a fit shows that it is not good."""
    report = scorer.report
    assert report is not None
    is_default = getattr(scorer.calibrator, "name", "") == "posterior"
    if is_default and (rows := report.rows - report.none_rows) < FEWEST_ROWS:
        count = "1 row of a class is" if rows == 1 else f"{rows} rows of a class are"
        few = f"{count} few: below {FEWEST_ROWS} only a temperature is fitted; expect a rough fit"
        warnings.warn(few, SmallValidationWarning, stacklevel=2)
    if _is_no_better_than_frequencies(scorer, report):
        shares = (
            f"{report.accuracy:.1%} of the rows, the most frequent class alone would be in {report.largest_class:.1%}"
        )
        remedy = (
            "check that labels and rows have the same order, that label k is column k, and that inputs are "
            "preprocessed as in training"
        )
        warnings.warn(f"the top class is the label in {shares}: {remedy}", CalibrationWarning, stacklevel=2)
        return
    if scorer.calibrator is not None and report.ece_after > max(BAD, report.perfect_ece + 4 * report.error):
        remedy = "use more rows" if is_default else 'use the default, calibration="posterior"'
        if report.none_rows and is_default:
            remedy = "the network may not distinguish the NONE rows from the others: train it with rows labelled NONE"
        remedy += "" if report.found == GIVEN else ", or give head= if the kind of the logits is another one"
        warnings.warn(
            f"the calibration is not good: the cross-fitted ECE is {report.ece_after:.3f} ± {report.error:.3f} "
            f"({report.found}); {remedy}",
            CalibrationWarning,
            stacklevel=2,
        )


def warn_of_other_columns(logits: Floats, labels: Ints) -> bool:
    """Warns, and returns True, where the top class would be the label far more often if labels were other columns: the
    names of classes, which are sorted unless their order is given, or labels from 1 on."""
    from scipy.optimize import linear_sum_assignment

    known = labels != NONE
    count, classes = int(known.sum()), logits.shape[1]
    if count < ENOUGH or not 2 < classes <= MOST_CLASSES:
        return False
    table = np.zeros((classes, classes))
    np.add.at(table, (labels[known], logits[known].argmax(axis=1)), 1)
    now, best = (float(hits.sum()) / count for hits in (table.diagonal(), table[linear_sum_assignment(-table)]))
    if best < FIT or best < now + MUCH + 4 * np.sqrt(now * (1 - now) / count):
        return False
    message = (
        f"the top class is the label in {now:.1%} of the rows, and would be in {best:.1%} if the columns had another "
        "order: label k must be column k; names of classes are sorted unless names= gives them in the order of the "
        "columns"
    )
    warnings.warn(message, CalibrationWarning, stacklevel=2)
    return True


def _is_no_better_than_frequencies(scorer: Scorer, report: FitReport) -> bool:
    """Whether the top class is the label clearly less often than the most frequent class is; or not clearly more often,
    while the calibrated NLL is no less than without logits (at most 2 % less, which is chance)."""
    share = (report.accuracy * report.rows + 1) / (report.rows + 2)  # none of a few rows does not show that none is
    error = np.sqrt(share * (1 - share) / report.rows)
    if report.accuracy + 4 * error < report.largest_class:
        return True
    largest, others = report.largest_class, max(1 - report.largest_class, 1e-12)
    without = -largest * np.log(max(largest, 1e-12)) - others * np.log(others / max(scorer.classes - 1, 1))
    calibrated = scorer.calibrator is not None and report.rows >= ENOUGH
    return bool(calibrated and report.nll_after > 0.98 * without and report.accuracy < largest + 2 * error)
