"""`slova bench list`: what can be run."""

from __future__ import annotations

import ast
from pathlib import Path

import click

from slova_bench.cli.options import plugin

__all__ = ["listing"]

SOURCE = Path(__file__).parents[1]


@click.command()
@plugin
def listing(plugins: tuple[Path, ...]) -> None:
    """List experiments, data sets, presets and methods.

    Example: slova bench list
    """
    parts = {
        "experiments": [path.stem for path in _files("experiments")],
        "trained on": _strings("dataset_recipes.py", "DATASET_RECIPES"),
        "presets": _strings("presets.py", "PRESETS"),
        "methods": _methods(plugins),
    }
    click.echo("\n".join(f"{name}: {', '.join(values)}" for name, values in parts.items()))


def _methods(plugins: tuple[Path, ...]) -> list[str]:
    """Without plug-ins, the `name=` of what the files assign, read from the source: importing them imports torch."""
    if plugins:
        from slova_bench.methods import methods

        return list(methods(plugins))
    calls = [value for path in _files("methods") for value in _constants(path).values() if isinstance(value, ast.Call)]
    return [ast.literal_eval(word.value) for call in calls for word in call.keywords if word.arg == "name"]


def _files(package: str) -> list[Path]:
    return sorted(path for path in (SOURCE / package).glob("*.py") if path.stem != "__init__")


def _strings(file: str, constant: str) -> list[str]:
    """The strings of a tuple, or the keys of a dict."""
    value = _constants(SOURCE / file)[constant]
    words = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
    return [str(word.value) for word in words if isinstance(word, ast.Constant)]


def _constants(path: Path) -> dict[str, ast.expr]:
    """The upper-case assignments of a module."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    targets = [(node.targets[0], node.value) for node in body if isinstance(node, ast.Assign)]
    return {name.id: value for name, value in targets if isinstance(name, ast.Name) and name.id.isupper()}
