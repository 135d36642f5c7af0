"""One HTML file: the template, the style sheets, our scripts, Vega, and the data as JSON. It may run these scripts and
no others, and may load nothing: its content security policy tells the browser so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

try:
    import altair
    import jinja2
    import vl_convert
    from markupsafe import Markup
except ImportError as missing:
    raise ImportError(f'a report needs {missing.name}: pip install "slova[report]"', name=missing.name) from missing

from slova._offline_page import enclosed, json_text, policy
from slova.report.charts import charts

__all__ = ["Extension", "Page", "render"]

PACKAGE = "slova.report"
SCRIPTS = (
    "dom.js",
    "data.js",
    "theme.js",
    "charts.js",
    "tables.js",
    "methods.js",
    "confidence.js",
    "reject.js",
    "start.js",
)


@dataclass(frozen=True)
class Extension:
    """What another package adds to the page: in `templates/` a template that extends page.html, in `script/` scripts
    that run after those here, values for the template, and charts."""

    package: str
    template: str
    scripts: Sequence[str]
    values: Mapping[str, Any] = field(default_factory=dict)
    charts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """What differs between pages: words for the reader, the data that the scripts show, and an extension."""

    title: str
    lede: Sequence[str]
    data: Mapping[str, Any]
    footer: str
    extension: Extension = Extension(PACKAGE, "page.html", ())


def render(page: Page) -> str:
    """The whole file as text; every word of it that came from elsewhere is escaped."""
    added = page.extension
    ours = _joined(PACKAGE, SCRIPTS) + "\n" + _joined(added.package, added.scripts) + "\nbegin();"
    scripts = [enclosed(_vega()), enclosed(ours)]
    return _template(added).render(
        page=page,
        policy=policy(scripts),
        scripts=[Markup(script) for script in scripts],
        data=Markup(json_text({**page.data, "charts": {**charts(), **added.charts}})),
        **added.values,
    )


def _template(added: Extension) -> jinja2.Template:
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in (added.package, PACKAGE)])
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, loader=loader)
    return environment.get_template(added.template)


@cache  # to bundle them takes seconds
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed, of the version that the specifications are written for."""
    major, minor = altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", f"{major}.{minor}"))


def _joined(package: str, names: Sequence[str]) -> str:
    folder = resources.files(package) / "script"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
