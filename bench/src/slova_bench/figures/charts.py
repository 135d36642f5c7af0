"""The charts of the comparison, on the page and in figures, in addition to those of `slova.report.charts`."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

from slova.report.charts import (
    COLOUR,
    DASH,
    DOTS,
    FIFTHS,
    SILENT,
    SPOKEN,
    STROKE,
    TIP,
    UNIT,
    UNSEEN,
    chart,
    specification,
)

__all__ = ["charts"]

DECADES: dict[str, Any] = {"values": [0, 0.1, 1, 10, 100, 1000], "format": ".6~g", "labelOverlap": False}


@cache
def charts() -> dict[str, dict[str, Any]]:
    """Every specification by name."""
    severity = alt.X("level:O").title("severity").axis(labelAngle=0)
    distance = alt.X("level:Q").title("distance").scale(type="symlog", constant=0.03).axis(**DECADES)
    number = alt.X("level:Q").title("$x").scale(type="log", nice=False, padding=8).axis(tickCount=4, format="~s")
    drawn = {
        "severity": _lines(severity),
        "types": _lines(severity, _over_types(), errors=False),
        "boxes": _boxes(severity),
        "sets": _bars(),
        "distance": _lines(distance),
        "variants": _lines(number) + _optimum(),
        "curve": _curve(),
        "maps": _curve() + _observed(),
        "plane": _plane(),
        "ranks": _ranks(),
    }
    return {name: specification(spec) for name, spec in drawn.items()}


def _lines(x: Any, data: Any = None, *, errors: bool = True) -> Any:
    """A line a method with its numbers at the points, and the standard error over seeds where there is one."""
    base = (data or chart()).encode(
        x=x, y=alt.Y("value:Q").title("$y").scale(zero=False), color=COLOUR, detail="name:N"
    )
    rules = base.mark_rule(opacity=0.5, **SILENT).encode(y=alt.Y("low:Q").title("$y"), y2="high:Q")
    lines, points = base.mark_line(**SILENT).encode(strokeDash=DASH), base.mark_point(**DOTS).encode(tooltip=TIP)
    return lines + rules + points if errors else lines + points


def _over_types() -> Any:
    """The mean and the quartiles of the values of a method at a severity, over the types of shift."""
    three = " + ', ' + ".join(f"format(datum.{name}, '.3f')" for name in ("q25", "median", "q75"))
    return (
        chart()
        .transform_aggregate(
            count="count()", value="mean(value)", least="min(value)", q25="q1(value)", median="median(value)",
            q75="q3(value)", most="max(value)", groupby=["name", "colour", "dash", "solid", "order", "level"],
        )
        .transform_calculate(
            where="'severity ' + datum.level",
            says=f"format(datum.value, '.3f') + (datum.count > 1 ? ', quartiles ' + {three} : '')",
        )
    )  # fmt: skip


def _optimum() -> Any:
    return chart("optimum").mark_rule(strokeDash=[2, 3]).encode(y="value:Q", color=COLOUR, tooltip=TIP)


def _boxes(severity: Any) -> Any:
    """Quartiles over the types of shift; the whiskers are the extremes."""
    y = alt.Y("median:Q").title("$y").scale(zero=False)
    base = _over_types().encode(x=severity, xOffset=alt.XOffset("order:O"), y=y, color=COLOUR, tooltip=TIP)
    whiskers = base.mark_rule(**SILENT).encode(y=alt.Y("least:Q").title("$y"), y2="most:Q")
    boxes = base.mark_bar(fillOpacity=0.35, strokeWidth=1, description=SPOKEN).encode(stroke=STROKE, strokeDash=DASH)
    boxes = boxes.encode(y=alt.Y("q25:Q").title("$y"), y2="q75:Q")
    return whiskers + boxes + base.mark_tick(thickness=2.5, **SILENT)


def _bars() -> Any:
    """Grouped by test set, one bar a method; those of a dashed line are pale."""
    place = {"y": alt.Y("set:N", sort=None).title(None), "yOffset": alt.YOffset("order:O")}
    base = chart().encode(**place, color=COLOUR)
    second = {"stroke": STROKE, "strokeDash": DASH, "fillOpacity": alt.FillOpacity("solid:Q").scale(None).legend(None)}
    bars = base.mark_bar(cornerRadiusEnd=2, strokeWidth=1, description=SPOKEN).encode(**second, tooltip=TIP)
    bars = bars.encode(x=alt.X("value:Q").title("$x").axis(tickCount=6))
    return bars + base.mark_rule(**SILENT).encode(x="low:Q", x2="high:Q", color=alt.value("$ink"))


def _curve() -> Any:
    x = alt.X("level:Q").title("$x").scale(UNIT).axis(**FIFTHS)
    base = chart().encode(x=x, y=alt.Y("value:Q").title("$y").scale(UNIT), color=COLOUR, detail="name:N")
    hover = base.mark_point(**UNSEEN).encode(tooltip=TIP)
    return base.mark_line(**SILENT).encode(strokeDash=DASH) + hover


def _observed() -> Any:
    encoding = {"x": alt.X("level:Q").title("$x"), "y": alt.Y("value:Q").title("$y"), "color": COLOUR, "tooltip": TIP}
    return chart("observed").mark_point(filled=True, size=22, opacity=0.55, **SILENT).encode(**encoding)


def _plane() -> Any:
    axis: dict[str, Any] = {"labelAngle": 0, "values": [-20, -10, 0, 10, 20], "ticks": False, "domain": False}
    colour = alt.Color("value:Q").scale(domain=[0, 1], scheme="cividis").title("confidence")
    return (
        chart(height=260)
        .mark_rect()
        .encode(
            x=alt.X("alpha:O").title("alpha").axis(**axis),
            y=alt.Y("beta:O", sort="descending").title("beta").axis(**axis),
            color=colour.legend(orient="bottom", gradientLength=160),
            tooltip=[alt.Tooltip("alpha:Q"), alt.Tooltip("beta:Q"), alt.Tooltip("value:Q", format=".3f")],
        )
    )


def _ranks() -> Any:
    """Mean ranks; within the band a method cannot be distinguished from the control."""
    y = alt.Y("name:N", sort=alt.EncodingSortField("value")).title(None)
    x = alt.X("value:Q").title("mean rank, 1 is best").scale(zero=False, padding=8, nice=False).axis(tickCount=8)
    band = chart("band").mark_rect(opacity=0.14, **SILENT).encode(x=x, x2="high:Q", color=COLOUR)
    base = chart().encode(x=x, y=y)
    number = base.mark_text(align="left", dx=9, **SILENT).encode(text="says:N", color=alt.value("$muted"))
    return band + base.mark_point(size=90, **DOTS).encode(color=COLOUR, tooltip=TIP) + number
