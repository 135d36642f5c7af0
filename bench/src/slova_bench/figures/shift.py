"""Accuracy, ECE, NLL and Brier score by the severity of a shift (Fig. 5), and over all severities (Fig. 8): one box per
method over kinds of shift."""

from __future__ import annotations

from typing import Any

from slova_bench import labels
from slova_bench.figures.drawing import below, beside, finished, groups, keyed, looked, panel, scaled
from slova_bench.frame import Frame, Name, boxes, names, of, over_seeds

__all__ = ["METRICS", "plot", "plot_steps"]

METRICS = ("accuracy", "ece", "nll", "brier")
WIDTH, HEIGHT = 470, 150


def plot(rows: Frame) -> dict[str, Any]:
    """One panel per metric. Severity 0 is the clean test set, a single value per method. More than eight methods are in
    columns with the same axes."""
    found = boxes(over_seeds(rows), "level", "metric")
    return finished(beside((_column(found, group) for group in groups(names(rows))), own_keys=True))


def plot_steps(rows: Frame) -> dict[str, Any]:
    """One panel per metric, side by side, all severities together."""
    found, order = boxes(over_seeds(rows), "metric").assign(level="all"), names(rows)
    panels = (_panel(found, order, metric, 150, 190, severities=False) for metric in METRICS)
    return finished(keyed(beside(panels), order, columns=5))


def _column(found: Frame, group: list[Name]) -> dict[str, Any]:
    width = WIDTH if len(group) > 3 else WIDTH // 2
    return keyed(below(_panel(found, group, metric, width, HEIGHT) for metric in METRICS), group)


def _panel(
    found: Frame, group: list[Name], metric: str, width: int, height: int, *, severities: bool = True
) -> dict[str, Any]:
    """The axis holds the values of all methods, so that columns can be compared."""
    values = found[found["metric"] == metric]
    words, points = {"y": labels.head(metric)}, looked(of(values, group), group)
    drawn = panel("boxes", width=width, height=height, words=words, points=points)
    least = values["least"].min() if metric == "accuracy" else 0
    drawn = drawn if severities else scaled(drawn, "x", {"labels": False, "title": "", "ticks": False})
    return scaled(drawn, "y", {"tickCount": 5}, domain=[least, values["most"].max()], nice=True)
