"""Charts as Vega-Lite specifications without data: the page puts the data in.

Fields that most of them share: `name`, `colour` and `dash` of a series, `order` in the legend, and `says`, the number
as text with its meaning. Titles that depend on the choice are called $x and $y, and filled in by the page.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

__all__ = [
    "COLOUR",
    "DASH",
    "DOTS",
    "FIFTHS",
    "SILENT",
    "SPOKEN",
    "STROKE",
    "TIP",
    "UNIT",
    "UNSEEN",
    "chart",
    "charts",
    "specification",
]

COLOUR = alt.Color("colour:N").scale(None).legend(None)
STROKE = alt.Stroke("colour:N").scale(None).legend(None)
DASH = alt.StrokeDash("dash:N").scale(None).legend(None)
TIP = [alt.Tooltip("name:N", title="method"), alt.Tooltip("where:N", title="at"), alt.Tooltip("says:N", title="value")]
SPOKEN = alt.ExprRef("datum.name + ', ' + datum.where + ': ' + datum.says")  # by screen readers
DOTS: dict[str, Any] = {"filled": True, "description": SPOKEN}
SILENT: dict[str, Any] = {"aria": False}
UNSEEN: dict[str, Any] = {"filled": True, "opacity": 0, "size": 90, **SILENT}  # for a pointer to find
UNIT = alt.Scale(domain=[0, 1])
FIFTHS: dict[str, Any] = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "labelFlush": False, "format": "~g"}
HEIGHT = 320


@cache
def charts() -> dict[str, dict[str, Any]]:
    """Every specification by name."""
    drawn = {"reliability": _reliability(), "density": _density(), "risk": _risk()}
    return {name: specification(spec) for name, spec in drawn.items()}


def specification(spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = spec.properties(width="container").to_dict()
    found.pop("config", None)  # how it looks is decided by the theme
    return found


def chart(name: str = "points", height: int = HEIGHT) -> Any:
    return alt.Chart(alt.NamedData(name), height=height)


def _reliability() -> Any:
    """Accuracy against confidence, with an interval where one was computed; on the diagonal the two agree."""
    diagonal = chart("diagonal").mark_line(strokeWidth=1, strokeDash=[4, 4], **SILENT)
    x = alt.X("confidence:Q").title("confidence").scale(UNIT).axis(**FIFTHS)
    y = alt.Y("accuracy:Q").title("accuracy").scale(UNIT).axis(**FIFTHS)
    base = chart().encode(x=x, y=y, color=COLOUR, detail="name:N")
    interval = base.mark_rule(opacity=0.6, **SILENT).encode(y=alt.Y("low:Q").title("accuracy"), y2="high:Q")
    size = alt.Size("rows:Q").scale(type="sqrt", range=[12, 110]).legend(None)
    points = base.mark_point(**DOTS).encode(size=size, tooltip=TIP)
    diagonal = diagonal.encode(x=x, y=y, color=alt.value("$muted"))
    return diagonal + interval + base.mark_line(opacity=0.7, **SILENT).encode(strokeDash=DASH) + points


def _density() -> Any:
    """The share of rows in each fiftieth of the confidence; the root keeps what is rare in sight."""
    x = alt.X("confidence:Q").title("confidence").scale(UNIT).axis(**FIFTHS)
    y = alt.Y("value:Q").title("share of rows").scale(type="sqrt").axis(format="~%", tickCount=5)
    base = chart().encode(x=x, y=y, color=COLOUR, detail="name:N")
    hover = base.mark_point(**UNSEEN).encode(tooltip=TIP)
    return base.mark_line(interpolate="step", **SILENT).encode(strokeDash=DASH) + hover


def _risk() -> Any:
    """Errors among the rows answered, against how many are; the marks are at the threshold of the slider."""
    x = alt.X("coverage:Q").title("coverage").scale(UNIT).axis(**{**FIFTHS, "format": "~%"})
    y = alt.Y("risk:Q").title("errors among the answered").axis(format="~%")
    encoding = {"x": x, "y": y, "color": COLOUR, "detail": "name:N"}
    line = chart().mark_line(**SILENT).encode(**encoding, strokeDash=DASH)
    hover = chart().mark_point(**UNSEEN).encode(**encoding, tooltip=TIP)
    return line + hover + chart("marks").mark_point(size=110, **DOTS).encode(**encoding, tooltip=TIP)
