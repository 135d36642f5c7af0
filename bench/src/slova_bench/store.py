"""Nothing is computed twice: a stage's arguments, written out readably, are its key, and its result is one file.

    store.get("weights", {"loss": describe(loss), "seed": 3, …}, compute)

The description is the whole key, with a version a stage that is raised when its meaning changes, not at every change of
code. It stands in the file, so that a folder of results explains itself. Files appear whole or not at all.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from slova import artifact
from slova._backend import Array

__all__ = ["VERSIONS", "Store", "describe", "file_name"]

VERSIONS = {"weights": 1, "images": 1}
LOG = logging.getLogger(__name__)


class Store:
    """A folder of results by stage. With no folder, everything is computed when asked for and nothing is kept.

    `shipped` are other folders, of results that came with the package or the repository: they are looked into first,
    and never written to.
    """

    def __init__(self, folder: str | Path | None, *shipped: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.shipped = [Path(place) for place in shipped if place is not None]

    def get(self, stage: str, what: Mapping[str, Any], compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """The tensors of this stage for these arguments, from the file or computed now."""
        found = self._shipped(stage, what)
        if found is not None:
            return artifact.load(found, stage, framework="torch")[0]
        path = self.path(stage, what)
        if path is None:
            return compute()
        if path.exists():
            try:
                return artifact.load(path, stage, framework="torch")[0]
            except artifact.ArtifactError as error:
                LOG.warning("computing it again: %s", error)
        path.parent.mkdir(parents=True, exist_ok=True)  # first, lest a training end at a folder that cannot be
        tensors = compute()
        artifact.save(path, stage, tensors, {"what": _whole(stage, what)})
        return tensors

    def path(self, stage: str, what: Mapping[str, Any], suffix: str = "safetensors") -> Path | None:
        """Where that result is, or would be."""
        return None if self.folder is None else self.folder / stage / file_name(stage, what, suffix)

    def _shipped(self, stage: str, what: Mapping[str, Any]) -> Path | None:
        found = (place / stage / file_name(stage, what) for place in self.shipped)
        return next((path for path in found if path.exists()), None)


def describe(value: Any) -> Any:
    """What JSON can say of a value that decides a result: numbers and text as they are, functions by their name,
    dataclasses by their fields. What its name does not tell from another is refused."""
    if isinstance(value, functools.partial):
        given = {"given": describe(value.args)} if value.args else {}
        return {"function": describe(value.func), **given, **{k: describe(v) for k, v in value.keywords.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"function": describe(type(value))} if callable(value) else {}
        return kind | {field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(value):
        return _name(value)
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    return value


def _name(function: Callable[..., Any]) -> str:
    """Where a function or class is defined; a lambda, a function within a function, or the method of an object may
    hold anything."""
    name, owner = getattr(function, "__qualname__", "<"), getattr(function, "__self__", None)
    if "<" in name or not (owner is None or isinstance(owner, type)):
        raise ValueError(f"{function!r} has no name that tells it from others: give it one, or use functools.partial")
    return f"{function.__module__}.{name}"


def file_name(stage: str, what: Mapping[str, Any], suffix: str = "safetensors") -> str:
    """The file of a result: a hash of the description."""
    text = json.dumps(_whole(stage, what), sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.{suffix}"


def _whole(stage: str, what: Mapping[str, Any]) -> dict[str, Any]:
    return {"stage": stage, "version": VERSIONS.get(stage, 1), **what}
