"""The methods of the comparison, one file each. A file in this folder with a METHOD in it is a method, and nothing else
needs to know. So is such a file elsewhere, when it is named: `methods((Path("mine.py"),))`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from slova_bench.stable import CONTENT

if TYPE_CHECKING:
    from slova_bench.method import Method

__all__ = ["find", "methods"]


@cache
def methods(plugins: tuple[Path, ...] = ()) -> dict[str, Method]:
    """Every method by name, in the order of the file names; those of other files come last."""
    found: dict[str, Method] = {}
    for file in pkgutil.iter_modules(__path__):
        found |= _methods_in(importlib.import_module(f"{__name__}.{file.name}"))
    for path in plugins:
        new = _methods_in(_opened(path))
        for method in new.values():
            _check(method, path)
        if not new:
            raise ValueError(f"{path} holds no method: it wants a METHOD = replace(softmax.METHOD, name=...)")
        if new.keys() & found.keys():
            raise ValueError(f"{path}: there is a method called {', '.join(new.keys() & found.keys())} already")
        found |= new
    return found


def _methods_in(module: ModuleType) -> dict[str, Method]:
    values = [value for name, value in vars(module).items() if name.isupper() and type(value).__name__ == "Method"]
    return {value.name: value for value in values}


def _check(method: Method, path: Path) -> None:
    """Names stand in lists and in rows; a family brings the recipe, where the method has none of its own."""
    from slova_bench.dataset_recipes import SETTINGS

    families = list(dict.fromkeys(family for one in SETTINGS.values() for family in one.recipes))
    if not re.fullmatch(r"[^\s,]+", method.name):
        raise ValueError(f"{path}: a method cannot be called {method.name!r}: a name has no spaces and no commas")
    if method.recipe is None and method.family not in families:
        raise ValueError(
            f"{path}: {method.name} is of no known family, {method.family!r}; there are {', '.join(families)}"
        )


def _opened(path: Path) -> ModuleType:
    """The file as a module whose name has its content in it, so that weights are those of these very lines."""
    name = f"{path.stem}_{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    setattr(module, CONTENT, name)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's lines do
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def find(names: list[str] | tuple[str, ...], plugins: tuple[Path, ...] = ()) -> list[Method]:
    """The methods of these names, or an error that lists those there are."""
    known = methods(plugins)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no method is called {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names]
