"""One HTML file: the template, the style sheet, our scripts, Vega, and the data as JSON. It may run these scripts and
no others, and may load nothing: its content security policy says so to the browser."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import altair
import jinja2
import vl_convert
from markupsafe import Markup

from slova_bench.claims import Finding
from slova_bench.report.charts import charts

__all__ = ["Page", "render"]

STYLES = ("page.css", "controls.css", "tables.css")
SCRIPTS = (
    "dom.js",
    "data.js",
    "theme.js",
    "charts.js",
    "tables.js",
    "methods.js",
    "metric.js",
    "confidence.js",
    "reject.js",
    "start.js",
)


@dataclass(frozen=True)
class Page:
    """What differs between pages: words for the reader, findings with the experiment each is about, and the data that
    the scripts show."""

    title: str
    lede: Sequence[str]
    findings: Sequence[tuple[str, Finding]]
    data: Mapping[str, Any]
    footer: str


def render(page: Page) -> str:
    """The whole file as text; every word of it that came from elsewhere is escaped."""
    folder = resources.files("slova_bench.report")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (folder / "templates" / "page.html").read_text(encoding="utf-8")
    )
    scripts = [_enclosed(_vega()), _enclosed(_joined(folder / "script", SCRIPTS))]
    return template.render(
        page=page,
        policy=_policy(scripts),
        style=Markup(_joined(folder / "templates", STYLES)),
        scripts=[Markup(script) for script in scripts],
        data=Markup(_json({**page.data, "charts": charts()})),
    )


def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed, of the version that the specifications are written for."""
    major, minor = altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", f"{major}.{minor}"))


def _joined(folder: Traversable, names: tuple[str, ...]) -> str:
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _enclosed(script: str) -> str:
    """A script whose names are its own."""
    return f'(() => {{\n"use strict";\n{script}\n}})();'.replace("</script", "<\\/script")


def _policy(scripts: list[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _json(content: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
