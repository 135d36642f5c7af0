"""Confidence along random directions from test images (Fig. 4): mean and standard deviation by distance."""

from __future__ import annotations

from typing import Any

from slova_bench import labels
from slova_bench.figures.drawing import beside, finished, looked, panel, scaled
from slova_bench.frame import NAME, Frame, names, of, over_seeds

__all__ = ["plot"]


def plot(rows: Frame) -> dict[str, Any]:
    """One panel per method. The bars are cut off at 0 and 1."""
    means = over_seeds(rows).pivot(index=[*NAME, "level"], columns="metric", values="value").reset_index()
    ends = {"low": means["mmc"] - means["confidence_std"], "high": means["mmc"] + means["confidence_std"]}
    points = means.rename(columns={"mmc": "value"}).assign(**{end: value.clip(0, 1) for end, value in ends.items()})
    panels = [
        panel(
            "distance", labels.look(*name).name, width=200, height=180,
            words={"y": "confidence: mean ± deviation" if place == 0 else ""},
            points=looked(of(points, [name])),
        )
        for place, name in enumerate(names(rows))
    ]  # fmt: skip
    return finished(beside(scaled(one, "y", domain=[0, 1]) for one in panels))
