"""Plots in scikit-learn's display convention: `from_predictions` computes, `plot` draws, and the display keeps both.

>>> import slova
>>> classifier = slova.Classifier.fit(network, val_images, val_labels)
>>> answers = classifier.predict(images)
>>> display = ReliabilityDisplay.from_predictions(answers, labels)
>>> display.ax_.get_ylabel()                                        # axes of matplotlib
'accuracy'
>>> display = display.plot(ax=display.ax_)                          # the same numbers once more
>>> RiskCoverageDisplay.from_predictions(answers, labels).ax_.get_xlabel()
'coverage: share of rows answered'
>>> len(ConfidenceHistogramDisplay.from_predictions(answers, labels).right)
20
>>> len(classifier.evaluate(images, labels).plot().axes_)           # an EvaluationDisplay of all three
3

Predictions are a `Prediction`, or probabilities (N, K). Labels are as for the metrics: NONE rows count as errors.
matplotlib is imported when something is drawn: pip install "slova[plot]".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from slova._backend import Array, to_numpy
from slova._types import Labels, ProbRows
from slova._validation import Flags, Floats, check_bins, check_confidence, top_class
from slova.metrics.binning import BinCounts
from slova.metrics.reliability import Reliability
from slova.metrics.selection import RiskCoverage, Selection
from slova.prediction import Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ConfidenceHistogramDisplay", "EvaluationDisplay", "ReliabilityDisplay", "RiskCoverageDisplay"]

RIGHT, WRONG = "#9ecae1", "#d6604d"


class _Display:
    """What was drawn: `ax_` and `figure_` exist after `plot`."""

    ax_: Axes
    figure_: Figure

    def __init__(self, name: str | None) -> None:
        self.name = name

    def _axes(self, ax: Axes | None) -> Axes:
        self.ax_ = _pyplot().gca() if ax is None else ax
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        return self.ax_

    def _finish(self, across: str, up: str) -> Self:
        self.ax_.set(xlabel=across, ylabel=up)
        self.ax_.legend(loc="best", frameon=False)
        return self


class ReliabilityDisplay(_Display):
    """The reliability diagram: the accuracy of each bin of confidence, with its 95 % interval, and the diagonal on
    which a calibrated model lies.

    curve: what `slova.metrics.reliability` returns.
    ece: its expected calibration error.
    name: for the legend.
    """

    def __init__(self, *, curve: Reliability, ece: float, name: str | None = None) -> None:
        super().__init__(name)
        self.curve, self.ece = curve, ece

    @classmethod
    def from_predictions(
        cls,
        predictions: Prediction | ProbRows,
        labels: Labels,
        *,
        bins: int = 15,
        name: str | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Compute the diagram of 15 bins of equal width and draw it; `style` is passed to `Axes.errorbar`."""
        counts = _counts(predictions, labels, bins)
        return cls(curve=Reliability.of(counts), ece=counts.value, name=name).plot(ax, **style)

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw into these axes, or into the present ones."""
        ax, curve = self._axes(ax), self.curve
        drawn = "perfect" in ax.get_legend_handles_labels()[1]
        ax.plot([0, 1], [0, 1], ":", color="black", label=None if drawn else "perfect")
        span = np.clip([curve.accuracy - curve.low, curve.high - curve.accuracy], 0, 1)
        label = _labelled(self.name, f"ECE {self.ece:.3f}")
        options: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2, "label": label}
        self.line_ = ax.errorbar(curve.confidence, curve.accuracy, yerr=span, **(options | style))
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        return self._finish("confidence", "accuracy")


class RiskCoverageDisplay(_Display):
    """The share of errors among the answered rows (risk) against the share of rows that are answered (coverage).

    curve: what `slova.metrics.risk_coverage` returns.
    aurc: the area under it.
    name: for the legend.
    """

    def __init__(self, *, curve: RiskCoverage, aurc: float, name: str | None = None) -> None:
        super().__init__(name)
        self.curve, self.aurc = curve, aurc

    @classmethod
    def from_predictions(
        cls,
        predictions: Prediction | ProbRows,
        labels: Labels,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Compute the curve and draw it; `style` is passed to `Axes.step`."""
        selection = Selection.histogram(*_confidence_and_hits(predictions, labels))
        return cls(curve=selection.risk_coverage, aurc=selection.aurc.value, name=name).plot(ax, **style)

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw into these axes, or into the present ones."""
        ax = self._axes(ax)
        options: dict[str, Any] = {"where": "post", "label": _labelled(self.name, f"AURC {self.aurc:.3f}")}
        (self.line_,) = ax.step(self.curve.coverage, self.curve.risk, **(options | style))
        ax.set(xlim=(0, 1), ylim=(0, None))
        return self._finish("coverage: share of rows answered", "risk: share of them wrong")


class ConfidenceHistogramDisplay(_Display):
    """How often each confidence occurs, right and wrong rows apart.

    edges: of the bins (B + 1,).
    right, wrong: rows per bin (B,).
    name: for the title.
    """

    def __init__(self, *, edges: Floats, right: Floats, wrong: Floats, name: str | None = None) -> None:
        super().__init__(name)
        self.edges, self.right, self.wrong = edges, right, wrong

    @classmethod
    def from_predictions(
        cls,
        predictions: Prediction | ProbRows,
        labels: Labels,
        *,
        bins: int = 20,
        name: str | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Count the rows of 20 bins of equal width and draw them; `style` is passed to `Axes.bar`."""
        return cls.from_counts(_counts(predictions, labels, bins), name=name).plot(ax, **style)

    @classmethod
    def from_counts(cls, counts: BinCounts, *, name: str | None = None) -> Self:
        """The histogram of bins of equal width that were counted before."""
        right = np.asarray(counts.hits, np.float64)
        return cls(edges=np.linspace(0, 1, len(right) + 1), right=right, wrong=counts.count - right, name=name)

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw into these axes, or into the present ones."""
        ax = self._axes(ax)
        options: dict[str, Any] = {"width": np.diff(self.edges), "align": "edge", "edgecolor": "white", **style}
        self.bars_ = (
            ax.bar(self.edges[:-1], self.right, label="right", **({"color": RIGHT} | options)),
            ax.bar(self.edges[:-1], self.wrong, bottom=self.right, label="wrong", **({"color": WRONG} | options)),
        )
        ax.set(xlim=(0, 1), title=self.name or "")
        return self._finish("confidence", "rows")


class EvaluationDisplay:
    """Reliability, confidences, and risk by coverage, side by side: `Evaluation.plot()`."""

    def __init__(
        self,
        *,
        reliability: ReliabilityDisplay,
        histogram: ConfidenceHistogramDisplay,
        risk_coverage: RiskCoverageDisplay,
    ) -> None:
        self.reliability, self.histogram, self.risk_coverage = reliability, histogram, risk_coverage

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        """Draw into three axes, or into a new figure; `axes_` and `figure_` are what was drawn into."""
        if axes is None:
            axes = _pyplot().subplots(1, 3, figsize=(12, 3.6), layout="constrained")[1]
        self.axes_ = tuple(axes)
        left, middle, right = self.axes_
        self.reliability.plot(left), self.histogram.plot(middle), self.risk_coverage.plot(right)
        self.figure_ = self.reliability.figure_
        return self


def _confidence_and_hits(predictions: Prediction | Array, labels: Array) -> tuple[Floats, Flags]:
    if not isinstance(predictions, Prediction):
        return top_class(predictions, labels)
    top, given = np.asarray(to_numpy(predictions.top)), np.asarray(to_numpy(labels))
    if given.shape != top.shape:
        raise ValueError(f"labels {given.shape} do not match the prediction {top.shape}")
    return check_confidence(predictions.confidence, "confidence"), np.asarray(top == given, bool)


def _counts(predictions: Prediction | Array, labels: Array, bins: int) -> BinCounts:
    return BinCounts.binned(*_confidence_and_hits(predictions, labels), check_bins(bins), "width")


def _labelled(name: str | None, number: str) -> str:
    return number if name is None else f"{name}, {number}"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError('plots need matplotlib: pip install "slova[plot]"') from error
    return matplotlib.pyplot
