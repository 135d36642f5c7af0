"""Critical-distance diagrams (Fig. 6 and 7; Demšar, JMLR 2006): mean ranks, and a band around the control within which
a difference is not significant."""

from __future__ import annotations

from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slova_bench import labels
from slova_bench.compare import Verdict
from slova_bench.figures.style import canvas, styled

__all__ = ["plot"]

STEP = 0.26  # height of a line of names in inches
PAD = 0.3  # ranks beyond the best and the worst possible one
BAND = "#fbe3d0"


@styled
def plot(verdict: Verdict) -> Figure:
    """The best method is on the left. Filled dots cannot be distinguished from the control."""
    ranks = verdict.distance.mean_ranks
    names, lines = list(ranks), (len(ranks) + 1) // 2
    figure, axes = canvas(1, 1, (8.6, STEP * (lines + 1) + 0.9))
    axis = axes[0, 0]
    axis.set(xlim=(1 - PAD, len(names) + PAD), ylim=(-lines - 0.7, 0), yticks=[], xticks=range(1, len(names) + 1))
    axis.set_xlabel(_reading(verdict), labelpad=8)
    _frame(axis)
    _band(axis, verdict)
    for line, name in enumerate(names[:lines], start=1):
        _name(axis, verdict, name, line, "right")
    for line, name in enumerate(reversed(names[lines:]), start=1):
        _name(axis, verdict, name, line, "left")
    return figure


def _frame(axis: Axes) -> None:
    axis.grid(visible=False)
    axis.xaxis.tick_top()
    axis.xaxis.set_label_position("bottom")
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.spines["top"].set_visible(True)


def _band(axis: Axes, verdict: Verdict) -> None:
    middle, width = verdict.distance.mean_ranks[verdict.distance.control], verdict.distance.distance
    axis.axvspan(middle - width, middle + width, color=BAND, linewidth=0, zorder=0)


def _name(axis: Axes, verdict: Verdict, name: str, line: int, align: Literal["left", "right"]) -> None:
    """A dot on the axis, and a line from it down and out to its name."""
    distance, look = verdict.distance, labels.look(*name.split(" ", 1))
    rank, control = distance.mean_ranks[name], name == distance.control
    alike = control or name in distance.alike
    edge, away = (axis.get_xlim()[0], -3) if align == "right" else (axis.get_xlim()[1], 3)
    axis.plot([rank, rank, edge], [0, -line, -line], color="#333333" if alike else "#aaaaaa", linewidth=0.9)
    inside = look.colour if alike else "white"
    axis.plot(rank, 0, "o", color=look.colour, markerfacecolor=inside, markersize=6.5, clip_on=False, zorder=4)
    text = f"{look.name}  {rank:.2f}" if align == "right" else f"{rank:.2f}  {look.name}"
    axis.annotate(
        text, (edge, -line), (away, 0), textcoords="offset points", ha=align, va="center", annotation_clip=False,
        fontweight="bold" if control else "normal",
    )  # fmt: skip


def _reading(verdict: Verdict) -> str:
    distance, p = verdict.distance, verdict.friedman.p
    control = labels.look(distance.control).name
    found = f"p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}"
    test = f"Friedman's test: {found}" if verdict.rejects else f"Friedman's test finds no difference at all ({found})"
    return (
        f"mean rank over {distance.cells} cells, 1 is the best. Shaded, filled: within the critical distance "
        f"{distance.distance:.2f} of {control}.\nBonferroni–Dunn, α = {distance.alpha:g}. {test}."
    )
