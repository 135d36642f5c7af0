"""How good predictions are: all metrics of labelled rows with their standard errors, and the report of a fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slova._backend import Array, to_numpy
from slova._validation import NONE, Floats, Ints, check_labels
from slova.heads import Readout
from slova.metrics import binning
from slova.prediction import Prediction
from slova.thresholds import selection_of as make_selection

if TYPE_CHECKING:
    from slova.metrics import Selection

__all__ = ["Evaluation", "FitReport", "Metric", "evaluate", "selection_of"]

BINS, RESAMPLES = 15, 200


class Metric(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class Evaluation:
    """Metrics of labelled rows. `nll` and `brier` are of the distribution over the K classes and NONE; the others are
    of the top class, which is wrong for a NONE row."""

    rows: int
    none_rows: int
    accuracy: Metric
    ece: Metric
    nll: Metric
    brier: Metric
    aurc: float
    mean_confidence: float

    def __str__(self) -> str:
        head = f"{self.rows:,} rows, {self.none_rows:,} of them NONE"
        metrics = ("accuracy", "ece", "nll", "brier")
        return "\n".join(
            [head, *(f"{name:>10} {getattr(self, name)}" for name in metrics), f"{'aurc':>10} {self.aurc:.4f}"]
        )


@dataclass(frozen=True)
class FitReport:
    """What a fit found: `found` says which kind of logits, `ece` and `nll` are cross-fitted, before and after
    calibration; `error` is the standard error of the ECE after it."""

    rows: int
    none_rows: int
    found: str
    ece_before: float
    ece_after: float
    error: float
    nll_before: float
    nll_after: float

    def __str__(self) -> str:
        return f"{self.rows:,} rows, ECE {self.ece_before:.3f} -> {self.ece_after:.3f}"

    def to_dict(self) -> dict[str, float | int | str]:
        return asdict(self)


def evaluate(prediction: Prediction, readout: Readout, labels: Array, *, seed: int = 0) -> Evaluation:
    """The metrics of a prediction, and of the distribution over K + 1 outcomes whose logs are in the readout."""
    log_probs = np.column_stack([to_numpy(readout.log_probs), to_numpy(readout.log_none)]).astype(np.float64)
    column = check_labels(labels, log_probs[:, :-1], "logits")
    confidence = to_numpy(prediction.confidence).astype(np.float64)
    hits = to_numpy(prediction.top) == column
    selection = make_selection(confidence, hits)
    return Evaluation(
        rows=len(column),
        none_rows=int((column == NONE).sum()),
        accuracy=_mean(hits.astype(np.float64)),
        ece=_ece(confidence, hits, seed),
        nll=_mean(-log_probs[np.arange(len(column)), column]),  # NONE = -1 is the last column
        brier=_mean(_squares(np.exp(log_probs), column)),
        aurc=float(selection.aurc.value),
        mean_confidence=float(confidence.mean()),
    )


def selection_of(prediction: Prediction, labels: Array | None) -> Selection:
    """What `threshold_for` takes, from a prediction and the labels."""
    if labels is None:
        raise ValueError("labels must be given with the rows")
    return make_selection(
        to_numpy(prediction.confidence).astype(np.float64), to_numpy(prediction.top) == to_numpy(labels)
    )


def _mean(values: Floats) -> Metric:
    finite = np.isfinite(values).all()
    return Metric(float(values.mean()), float(values.std() / np.sqrt(len(values))) if finite else float("inf"))


def _squares(probs: Floats, labels: Ints) -> Floats:
    wanted = np.zeros_like(probs)
    wanted[np.arange(len(labels)), labels] = 1.0
    squares: Floats = np.square(probs - wanted).sum(axis=1)
    return squares


def _ece(confidence: Floats, hits: Array, seed: int) -> Metric:
    """The equal-width ECE; its standard error by resampling the rows of each bin."""
    bins = binning.BinCounts.binned(confidence, hits, BINS, "width")
    rows, gaps = len(confidence), bins.hits - bins.total
    spread = np.sqrt(np.maximum(bins.hits * (1 - bins.hits / np.maximum(bins.count, 1)), 1e-12))
    draws = np.random.default_rng(seed).normal(gaps, spread, (RESAMPLES, *gaps.shape))
    return Metric(float(np.abs(gaps).sum() / rows), float((np.abs(draws).sum(axis=1) / rows).std()))
