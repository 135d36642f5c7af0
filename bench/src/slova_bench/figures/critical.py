"""Mean ranks (Fig. 6 and 7; Demšar, JMLR 2006), and a band around the control within which a difference is not
significant."""

from __future__ import annotations

from typing import Any

import pandas as pd

from slova_bench import labels
from slova_bench.figures.drawing import finished, looked, panel
from slova_bench.ranks import Ranking
from slova_bench.tables.ranks import p_value

__all__ = ["plot"]

STEP = 22  # height of a method in pixels


def plot(ranking: Ranking) -> dict[str, Any]:
    """The best method is on top."""
    ranks = pd.DataFrame([(*_name(name), rank) for name, rank in ranking.mean_ranks.items()])
    points = looked(ranks.set_axis(["method", "variant", "value"], axis=1))
    points = points.assign(says=points["value"].map("{:.2f}".format))
    middle, width = ranking.mean_ranks[ranking.control], ranking.distance
    control = points[points["value"] == middle].iloc[:1]
    band = control.assign(value=max(1, middle - width), high=min(len(ranks), middle + width))
    drawn = panel("ranks", width=620, height=STEP * len(ranks), points=points, band=band)
    return finished(drawn, title=_reading(ranking))


def _name(name: str) -> tuple[str, str]:
    method, _, variant = name.partition(" ")
    return method, variant


def _reading(ranking: Ranking) -> list[str]:
    control, found = labels.look(ranking.control).name, p_value(ranking)
    test = f"Friedman's test: {found}" if ranking.rejects else f"Friedman's test finds no difference at all ({found})"
    return [
        f"Over {ranking.cells} cells. Shaded: within the critical distance {ranking.distance:.2f} of {control}.",
        f"Bonferroni–Dunn, α = {ranking.alpha:g}. {test}.",
    ]
