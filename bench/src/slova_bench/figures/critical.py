"""Mean ranks (Fig. 6 and 7; Demšar, JMLR 2006), and a band around the control within which a difference is not
significant."""

from __future__ import annotations

from typing import Any

import pandas as pd

from slova_bench import labels
from slova_bench.compare import Verdict
from slova_bench.figures.drawing import finished, looked, panel

__all__ = ["plot"]

STEP = 22  # height of a method in pixels


def plot(verdict: Verdict) -> dict[str, Any]:
    """The best method is on top."""
    distance = verdict.distance
    ranks = pd.DataFrame([(*_name(name), rank) for name, rank in distance.mean_ranks.items()])
    points = looked(ranks.set_axis(["method", "variant", "value"], axis=1))
    points = points.assign(says=points["value"].map("{:.2f}".format))
    middle, width = distance.mean_ranks[distance.control], distance.distance
    control = points[points["value"] == middle].iloc[:1]
    band = control.assign(value=max(1, middle - width), high=min(len(ranks), middle + width))
    drawn = panel("ranks", width=620, height=STEP * len(ranks), points=points, band=band)
    return finished(drawn, title=_reading(verdict))


def _name(name: str) -> tuple[str, str]:
    method, _, variant = name.partition(" ")
    return method, variant


def _reading(verdict: Verdict) -> list[str]:
    distance, p = verdict.distance, verdict.friedman.p
    control = labels.look(distance.control).name
    found = f"p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"
    test = f"Friedman's test: {found}" if verdict.rejects else f"Friedman's test finds no difference at all ({found})"
    return [
        f"Over {distance.cells} cells. Shaded: within the critical distance {distance.distance:.2f} of {control}.",
        f"Bonferroni–Dunn, α = {distance.alpha:g}. {test}.",
    ]
