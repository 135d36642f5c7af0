"""The verdict of the page in words: whether confidences can be taken at face value, and what to try where not."""

from __future__ import annotations

import numpy as np

from slova.evaluation import ece_of
from slova.metrics import Ece, Selection
from slova.report.details import Usage
from slova.thresholds import threshold_for

__all__ = ["RISKS", "covered", "drift", "verdict"]

CLEAR = 2.0  # standard errors
RISKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


def verdict(state: Ece, selection: Selection, *, calibrated: bool) -> list[str]:
    """Sentences on calibration and on what can be promised, from the counts by confidence of all rows."""
    return [_calibration(state, calibrated), _guarantee(selection)]


def _calibration(state: Ece, calibrated: bool) -> str:
    rows = int(state.count.sum())
    accuracy, confidence = state.hits.sum() / rows, state.total.sum() / rows
    gap, error = 100 * (confidence - accuracy), 100 * np.sqrt(max(accuracy * (1 - accuracy), 1 / rows) / rows)
    means = f"mean confidence {100 * confidence:.1f} %, accuracy {100 * accuracy:.1f} % (± {error:.1f})"
    if abs(gap) > CLEAR * error:
        kind = "Overconfident" if gap > 0 else "Underconfident"
        return f"{kind} by {abs(gap):.1f} points: {means}. Try: {_remedy(calibrated)}"
    ece = ece_of(state)
    expected = _perfect(state)
    if ece.value > expected + CLEAR * ece.error:
        return (
            f"Right on average ({means}), but not at each confidence: ECE {ece.value:.3f}, and {expected:.3f} if "
            f"calibrated. Try: {_remedy(calibrated)}"
        )
    return f"Calibrated, as far as {rows:,} rows can show: {means}; ECE {ece.value:.3f}, expected {expected:.3f}."


def _perfect(state: Ece) -> float:
    """The ECE of a calibrated model with these confidences: the mean of |noise| in each bin."""
    rows = np.maximum(state.count, 1)
    share = np.clip(state.total / rows, 0, 1)
    return float((np.sqrt(2 / np.pi * state.count * share * (1 - share))).sum() / state.count.sum())


def _remedy(calibrated: bool) -> str:
    if not calibrated:
        return "slova fit on labelled validation rows, then this report with --model."
    return (
        "a fit on rows like these. The rows of the fit were different, or few; the tables by class and by subgroup "
        "show where. Images: slova.Classifier.fit, which is distance-aware."
    )


def _guarantee(selection: Selection) -> str:
    for risk in (0.05, *RISKS):
        found = covered(selection, risk)
        if found is not None:
            answers = f"above a confidence of {found[0]:.3f}, which answers {found[1]:.1%} of the rows"
            return f"At most {risk:.1%} of the answers are wrong {answers} (guaranteed with 95 % certainty)."
    return f"No threshold guarantees an error of {RISKS[-1]:.0%} or less: more rows, or a better model, are needed."


def covered(selection: Selection, risk: float) -> tuple[float, float, float] | None:
    """The threshold that guarantees this risk, and the coverage and the errors of these rows; None if none does."""
    try:
        threshold = threshold_for(selection, risk=risk)
    except ValueError:
        return None
    kept = (selection.count > 0) & (selection.least >= threshold)
    answered, right = selection.count[kept].sum(), selection.hits[kept].sum()
    return threshold, float(answered / selection.count.sum()), float(1 - right / max(answered, 1))


def drift(before: Usage, now: Usage) -> str:
    """Whether confidences of two files differ by more than chance, by the test of Kolmogorov and Smirnov."""
    shares = [usage.histogram.count.cumsum() / usage.rows for usage in (before, now)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    chance = 1.36 * np.sqrt((before.rows + now.rows) / (before.rows * now.rows))
    means = [100 * usage.histogram.total.sum() / usage.rows for usage in (before, now)]
    moved = (
        f"mean confidence {means[0]:.1f} % before, {means[1]:.1f} % now; distance of the distributions {distance:.3f}"
    )
    if distance <= chance:
        return f"No drift beyond chance: {moved}, chance gives up to {chance:.3f}."
    return f"The inputs have drifted: {moved}, chance gives up to {chance:.3f}. Thresholds of earlier rows do not hold."
