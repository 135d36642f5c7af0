"""`slova bench list`: what can be run."""

from __future__ import annotations

import ast
from pathlib import Path

import click

from slova_bench.cli.options import plugin

__all__ = ["declared", "listing"]

SOURCE = Path(__file__).parents[1]


@click.command()
@plugin
def listing(plugins: tuple[Path, ...]) -> None:
    """List experiments, data sets, presets and methods.

    Example: slova bench list
    """
    parts = {
        "experiments": [path.stem for path in _files("experiments")],
        "trained on": _literal("dataset_recipes.py", "DATASET_RECIPES"),
        "presets": _literal("presets.py", "PRESETS"),
        "methods": _methods(plugins),
    }
    click.echo("\n".join(f"{name}: {', '.join(values)}" for name, values in parts.items()))


def declared(package: str) -> list[str]:
    """The names of what the files of a package define, such as `METHOD = replace(..., name="ova")`. They are read from
    the source, because importing the files imports torch."""
    return [name for path in _files(package) for value in _constants(path).values() for name in _names(value)]


def _files(package: str) -> list[Path]:
    return sorted(path for path in (SOURCE / package).glob("*.py") if path.stem != "__init__")


def _methods(plugins: tuple[Path, ...]) -> list[str]:
    if not plugins:
        return declared("methods")
    from slova_bench.methods import methods

    return list(methods(plugins))


def _names(value: ast.expr) -> list[str]:
    words = value.keywords if isinstance(value, ast.Call) else []
    return [str(word.value.value) for word in words if word.arg == "name" and isinstance(word.value, ast.Constant)]


def _literal(file: str, constant: str) -> list[str]:
    """The strings of a tuple, or the keys of a dict."""
    value = _constants(SOURCE / file)[constant]
    words = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
    return [str(word.value) for word in words if isinstance(word, ast.Constant)]


def _constants(path: Path) -> dict[str, ast.expr]:
    """The upper-case assignments of a module."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    targets = [(node.targets[0], node.value) for node in body if isinstance(node, ast.Assign)]
    return {name.id: value for name, value in targets if isinstance(name, ast.Name) and name.id.isupper()}
