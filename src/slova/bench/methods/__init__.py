"""The methods of the comparison, one file each. A file in this folder with a METHOD in it is a method, and nothing else
needs to know."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slova.bench.method import Method

__all__ = ["find", "methods"]


@cache
def methods() -> dict[str, Method]:
    """Every method by name, in the order of the file names."""
    found: dict[str, Method] = {}
    for file in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{file.name}")
        values = [value for name, value in vars(module).items() if name.isupper() and type(value).__name__ == "Method"]
        found |= {value.name: value for value in values}
    return found


def find(names: list[str] | tuple[str, ...]) -> list[Method]:
    """The methods of these names, or an error that lists those there are."""
    known = methods()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no method is called {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names]
