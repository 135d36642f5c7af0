"""The confidence of one-vs-all and of SLOVA over the probabilities of two classes (Fig. 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from slova._backend import Array
from slova.heads import log_ova, log_slova
from slova_bench.figures.drawing import beside, finished, inlined
from slova_bench.frame import Frame

__all__ = ["plot"]

HEADS = {"one-vs-all: max p": log_ova, "SLOVA: this and no other": log_slova}
PLACES = {"none fits": (0.17, 0.12), "both fit": (0.83, 0.93), "one fits": (0.86, 0.12)}
POINTS, SIDE = 40, 300  # along an axis, and its length in pixels


def plot() -> dict[str, Any]:
    """Drawn from the two formulas, without rows."""
    return finished(beside(_panel(title, head) for title, head in HEADS.items()))


def _panel(title: str, head: Callable[[Array], Array]) -> dict[str, Any]:
    axis: dict[str, Any] = {"values": [0, 0.5, 1], "grid": False, "format": "~g"}
    unit = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("left:Q").title("p(class 1)").scale(unit).axis(**axis)
    y = alt.Y("low:Q").title("p(class 2)").scale(unit).axis(**axis)
    colour = alt.Color("confidence:Q").scale(domain=[0, 1], scheme="cividis").title("confidence")
    colour = colour if head is log_slova else colour.legend(None)
    cells = alt.Chart(alt.NamedData("cells")).mark_rect().encode(x=x, x2="right", y=y, y2="high", color=colour)
    words = alt.Chart(alt.NamedData("places")).mark_text(fontSize=13)
    words = words.encode(x="left:Q", y="low:Q", text="name:N", color=alt.Color("ink:N").scale(None).legend(None))
    spec = (cells + words).resolve_scale(color="independent").properties(title=title, width=SIDE, height=SIDE)
    return inlined(spec.to_dict(), cells=_cells(head), places=_places(head))


def _cells(head: Callable[[Array], Array]) -> Frame:
    """Squares of the plane with the confidence in their middle."""
    edges = np.linspace(0, 1, POINTS + 1).round(4)
    across, up = (part.ravel() for part in np.meshgrid(range(POINTS), range(POINTS)))
    middle = (np.stack([across, up], axis=-1) + 0.5) / POINTS
    return pd.DataFrame(
        {
            "left": edges[across],
            "right": edges[across + 1],
            "low": edges[up],
            "high": edges[up + 1],
            "confidence": _confidence(head, middle).round(3),
        }
    )


def _places(head: Callable[[Array], Array]) -> Frame:
    found = pd.DataFrame(list(PLACES.values()), columns=["left", "low"]).assign(name=list(PLACES))
    bright = _confidence(head, np.array(list(PLACES.values()))) > 0.6
    return found.assign(ink=np.where(bright, "black", "white"))


def _confidence(head: Callable[[Array], Array], p: Array) -> Array:
    """The larger of the two readouts of probabilities (..., 2)."""
    return np.asarray(np.exp(head(np.log(p) - np.log1p(-p))).max(axis=-1))
