"""The confidence of one-vs-all and of SLOVA over the probabilities of two classes (Fig. 1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova._backend import Array
from slova.heads import log_ova, log_slova
from slova_bench.figures.style import CONFIDENCE, canvas, styled

__all__ = ["plot"]

HEADS = {"one-vs-all: max p": log_ova, "SLOVA: this and no other": log_slova}
PLACES = {"none fits": (0.17, 0.12), "both fit": (0.83, 0.93), "one fits": (0.86, 0.12)}
POINTS = 301


@styled
def plot() -> Figure:
    """Drawn from the two formulas, without rows."""
    figure, axes = canvas(1, 2, (8.6, 4.0), sharey=True)
    p = np.linspace(1e-6, 1 - 1e-6, POINTS)
    pairs = np.stack(np.meshgrid(p, p), axis=-1)
    for axis, (name, head) in zip(axes[0], HEADS.items(), strict=True):
        picture = axis.imshow(
            _confidence(head, pairs), origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap=CONFIDENCE
        )
        axis.set(title=name, xlabel="p(class 1)")
        axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axis.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        axis.grid(visible=False)
        _name_places(axis, head)
    axes[0, 0].set_ylabel("p(class 2)")
    figure.colorbar(picture, ax=list(axes[0]), label="confidence", shrink=0.9)
    return figure


def _confidence(head: Callable[[Array], Array], p: Array) -> Array:
    """The larger of the two readouts of probabilities (..., 2)."""
    return np.asarray(np.exp(head(np.log(p) - np.log1p(-p))).max(axis=-1))


def _name_places(axis: Axes, head: Callable[[Array], Array]) -> None:
    for name, place in PLACES.items():
        bright = _confidence(head, np.array(place)) > 0.6
        axis.text(*place, name, ha="center", va="center", color="black" if bright else "white", fontsize=10)
