"""The charts of the page, as Vega-Lite specifications without data: the page puts the data in.

Fields that most of them share: `name`, `colour` and `dash` of a method, `order` in the legend, and `says`, the number
as text with what it is a mean of. Titles that depend on what was chosen are called $x and $y, and put in by the page.
"""

from __future__ import annotations

from typing import Any

import altair as alt

__all__ = ["charts"]

COLOUR = alt.Color("colour:N").scale(None).legend(None)
STROKE = alt.Stroke("colour:N").scale(None).legend(None)
DASH = alt.StrokeDash("dash:N").scale(None).legend(None)
TIP = [alt.Tooltip("name:N", title="method"), alt.Tooltip("where:N", title="at"), alt.Tooltip("says:N", title="value")]
TOLD = alt.ExprRef("datum.name + ', ' + datum.where + ': ' + datum.says")  # for those who hear the chart
DOTS: dict[str, Any] = {"filled": True, "description": TOLD}
SILENT: dict[str, Any] = {"aria": False}
UNSEEN: dict[str, Any] = {"filled": True, "opacity": 0, "size": 90, **SILENT}  # for a pointer to find
UNIT = alt.Scale(domain=[0, 1])
FIFTHS: dict[str, Any] = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "labelFlush": False, "format": "~g"}
DECADES: dict[str, Any] = {"values": [0, 0.1, 1, 10, 100, 1000], "format": "~g"}
HEIGHT = 320


def charts() -> dict[str, dict[str, Any]]:
    """Every specification by name."""
    severity = alt.X("level:O").title("severity").axis(labelAngle=0)
    distance = alt.X("level:Q").title("distance").scale(type="symlog", constant=0.03).axis(**DECADES)
    number = alt.X("level:Q").title("$x").scale(type="log", nice=False, padding=8).axis(tickCount=4, format="~s")
    drawn = {
        "severity": _lines(severity),
        "boxes": _boxes(),
        "sets": _bars(),
        "distance": _lines(distance),
        "variants": _lines(number) + _optimum(),
        "curve": _curve(),
        "maps": _curve() + _observed(),
        "plane": _plane(),
        "reliability": _reliability(),
        "density": _density(),
        "risk": _risk(),
        "ranks": _ranks(),
    }
    return {name: _finished(chart) for name, chart in drawn.items()}


def _finished(chart: Any) -> dict[str, Any]:
    found: dict[str, Any] = chart.properties(width="container").to_dict()
    found.pop("config", None)  # how it looks is decided by the theme
    return found


def _chart(name: str = "points", height: int = HEIGHT) -> Any:
    return alt.Chart(alt.NamedData(name), height=height)


def _lines(x: Any) -> Any:
    """A line a method with its numbers at the points, and the standard error over seeds where there is one."""
    base = _chart().encode(x=x, y=alt.Y("value:Q").title("$y").scale(zero=False), color=COLOUR, detail="name:N")
    errors = base.mark_rule(opacity=0.5, **SILENT).encode(y=alt.Y("low:Q").title("$y"), y2="high:Q")
    return base.mark_line(**SILENT).encode(strokeDash=DASH) + errors + base.mark_point(**DOTS).encode(tooltip=TIP)


def _optimum() -> Any:
    return _chart("optimum").mark_rule(strokeDash=[2, 3]).encode(y="value:Q", color=COLOUR, tooltip=TIP)


def _boxes() -> Any:
    """Quartiles over the types of shift; the whiskers are the extremes."""
    place = {"x": alt.X("level:O").title("severity").axis(labelAngle=0), "xOffset": alt.XOffset("order:O")}
    base = _chart().encode(**place, y=alt.Y("median:Q").title("$y").scale(zero=False), color=COLOUR, tooltip=TIP)
    whiskers = base.mark_rule(**SILENT).encode(y=alt.Y("least:Q").title("$y"), y2="most:Q")
    boxes = base.mark_bar(fillOpacity=0.35, strokeWidth=1, description=TOLD).encode(stroke=STROKE, strokeDash=DASH)
    boxes = boxes.encode(y=alt.Y("q25:Q").title("$y"), y2="q75:Q")
    return whiskers + boxes + base.mark_tick(thickness=2.5, **SILENT)


def _bars() -> Any:
    """Grouped by test set, one bar a method; those of a dashed line are pale."""
    place = {"y": alt.Y("set:N", sort=None).title(None), "yOffset": alt.YOffset("order:O")}
    base = _chart().encode(**place, color=COLOUR)
    second = {"stroke": STROKE, "strokeDash": DASH, "fillOpacity": alt.FillOpacity("solid:Q").scale(None).legend(None)}
    bars = base.mark_bar(cornerRadiusEnd=2, strokeWidth=1, description=TOLD).encode(**second, tooltip=TIP)
    bars = bars.encode(x=alt.X("value:Q").title("$x").axis(tickCount=6))
    return bars + base.mark_rule(**SILENT).encode(x="low:Q", x2="high:Q", color=alt.value("$ink"))


