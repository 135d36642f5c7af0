"""Nothing is computed twice: a stage's arguments, written out readably, are its key, and its result is one file.

    store.get("weights", {"loss": describe(loss), "seed": 3, …}, compute)

The description is the whole key, with a version per stage that is raised when its meaning changes, not at every change
of code. It is stored in the file, so that each file in a folder of results is documented. Files are written atomically.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import logging
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from slova import artifact
from slova._backend import Array
from slova_bench.stable import name_of

__all__ = ["USUAL_LEFT_OUT", "VERSIONS", "XZ", "Store", "compress", "describe", "file_name", "load"]

VERSIONS = {"weights": 1, "images": 1}
XZ = ".xz"
USUAL_LEFT_OUT: Mapping[str, bool] = {"usual left out": True}  # metadata of a field that keeps older keys valid
LOG = logging.getLogger(__name__)


class Store:
    """A folder of results by stage. With no folder, everything is computed on demand and nothing is kept.

    `shipped` are other folders, of results that come with the package or the repository, compressed by xz: they are
    searched first, and never written to.
    """

    def __init__(self, folder: str | Path | None, *shipped: str | Path | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.shipped = [Path(path) for path in shipped if path is not None]

    def get(self, stage: str, what: Mapping[str, Any], compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        """The tensors of this stage for these arguments, from the file or computed now."""
        found, path = self.find(stage, what), self.path(stage, what)
        if found is not None:
            try:
                return load(found, stage, framework="torch")[0]
            except artifact.ArtifactError as error:
                if found != path:
                    raise
                LOG.warning("computing it again: %s", error)
        if path is None:
            return compute()
        path.parent.mkdir(parents=True, exist_ok=True)  # it may fail, so before the training
        tensors = compute()
        artifact.save(path, stage, tensors, {"what": _whole(stage, what)})
        return tensors

    def find(self, stage: str, what: Mapping[str, Any]) -> Path | None:
        """The file of that result, in a shipped folder or here; None if it is not computed yet."""
        names = [file_name(stage, what, suffix) for suffix in (f"safetensors{XZ}", "safetensors")]
        places = [other / stage / name for other in self.shipped for name in names]
        return next((path for path in (*places, self.path(stage, what)) if path is not None and path.exists()), None)

    def path(self, stage: str, what: Mapping[str, Any], suffix: str = "safetensors") -> Path | None:
        """Where that result is, or would be."""
        return None if self.folder is None else self.folder / stage / file_name(stage, what, suffix)


def describe(value: Any) -> Any:
    """A value that decides a result, as JSON: numbers and text as they are, functions by their stable name, dataclasses
    by their fields, but for those left out at their default. A function without a stable name is refused."""
    if callable(value) and (name := name_of(value)) is not None:
        return name
    if isinstance(value, functools.partial):
        given = {"given": describe(value.args)} if value.args else {}
        return {"function": describe(value.func), **given, **{k: describe(v) for k, v in value.keywords.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"function": describe(type(value))} if callable(value) else {}
        fields = [field for field in dataclasses.fields(value) if not _left_out(field, value)]
        return kind | {field.name: describe(getattr(value, field.name)) for field in fields}
    if callable(value):
        raise ValueError(
            f'{value!r} has no stable name: decorate it with @stable("name") of slova_bench.stable, and give the '
            "arguments of a closure by functools.partial"
        )
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    return value


def _left_out(field: dataclasses.Field[Any], value: Any) -> bool:
    return field.metadata == USUAL_LEFT_OUT and getattr(value, field.name) == field.default


def load(path: Path, kind: str, *, framework: str = "numpy") -> tuple[dict[str, Array], dict[str, Any]]:
    """`slova.artifact.load`, of a file compressed by `compress` too."""
    content = path.read_bytes()
    if path.suffix == XZ:
        try:
            content = lzma.decompress(content)
        except lzma.LZMAError as error:
            raise artifact.ArtifactError(f"{path} is damaged: {error}") from None
    return artifact.loads(content, path, kind, framework=framework)


def compress(content: bytes) -> bytes:
    """Numbers of two bytes by xz, which models high and low bytes separately: half-precision weights take 84 %."""
    model = {"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 1, "pb": 1}
    return lzma.compress(content, filters=[model])


def file_name(stage: str, what: Mapping[str, Any], suffix: str = "safetensors") -> str:
    """The file of a result: a hash of the description."""
    text = json.dumps(_whole(stage, what), sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.{suffix}"


def _whole(stage: str, what: Mapping[str, Any]) -> dict[str, Any]:
    return {"stage": stage, "version": VERSIONS.get(stage, 1), **what}
