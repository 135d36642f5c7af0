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
from slova.backend import Array

__all__ = ["Store", "describe"]

VERSIONS = {"weights": 1, "images": 1}
LOG = logging.getLogger(__name__)


class Store:
    """A folder of results by stage. With no folder, everything is computed when asked for and nothing is kept."""

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def get(self, stage: str, what: Mapping[str, Any], compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """The tensors of this stage for these arguments, from the file or computed now."""
        path = self.path(stage, what)
        if path is None:
            return compute()
        if path.exists():
            try:
                return artifact.load(path, stage, framework="torch")[0]
            except artifact.ArtifactError as error:
                LOG.warning("computing it again: %s", error)
        tensors = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        artifact.save(path, stage, tensors, {"what": _whole(stage, what)})
        return tensors

    def path(self, stage: str, what: Mapping[str, Any], suffix: str = "safetensors") -> Path | None:
        """Where that result is, or would be."""
        text = json.dumps(_whole(stage, what), sort_keys=True)
        name = f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.{suffix}"
        return None if self.folder is None else self.folder / stage / name


def describe(value: Any) -> Any:
    """What JSON can say of a value that decides a result: numbers and text as they are, functions by their name,
    dataclasses by their fields."""
    if isinstance(value, functools.partial):
        return {"function": describe(value.func), **{key: describe(item) for key, item in value.keywords.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    return value


def _whole(stage: str, what: Mapping[str, Any]) -> dict[str, Any]:
    return {"stage": stage, "version": VERSIONS.get(stage, 1), **what}
