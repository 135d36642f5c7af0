"""The paper's fit by its number of terms M and of points n_b (Fig. 10), and the optimal fit, which has neither."""

from __future__ import annotations

from typing import Any

from slova_bench import labels
from slova_bench.figures.drawing import below, beside, finished, logarithmic, looked, panel
from slova_bench.frame import Frame, over_seeds

__all__ = ["METRICS", "plot"]

METRICS = ("nll", "ece", "brier")
VARIES = {"M": "M, terms", "n_b": "n_b, points"}


def plot(rows: Frame) -> dict[str, Any]:
    """Means over seeds, with lines from the least to the greatest value; dotted: the optimal fit."""
    fair = rows[rows["preset"] == ""].assign(variant="")
    found = over_seeds(fair, "parameter", "parameter_value")
    points = looked(found.rename(columns={"least": "low", "most": "high"})).assign(level=found["parameter_value"])
    return finished(below(beside(_panel(points, name, metric) for metric in METRICS) for name in VARIES))


def _panel(points: Frame, name: str, metric: str) -> dict[str, Any]:
    own = points[points["metric"] == metric]
    words = {"x": VARIES[name], "y": labels.head(metric)}
    data = {"points": own[own["parameter"] == name], "optimum": own[own["parameter"] == ""]}
    drawn = panel("variants", width=210, height=170, words=words, **data)
    levels = data["points"]["level"]
    drawn = logarithmic(drawn, "x", 0.9 * levels.min(), 1.1 * levels.max())
    return logarithmic(drawn, "y", 0.9 * own["low"].min(), 1.1 * own["high"].max())
