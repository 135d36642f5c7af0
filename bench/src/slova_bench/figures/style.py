"""The style of all figures, independent of matplotlib's configuration: sizes, lines, axes, and saving.

Text is not parsed as formulas (a method name may hold a dollar sign), so powers of ten are written as text.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from slova_bench.labels import Look

__all__ = ["CONFIDENCE", "canvas", "fill", "keys", "line", "logarithmic", "power", "save", "styled", "wrapped"]

CONFIDENCE = "cividis"  # colour map of confidence, readable with colour vision deficiency
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "font.family": "DejaVu Sans",  # which comes with matplotlib
    "font.size": 9,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "svg.hashsalt": "slova",
    "text.parse_math": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
NAMELESS = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}  # no date and no version in a file
HANDLE, GAP = 2.4, 1.4  # legend: width of samples and between columns, in font sizes
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

P = ParamSpec("P")


def styled(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Apply the style to a plot function."""

    @wraps(plot)
    def drawn(*args: P.args, **options: P.kwargs) -> Figure:
        with style.context(["default", STYLE]):
            return plot(*args, **options)

    return drawn


def canvas(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, NDArray[Any]]:
    """An empty figure of this size in inches, and its axes (rows, columns)."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False, **shared))


def save(figure: Figure, stem: str | Path, *, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Save STEM.svg and STEM.png. The same figure gives the same bytes."""
    paths = [Path(f"{stem}.{kind}") for kind in kinds]
    with style.context(["default", STYLE]):
        _settle(figure)
        for path, kind in zip(paths, kinds, strict=True):
            figure.savefig(path, metadata=NAMELESS[kind])
    return paths


def _settle(figure: Figure) -> None:
    """Run the layout once: repeated layouts differ in the last digits."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def line(look: Look) -> dict[str, Any]:
    """The line of a method: colour and dashes."""
    return {"color": look.colour, "linestyle": (0, look.dash) if look.dash else "-", "label": look.name}


def fill(look: Look) -> dict[str, Any]:
    """The area of a method: solid, or light and hatched where its line is dashed."""
    if not look.dash:
        return {"facecolor": look.colour, "edgecolor": look.colour}
    pale = tuple(1 - 0.3 * (1 - part) for part in to_rgb(look.colour))
    hatch = "-----" if len(look.dash) > 2 else "/////" if max(look.dash) > 2 else "xxxx"
    return {"facecolor": pale, "edgecolor": look.colour, "hatch": hatch}


def keys(figure: Figure, handles: Iterable[Artist], columns: int) -> None:
    """One legend below all panels, with at most this number of columns."""
    handles = list(handles)
    names = [str(handle.get_label()) for handle in handles]
    room = 72 * figure.get_figwidth()  # in points
    fitting = [count for count in range(1, columns + 1) if _width(names, count) < room]
    shape = {"ncols": max(fitting, default=1), "handlelength": HANDLE, "columnspacing": GAP}
    figure.legend(handles=handles, loc="outside lower center", **shape)


def _width(names: Sequence[str], columns: int) -> float:
    """The width in points of a legend with this number of columns."""
    size = float(str(STYLE["legend.fontsize"]))
    parts = [column for column in np.array_split(np.array(names, dtype=object), columns) if len(column)]
    letters = sum(max(TextPath((0, 0), name, size=size).get_extents().width for name in part) for part in parts)
    return letters + size * (len(parts) * (HANDLE + 1) + (len(parts) - 1) * GAP + 2)


def wrapped(axis: Axes, name: str, letters: int) -> None:
    """Set the title of a panel, wrapped to this width."""
    axis.set_title(textwrap.fill(name, letters))


def power(value: float, _: object = None) -> str:
    """A tick of a logarithmic axis: 0.01, 2, 100, and powers beyond 10⁻³ and 10⁴."""
    exponent = math.log10(value) if value > 0 else 0.0
    plain = -3 <= exponent <= 4 or not math.isclose(exponent, round(exponent))
    return f"{value:g}" if plain else "10" + str(round(exponent)).translate(SUPERSCRIPTS)


def logarithmic(axis: Axis) -> None:
    """Ticks at powers of ten, and between them on a short axis."""
    low, high = sorted(axis.get_view_interval())
    wide = high / low > 100
    axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(power)
    axis.set_minor_locator(NullLocator())
