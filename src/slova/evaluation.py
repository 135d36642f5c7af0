"""How good predictions are: all metrics of labelled rows, and the report of a fit. Metrics have standard errors.

>>> import slova
>>> rng = np.random.default_rng(0)
>>> labels = rng.integers(3, size=500)
>>> logits = rng.normal(-3, 2, (500, 3)) + 6 * np.eye(3)[labels]
>>> scorer = slova.Scorer.fit(logits, labels, head="slova")
>>> print(scorer.report)                               # a FitReport
500 rows, 97.2% right, as given: ECE 0.291 -> 0.021 ± 0.005, NLL 0.488 -> 0.101
>>> found = scorer.evaluate(logits, labels)            # an Evaluation
>>> print(found)
500 rows, 0 of them NONE
  accuracy 0.9720 ± 0.0074
       ece 0.0155 ± 0.0047
       nll 0.1006 ± 0.0240
     brier 0.0452 ± 0.0106
      aurc 0.0010
>>> isinstance(found.ece, Metric), round(found.ece.error, 3)
(True, 0.005)
>>> evaluate(scorer.predict(logits), scorer(logits), labels).ece == found.ece
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slova._backend import to_numpy
from slova._fit_report import FitReport
from slova._types import Confidence, Labels, Weight
from slova._validation import NONE, Flags, Floats, Ints, check_labels
from slova.heads import Readout
from slova.metrics import binning
from slova.metrics.reliability import Reliability
from slova.prediction import Prediction
from slova.thresholds import selection_of as make_selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from slova.metrics import EvaluationDisplay, Selection

__all__ = ["Conformity", "Evaluation", "FitReport", "Metric", "ece_of", "evaluate", "selection_of"]

BINS, RESAMPLES = 15, 200
MOST = 20_000  # rows whose probability of the true outcome is kept


class Metric(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """About 95 % confidence."""
        return self.value - 1.96 * self.error, self.value + 1.96 * self.error

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """The value in a format for numbers, value and error without one."""
        return format(self.value, spec) if spec else str(self)


@dataclass(frozen=True)
class Evaluation:
    """Metrics of labelled rows. `nll` and `brier` are of the distribution over the K classes and NONE; the others are
    of the top class, which is wrong for a NONE row. `ece_given_class` is the ECE of the rows that have a class, given
    that they have one: where P(none) is positive, the confidence of such rows is lower. `perfect_ece` is the ECE that a
    calibrated model has on average of as many rows with these confidences. `bins` and `selection` are the counts by
    confidence that `plot` draws."""

    rows: int
    none_rows: int
    accuracy: Metric
    ece: Metric
    nll: Metric
    brier: Metric
    aurc: float
    mean_confidence: float
    perfect_ece: float
    ece_given_class: Metric
    bins: binning.BinCounts = field(repr=False, compare=False)
    selection: Selection = field(repr=False, compare=False)

    def plot(self, axes: Sequence[Axes] | None = None) -> EvaluationDisplay:
        """Draw reliability, confidences, and risk by coverage, into three axes of matplotlib or a new figure."""
        from slova.metrics import plotting

        return plotting.EvaluationDisplay(
            reliability=plotting.ReliabilityDisplay(curve=Reliability.of(self.bins), ece=self.ece.value),
            histogram=plotting.ConfidenceHistogramDisplay.from_counts(self.bins),
            risk_coverage=plotting.RiskCoverageDisplay(curve=self.selection.risk_coverage, aurc=self.aurc),
        ).plot(axes)

    def __str__(self) -> str:
        head = f"{self.rows:,} rows, {self.none_rows:,} of them NONE"
        metrics = ("accuracy", "ece", "nll", "brier")
        lines = [head, *(f"{name:>10} {getattr(self, name)}" for name in metrics), f"{'aurc':>10} {self.aurc:.4f}"]
        if self.ece_given_class.value < self.ece.value - self.ece.error:  # P(none) lowers the confidence
            lines[2] += f"; {self.ece_given_class} given a class"
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Conformity:
    """The cross-fitted probability of the true outcome of each validation row (N,), and that outcome (N,), K for NONE.
    Of more than 20,000 rows a random 20,000 are kept."""

    scores: Confidence
    outcomes: Labels

    @classmethod
    def of(cls, readout: Readout, labels: Ints, seed: int = 0) -> Conformity:
        kept = np.sort(np.random.default_rng(seed).permutation(len(labels))[:MOST])
        probs = np.exp(np.column_stack([readout.log_probs, readout.log_none])[kept, labels[kept]])  # NONE = -1 is last
        outcomes = np.where(labels[kept] == NONE, readout.log_probs.shape[1], labels[kept])
        return cls(np.clip(probs, 0, 1).astype(np.float32), outcomes.astype(np.int32))

    @property
    def columns(self) -> tuple[Floats, Ints]:
        return np.asarray(self.scores, np.float64), np.asarray(self.outcomes, np.int64)


def evaluate(
    prediction: Prediction, readout: Readout, labels: Labels, *, weight: Weight | None = None, seed: int = 0
) -> Evaluation:
    """The metrics of a prediction, and of the distribution over K + 1 outcomes whose logs are in the readout."""
    log_probs = np.column_stack([to_numpy(readout.log_probs), to_numpy(readout.log_none)]).astype(np.float64)
    column = check_labels(labels, log_probs[:, :-1], "logits")
    confidence = to_numpy(prediction.confidence).astype(np.float64)
    hits = to_numpy(prediction.top) == column
    counts = np.ones(len(column)) if weight is None else weight * (weight.sum() / np.square(weight).sum())
    own = log_probs[np.arange(len(column)), column]  # NONE = -1 is the last column
    bins, perfect = _bins(confidence, hits, counts)
    selection = make_selection(confidence, hits, weight=weight)
    return Evaluation(
        rows=len(column),
        none_rows=int((column == NONE).sum()),
        accuracy=_mean(hits.astype(np.float64), counts),
        ece=ece_of(bins, seed),
        nll=_mean(-own, counts),
        brier=_mean(1 - 2 * np.exp(own) + np.exp(2 * log_probs).sum(axis=1), counts),
        aurc=float(selection.aurc.value),
        mean_confidence=float(np.average(confidence, weights=counts)),
        perfect_ece=perfect,
        ece_given_class=_ece_given_class(prediction, hits, counts, column != NONE, seed),
        bins=bins,
        selection=selection,
    )


def _ece_given_class(prediction: Prediction, hits: Flags, counts: Floats, known: Flags, seed: int) -> Metric:
    """NaN where no row has a class."""
    if not known.any():
        return Metric(float("nan"), float("nan"))
    confidence = to_numpy(prediction.confidence_given_class).astype(np.float64)
    bins, _ = _bins(confidence[known], hits[known], counts[known])
    return ece_of(bins, seed)


def selection_of(prediction: Prediction, labels: Labels | None) -> Selection:
    """What `threshold_for` takes, from a prediction and the labels."""
    if labels is None:
        raise ValueError("labels must be given with the rows")
    return make_selection(
        to_numpy(prediction.confidence).astype(np.float64), to_numpy(prediction.top) == to_numpy(labels)
    )


def _mean(values: Floats, counts: Floats) -> Metric:
    values = values[counts > 0]
    counts = counts[counts > 0]
    if not np.isfinite(values).all():
        return Metric(float(np.average(values, weights=counts)), float("inf"))
    mean = float(np.average(values, weights=counts))
    return Metric(mean, float(np.sqrt(np.average(np.square(values - mean), weights=counts) / counts.sum())))


def _bins(confidence: Floats, hits: Flags, counts: Floats) -> tuple[binning.BinCounts, float]:
    """Bins of equal width, and the ECE of a calibrated model in them."""
    index = binning.bin_index(confidence, BINS, "width")
    parts = np.ones(len(hits)), hits, confidence, np.square(hits - confidence), confidence * (1 - confidence)
    *sums, variance = (binning.sums(index, counts * part, BINS) for part in parts)
    bins = binning.BinCounts(*sums)
    return bins, float(np.sqrt(2 / np.pi * np.maximum(variance, 0)).sum() / bins.count.sum())


def ece_of(bins: binning.BinCounts, seed: int = 0) -> Metric:
    """The ECE; its error by drawing the hits of each bin again, with one more hit and one more miss in each: a bin of
    three rows that are all right does not show that all rows are."""
    rows, right, total = bins.count.astype(np.float64), bins.hits.astype(np.float64), bins.total
    share = (right + 1) / (rows + 2)
    deviation = np.sqrt(rows * share * (1 - share))
    draws = np.abs(np.random.default_rng(seed).normal(right - total, deviation, (RESAMPLES, *np.shape(rows))))
    errors = draws.sum(axis=1) / rows.sum()
    return Metric(float(np.abs(right - total).sum() / rows.sum()), float(errors.std()))
