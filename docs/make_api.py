"""Write docs/api.md from the docstrings: `make docs`. A test fails when the page is stale."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

MODULES = [
    "slova.heads",
    "slova.losses",
    "slova.calibration",
    "slova.calibration.module",
    "slova.metrics",
    "slova.metrics.torchmetrics",
    "slova.prediction",
    "slova.scorer",
    "slova.evaluation",
    "slova.thresholds",
    "slova.prediction_sets",
    "slova.classifier",
    "slova.retrofit",
    "slova.vision",
    "slova.vision.augment",
    "slova.vision.degradations",
    "slova.vision.held_out_degradations",
    "slova.vision.shift_aware",
    "slova.vision.passes",
    "slova.vision.outliers",
    "slova.vision.held_out_outliers",
    "slova.ensemble",
    "slova.multilabel",
    "slova.extreme",
    "slova.sklearn",
    "slova.export",
    "slova.batch",
    "slova.serve",
    "slova.report",
    "slova.artifact",
]
PAGE = Path(__file__).parent / "api.md"


def page() -> str:
    """The whole reference as markdown."""
    parts = ["# API reference\n\nWritten by `make docs` from the docstrings; do not edit.\n"]
    parts += [f"- [`{name}`](#{name.replace('.', '')})" for name in MODULES]
    parts += ["- [Shapes of arrays](#shapes-of-arrays)"]
    parts += [section(importlib.import_module(name)) for name in MODULES]
    return "\n".join([*parts, shapes()])


def shapes() -> str:
    """A table of the names for arrays in signatures."""
    known = importlib.import_module("slova._types")
    lines = [
        f"| `{name}` | {dtype} | {axes.replace('*batch', '...').replace(' ', ', ')} |"
        for name, (_, dtype, axes) in known.SHAPES.items()
    ]
    return "\n".join(["\n## Shapes of arrays\n", text(known), "\n| name | dtype | axes |", "|---|---|---|", *lines])


def section(module: Any) -> str:
    package = module.__name__.rpartition(".")[0]
    above = importlib.import_module(package).__all__ if package in MODULES else []  # listed there
    entries = [entry(name, getattr(module, name)) for name in module.__all__ if name not in above]
    return "\n".join([f"\n## {module.__name__}\n", text(module), *filter(None, entries)])


def entry(name: str, value: Any) -> str:
    """A heading with the signature, the docstring, and the public methods of a class."""
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return ""
    lines = [f"\n### {name}\n", f"```python\n{name}{signature(value)}\n```\n", text(value)]
    if inspect.isclass(value):
        lines += [method(name, key, inspect.getattr_static(value, key)) for key in public(value)]
    return "\n".join(line for line in lines if line)


def public(value: type) -> list[str]:
    """Methods and properties of our own, in the order they are written; `__call__` counts."""
    ours = [base for base in value.__mro__ if base.__module__.startswith("slova")]
    names = [key for base in ours for key in vars(base) if not key.startswith("_") or key == "__call__"]
    return [key for key in dict.fromkeys(names) if is_method(inspect.getattr_static(value, key))]


def is_method(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, classmethod | staticmethod | property)


def method(owner: str, name: str, value: Any) -> str:
    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    what = "property" if isinstance(value, property) else signature(function)
    described = text(function)
    return f"\n**`{owner}.{name}`** `{what}`" + (f"\n\n{described}" if described else "")


def signature(value: Any) -> str:
    try:
        text = re.sub(r"ForwardRef\(([^)]*)\)", r"\1", str(inspect.signature(value)).replace("'", ""))
        text = re.sub(r"<bound method (?:\w+\.)*?(\w+\.\w+) of [^>]*>+", r"\1", text)
        return re.sub(r"<function (?:\w+\.)*(\w+|<lambda>) at 0x[0-9a-f]+>", r"\1", text)
    except ValueError:
        return "(...)"


def text(value: Any) -> str:
    """The docstring; doctests become code blocks, indented formulas stay as they are."""
    lines, fenced, found = [], False, inspect.getdoc(value) or ""
    for line in found.splitlines():
        if line.startswith(">>>") and not fenced:
            lines.append("```pycon")
            fenced = True
        elif fenced and not line.strip():
            lines.append("```")
            fenced = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if fenced else [])])


if __name__ == "__main__":
    PAGE.write_text(page() + "\n")
    print(PAGE)