def _curve() -> Any:
    x = alt.X("level:Q").title("$x").scale(UNIT).axis(**FIFTHS)
    base = _chart().encode(x=x, y=alt.Y("value:Q").title("$y").scale(UNIT), color=COLOUR, detail="name:N")
    hover = base.mark_point(**UNSEEN).encode(tooltip=TIP)
    return base.mark_line(**SILENT).encode(strokeDash=DASH) + hover


def _observed() -> Any:
    encoding = {"x": alt.X("level:Q").title("$x"), "y": alt.Y("value:Q").title("$y"), "color": COLOUR, "tooltip": TIP}
    return _chart("observed").mark_point(filled=True, size=22, opacity=0.55, **SILENT).encode(**encoding)


def _plane() -> Any:
    axis: dict[str, Any] = {"labelAngle": 0, "values": [-20, -10, 0, 10, 20], "ticks": False, "domain": False}
    colour = alt.Color("value:Q").scale(domain=[0, 1], scheme="cividis").title("confidence")
    return (
        _chart(height=260)
        .mark_rect()
        .encode(
            x=alt.X("alpha:O").title("alpha").axis(**axis),
            y=alt.Y("beta:O", sort="descending").title("beta").axis(**axis),
            color=colour.legend(orient="bottom", gradientLength=160),
            tooltip=[alt.Tooltip("alpha:Q"), alt.Tooltip("beta:Q"), alt.Tooltip("value:Q", format=".3f")],
        )
    )


def _reliability() -> Any:
    """Accuracy against confidence, with an interval where one was computed; on the diagonal the two agree."""
    diagonal = _chart("diagonal").mark_line(strokeWidth=1, strokeDash=[4, 4], **SILENT)
    x = alt.X("confidence:Q").title("confidence").scale(UNIT).axis(**FIFTHS)
    y = alt.Y("accuracy:Q").title("accuracy").scale(UNIT).axis(**FIFTHS)
    base = _chart().encode(x=x, y=y, color=COLOUR, detail="name:N")
    interval = base.mark_rule(opacity=0.6, **SILENT).encode(y=alt.Y("low:Q").title("accuracy"), y2="high:Q")
    size = alt.Size("rows:Q").scale(type="sqrt", range=[12, 110]).legend(None)
    points = base.mark_point(**DOTS).encode(size=size, tooltip=TIP)
    diagonal = diagonal.encode(x=x, y=y, color=alt.value("$muted"))
    return diagonal + interval + base.mark_line(opacity=0.7, **SILENT).encode(strokeDash=DASH) + points


def _density() -> Any:
    """The share of rows in each fiftieth of the confidence; the root keeps what is rare in sight."""
    x = alt.X("confidence:Q").title("confidence").scale(UNIT).axis(**FIFTHS)
    y = alt.Y("value:Q").title("share of rows").scale(type="sqrt").axis(format="~%", tickCount=5)
    base = _chart().encode(x=x, y=y, color=COLOUR, detail="name:N")
    hover = base.mark_point(**UNSEEN).encode(tooltip=TIP)
    return base.mark_line(interpolate="step", **SILENT).encode(strokeDash=DASH) + hover


def _risk() -> Any:
    """Errors among the rows answered, against how many are; the marks are at the threshold of the slider."""
    x = alt.X("coverage:Q").title("coverage").scale(UNIT).axis(**{**FIFTHS, "format": "~%"})
    y = alt.Y("risk:Q").title("errors among the answered").axis(format="~%")
    encoding = {"x": x, "y": y, "color": COLOUR, "detail": "name:N"}
    line = _chart().mark_line(**SILENT).encode(**encoding, strokeDash=DASH)
    hover = _chart().mark_point(**UNSEEN).encode(**encoding, tooltip=TIP)
    return line + hover + _chart("marks").mark_point(size=110, **DOTS).encode(**encoding, tooltip=TIP)


def _ranks() -> Any:
    """Mean ranks; within the band a method cannot be told from the control."""
    y = alt.Y("name:N", sort=alt.EncodingSortField("value")).title(None)
    x = alt.X("value:Q").title("mean rank, 1 is best").scale(zero=False, padding=8)
    band = _chart("band").mark_rect(opacity=0.14, **SILENT).encode(x=x, x2="high:Q", color=COLOUR)
    return band + _chart().mark_point(size=90, **DOTS).encode(x=x, y=y, color=COLOUR, tooltip=TIP)
