"""The methods of the comparison, one file each. Every Method in a module of this package is found; further files are
plug-ins: `methods((Path("mine.py"),))`."""

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
    """Every method by name, in the order of file names; those of plug-ins come last."""
    found: dict[str, Method] = {}
    for file in pkgutil.iter_modules(__path__):
        found |= _methods_in(importlib.import_module(f"{__name__}.{file.name}"))
    for path in plugins:
        new = _methods_in(_opened(path))
        for method in new.values():
            _check(method, path)
        if not new:
            raise ValueError(f"{path} must define a METHOD = replace(softmax.METHOD, name=...)")
        if new.keys() & found.keys():
            raise ValueError(f"{path}: method {', '.join(new.keys() & found.keys())} exists already")
        found |= new
    return found


def _methods_in(module: ModuleType) -> dict[str, Method]:
    values = [value for name, value in vars(module).items() if name.isupper() and type(value).__name__ == "Method"]
    return {value.name: value for value in values}


def _check(method: Method, path: Path) -> None:
    """Check the name, and the family of a method without a recipe of its own."""
    from slova_bench.dataset_recipes import DATASET_RECIPES

    families = list(dict.fromkeys(family for one in DATASET_RECIPES.values() for family in one.recipes))
    if not re.fullmatch(r"[^\s,]+", method.name):
        raise ValueError(f"{path}: the name of a method must have no spaces and no commas, got {method.name!r}")
    if method.recipe is None and method.family not in families:
        raise ValueError(
            f"{path}: {method.name} is of no known family, {method.family!r}; there are {', '.join(families)}"
        )


def _opened(path: Path) -> ModuleType:
    """The file as a module whose name includes a hash of its content, so that weights depend on its code."""
    name = f"{path.stem}_{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    setattr(module, CONTENT, name)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # any error of the plug-in
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def find(names: list[str] | tuple[str, ...], plugins: tuple[Path, ...] = ()) -> list[Method]:
    """The methods of these names. Raises ValueError, with a list of all methods, for an unknown one."""
    known = methods(plugins)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown method {', '.join(unknown)}; the methods are {', '.join(known)}")
    return [known[name] for name in names]
