"""Confidence on planes through three test images (Fig. 2), the first of them in the middle: one panel per method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from slova._backend import Array
from slova_bench.figures.groups import by_method
from slova_bench.figures.style import CONFIDENCE, canvas, styled, wrapped
from slova_bench.results_folder import Plane

__all__ = ["plot"]


@styled
def plot(planes: Sequence[Plane]) -> Figure:
    """The mean over seeds, with a common colour scale."""
    methods = by_method(planes)
    figure, axes = canvas(1, len(methods), (3.4 * len(methods) + 0.8, 3.5), sharey=True)
    for axis, (look, own) in zip(axes[0], methods, strict=True):
        alphas, betas, confidence = _picture(own)
        picture = axis.pcolormesh(alphas, betas, confidence.T, vmin=0, vmax=1, cmap=CONFIDENCE, rasterized=True)
        axis.set(xlabel="α", aspect="equal", xticks=_ticks(alphas), yticks=_ticks(betas))
        axis.grid(visible=False)
        wrapped(axis, look.name, 40)
    axes[0, 0].set_ylabel("β")
    figure.colorbar(picture, ax=list(axes[0]), label="mean confidence", shrink=0.9)
    return figure


def _ticks(points: Array) -> list[float]:
    return [float(tick) for tick in np.linspace(points.min(), points.max(), 5)]


def _picture(planes: Sequence[Plane]) -> tuple[Array, Array, Array]:
    """The axes and the mean confidence (alphas, betas) of planes with the same points."""
    points = np.array([plane.points for plane in planes]).mean(axis=0)
    alphas, betas = np.unique(points[:, 0]), np.unique(points[:, 1])
    order = np.lexsort((points[:, 1], points[:, 0]))
    return alphas, betas, points[order, 2].reshape(len(alphas), len(betas))
