"""Short names with a version for what decides a result: losses, networks, schedules, augmentations, heads, fits.

    @stable("resnet20")                         resnet20/1; raise the version when the meaning changes
    def resnet20(classes, ...): ...

    stable("slova_head")(SLOVA)                 a value, or a function of the library

Names, not import paths, are part of the key of a stored result: a module may move, a function may be renamed, and the
results stay valid. A plug-in is named by its content, so its functions need no name of their own.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from slova import calibration, heads

__all__ = ["CONTENT", "name_of", "stable"]

CONTENT = "__content__"  # of the module of a plug-in: its name with a hash of its content

Named = TypeVar("Named", bound=Callable[..., Any])
NAMES: dict[Callable[..., Any], str] = {}
OWNERS: dict[str, Callable[..., Any]] = {}


def stable(name: str, *, version: int = 1) -> Callable[[Named], Named]:
    """Registers a function, class or callable value under `name/version`. A name of something else is refused."""

    def register(named: Named) -> Named:
        full = f"{name}/{version}"
        if not _same(OWNERS.get(full, named), named):
            raise ValueError(f"{full} is the name of {OWNERS[full]!r} and cannot be that of {named!r}")
        if NAMES.get(named, full) != full:
            raise ValueError(f"{named!r} is called {NAMES[named]} already and cannot be called {full}")
        OWNERS[full], NAMES[named] = named, full
        return named

    return register


def name_of(function: Callable[..., Any]) -> str | None:
    """The registered name, or that within a plug-in; None without one. Closures and methods of objects have none: two
    of them share a name."""
    try:
        if function in NAMES:
            return NAMES[function]
    except TypeError:  # not hashable
        return None
    name, owner = getattr(function, "__qualname__", "<"), getattr(function, "__self__", None)
    content = getattr(sys.modules.get(getattr(function, "__module__", "")), CONTENT, None)
    distinct = "<" not in name and (owner is None or isinstance(owner, type))
    return f"{content}.{name}" if content and distinct else None


def _same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether these are one function, perhaps of one file that was imported under two names."""
    codes = [getattr(inspect.unwrap(function), "__code__", None) for function in (one, other)]
    return one == other or (codes[0] is not None and codes[0] == codes[1])


CALIBRATORS = ("affine", "beta", "exponential", "histogram", "isotonic", "temperature")
for _name in CALIBRATORS:
    stable(_name)(calibration.CALIBRATORS[_name].fit)
for _name in ("softmax", "ova", "slova"):
    stable(f"{_name}_head")(heads.HEADS[_name])
