"""A figure is made of the charts of the page, with data in them: side by side, with a legend, as SVG or PNG."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair
import pandas as pd
import vl_convert

from slova.report.charts import charts as library_charts
from slova_bench import labels
from slova_bench.figures.charts import charts
from slova_bench.frame import NAME, Frame, Name, names

__all__ = [
    *("MOST", "below", "beside", "finished", "groups", "inlined", "keyed", "logarithmic", "looked", "panel", "save"),
    "scaled",
]

Spec = dict[str, Any]
MOST = 8  # marks in a group
INK, MUTED, LINE = "#222222", "#666666", "#e2e2e2"
WORDS = {"ink": INK, "muted": "#999999"}
TEXT = {"labelColor": MUTED, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
CONFIG: Spec = {
    "aria": False,
    "background": "white",
    "font": "DejaVu Sans, Verdana, sans-serif",
    "view": {"stroke": None},
    "axis": {**TEXT, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE},
    "legend": {**TEXT, "labelColor": INK, "labelLimit": 0, "symbolStrokeWidth": 2, "symbolSize": 110},
    "title": {"anchor": "start", "fontSize": 11.5, "fontWeight": 600, "color": INK, "subtitleColor": MUTED,
              "subtitleFontSize": 11, "offset": 8},
    "line": {"strokeWidth": 1.8},
    "point": {"size": 22, "opacity": 1},
    "rule": {"strokeWidth": 1},
}  # fmt: skip
OWN_KEYS = {"resolve": {"scale": dict.fromkeys(("color", "stroke", "strokeDash"), "independent")}}
POWER = "datum.value < 0.001 || datum.value > 10000 ? format(datum.value, '~e') : format(datum.value, '.6~g')"


def panel(
    chart: str, title: str = "", *, width: int, height: int, words: Mapping[str, Any] | None = None, **data: Frame
) -> Spec:
    """A chart of the page with its data, without what only a pointer or a screen reader finds. `words` are the titles
    that depend on the choice."""
    known = {**WORDS, **(words or {})}

    def filled(part: Any) -> Any:
        if isinstance(part, str) and part.startswith("$"):
            return known.get(part[1:], part)
        if isinstance(part, list):
            return [one for one in part if not _is_unseen(one)]
        if isinstance(part, dict):
            return {key: one for key, one in part.items() if key not in ("tooltip", "description")}
        return part

    spec = inlined(_mapped({**library_charts(), **charts()}[chart], filled), **data)
    above = {"title": textwrap.wrap(title, width // 7)} if title else {}
    return {**spec, "width": width, "height": height, **above}


def _is_unseen(layer: Any) -> bool:
    return isinstance(layer, dict) and isinstance(layer.get("mark"), dict) and layer["mark"].get("opacity") == 0


def inlined(spec: Spec, **data: Frame) -> Spec:
    """A specification with these data in place of their names."""

    def valued(part: Any) -> Any:
        if not isinstance(part, dict) or (name := (part.get("data") or {}).get("name")) not in data:
            return part
        return {**part, "data": {"values": json.loads(pd.DataFrame(data[name]).to_json(orient="records"))}}

    return {key: part for key, part in _mapped(spec, valued).items() if key not in ("$schema", "config")}


def looked(rows: Frame, order: Sequence[Name] = ()) -> Frame:
    """Rows with the appearance of their methods, as the charts expect it."""
    order = order or names(rows)
    looks = {name: labels.look(*name) for name in order}
    keys = list(rows[NAME].itertuples(index=False, name=None))
    found = rows.assign(
        name=[looks[key].name for key in keys],
        colour=[looks[key].colour for key in keys],
        dash=[list(looks[key].dash) for key in keys],
        solid=[1 if looks[key].dash == labels.SOLID else 0.4 for key in keys],
        order=[order.index(key) for key in keys],
    )
    return found.sort_values("order", kind="stable")


def groups(found: Sequence[Name], control: Name = ("slova", "")) -> list[list[Name]]:
    """Methods in groups of at most eight, of about the same size; the control is in each of several."""
    if len(found) <= MOST:
        return [list(found)]
    others = [name for name in found if name != control]
    last = [control] if control in found else []
    count = -(-len(others) // (MOST - len(last)))
    size = -(-len(others) // count)
    return [[*others[start : start + size], *last] for start in range(0, len(others), size)]


def keyed(spec: Spec, order: Sequence[Name], *, columns: int = 2, symbol: str = "square") -> Spec:
    """With a legend below: colours and dashes by the names of methods."""
    looks = [labels.look(*name) for name in order]
    values = {"colour": [look.colour for look in looks], "dash": [list(look.dash) for look in looks]}
    legend = {"orient": "bottom", "columns": columns, "symbolType": symbol, "title": None}

    def with_key(channel: Any) -> Any:
        if not isinstance(channel, dict) or channel.get("field") not in values:
            return channel
        scale = {"domain": [look.name for look in looks], "range": values[channel["field"]]}
        return {"field": "name", "type": "nominal", "scale": scale, "legend": legend}

    return dict(_mapped(spec, with_key))


def beside(parts: Iterable[Spec], *, own_keys: bool = False) -> Spec:
    """Side by side, with one legend or with one each."""
    return {"hconcat": list(parts), **(OWN_KEYS if own_keys else {})}


def below(parts: Iterable[Spec], *, own_keys: bool = False) -> Spec:
    return {"vconcat": list(parts), **(OWN_KEYS if own_keys else {})}


def scaled(spec: Spec, channel: str, axis: Mapping[str, Any] | None = None, **scale: Any) -> Spec:
    """With other properties of the scale and the axis of a channel, in every layer."""

    def with_scale(part: Any) -> Any:
        if not isinstance(part, dict) or not isinstance(own := part.get(channel), dict) or "field" not in own:
            return part
        changed = {**own, "scale": {**(own.get("scale") or {}), **scale}}
        return {**part, channel: changed | ({"axis": {**(own.get("axis") or {}), **axis}} if axis else {})}

    return dict(_mapped(spec, with_scale))


def logarithmic(spec: Spec, channel: str, low: float, high: float) -> Spec:
    """A logarithmic axis with ticks at powers of ten, and between them on a short axis."""
    steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0) if high / low > 5 else (1, 1.2, 1.5, 2, 3, 4, 5, 7)
    ticks = [step * 10.0**power for power in range(-12, 12) for step in steps]
    values = [tick for tick in ticks if low <= tick <= high]
    axis = {"values": values, "labelExpr": POWER, "labelOverlap": False, "tickCount": 50}
    return scaled(spec, channel, axis, type="log", domain=[low, high], nice=False)


def finished(spec: Spec, *, title: Sequence[str] = ()) -> Spec:
    """The whole figure, whose look does not depend on the reader's settings; `title` are lines below it."""
    below = {"title": {"text": list(title), "orient": "bottom", "fontWeight": "normal"}} if title else {}
    schema = f"https://vega.github.io/schema/vega-lite/{altair.SCHEMA_VERSION}.json"
    return {"$schema": schema, **spec, **below, "config": CONFIG, "padding": 8}


def save(spec: Spec, stem: str | Path, *, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Save STEM.svg and STEM.png. The same figure gives the same bytes."""
    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    paths = [Path(f"{stem}.{kind}") for kind in kinds]
    for path, kind in zip(paths, kinds, strict=True):
        if kind == "svg":
            path.write_text(vl_convert.vegalite_to_svg(spec, vl_version=version), encoding="utf-8", newline="\n")
        else:
            path.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=2))
    return paths


def _mapped(spec: Any, change: Callable[[Any], Any]) -> Any:
    """Every part of a specification, changed from the inside; data stay as they are."""
    if isinstance(spec, list):
        return change([_mapped(part, change) for part in spec])
    if isinstance(spec, dict):
        kept = ("data", "datasets")
        return change({key: part if key in kept else _mapped(part, change) for key, part in spec.items()})
    return change(spec)
