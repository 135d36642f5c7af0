"""Save and load without pickle: one safetensors file whose header carries JSON. Loading reads numbers and text, and
never runs code.

The header holds format, version, kind and a SHA-256 over everything else, so that a file that is truncated, altered or
of another program is an error and never half loaded. Files are written whole or not at all.

>>> save("notes.slova", "notes", {"numbers": np.arange(3)}, {"by": "me"})
>>> tensors, meta = load("notes.slova", "notes")
>>> tensors["numbers"], meta["by"]
(array([0, 1, 2]), 'me')
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import safetensors

from slova._atomic import atomic_path
from slova._backend import Array

__all__ = ["ArtifactError", "atomic_path", "load", "loads", "pack", "pack_parts", "save", "unpack", "unpack_parts"]

FORMAT, VERSION = "slova", 1
SIZES = {"F": (2, 4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}  # bytes of the types that numpy has as well
DTYPES = {f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in SIZES for size in SIZES[kind]} | {"BOOL": "?"}
MOST_HEADER = 100_000_000  # bytes; safetensors reads no larger header

Tensors = dict[str, Array]


class ArtifactError(ValueError):
    """A file that is not a slova file, is damaged or altered, or is of another version or kind."""


def save(path: str | Path, kind: str, tensors: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
    """Write named arrays (numpy, or torch in any of its types) and JSON to one file, atomically."""
    text = json.dumps({**meta, "format": FORMAT, "version": VERSION, "kind": kind}, sort_keys=True, allow_nan=False)
    header, data = _split(_serialize(dict(tensors)), path)  # safetensors itself writes metadata in any order
    header["__metadata__"] = {FORMAT: text, "sha256": _digest(header, text, data)}
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def load(path: str | Path, *kinds: str, framework: str = "numpy") -> tuple[Tensors, dict[str, Any]]:
    """The arrays and the JSON of a file of one of these kinds; `framework="torch"` gives tensors instead of numpy
    arrays."""
    with open(path, "rb") as file:
        _check_start(file, path)
        return loads(file.read(), path, *kinds, framework=framework)


def loads(content: bytes, path: str | Path, *kinds: str, framework: str = "numpy") -> tuple[Tensors, dict[str, Any]]:
    """The same from the bytes of a file; errors name the path that they came from."""
    header, data = _split(content, path)
    text, checksum, meta = _take_metadata(header, path)
    if checksum != _digest(header, text, data):
        raise ArtifactError(f"{path} is damaged or was altered: its content does not match its checksum")
    if meta.get("kind") not in kinds:
        raise ArtifactError(f"{path} holds a {shown(meta.get('kind'))}, expected a {' or '.join(kinds)}")
    try:
        return (_torch_tensors(content) if framework == "torch" else _numpy_arrays(header, content)), meta
    except Exception as error:  # those of safetensors and torch have no common base class
        raise ArtifactError(f"{path} has an array that cannot be read: {shown(error, 200)}") from error


def shown(value: Any, most: int = 80) -> str:
    """Part of a file in a message: in ASCII, without control characters, and not the whole of a long one."""
    return ascii(str(value)[:most])[1:-1][:most]


def pack(value: Any, name: str, types: Mapping[str, type]) -> tuple[Tensors, dict[str, Any]]:
    """A dataclass of numbers as arrays called `name.field`, and the key of its type with the other fields as JSON."""
    words = [word for word, kind in types.items() if kind is type(value)]
    if not words:
        raise ValueError(f"{name} is a {type(value).__name__}, and only {', '.join(types)} can be saved")
    tensors: Tensors = {}
    meta: dict[str, Any] = {"type": words[0]}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        endless = isinstance(content, float) and not np.isfinite(content)  # JSON has no such number, an array has
        if isinstance(content, str | bool | int | float | tuple | None) and not endless:
            meta[field.name] = content
        elif dataclasses.is_dataclass(content) and not isinstance(content, type):
            numbers = dataclasses.asdict(content).items()
            meta[field.name] = {key: number if np.isfinite(number) else None for key, number in numbers}
        else:
            tensors[f"{name}.{field.name}"] = np.asarray(content)
    return tensors, meta


def unpack(tensors: Mapping[str, Array], meta: Mapping[str, Any], name: str, types: Mapping[str, type]) -> Any:
    """The value that `pack` packed, if its type is one of these, and its fields are of the types that it declares."""
    word = meta.get("type") if isinstance(meta, dict) else None
    if not isinstance(word, str) or word not in types:
        found = None if word is None else str(word)[:80]
        raise ArtifactError(f"{name} is of type {found!r}, expected one of {', '.join(types)}")
    fields = {key: value for key, value in meta.items() if key != "type"}
    prefix = f"{name}."
    arrays = {key.removeprefix(prefix): np.asarray(value) for key, value in tensors.items() if key.startswith(prefix)}
    fields |= {key: value if value.ndim else value.item() for key, value in arrays.items()}
    try:
        _check_fields(types[word], fields, name)
        with np.errstate(all="ignore"):
            return types[word](**fields)
    except ArtifactError:
        raise
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise ArtifactError(f"{name} cannot be rebuilt: {str(error)[:200]}") from error


def _check_fields(kind: Any, fields: Mapping[str, Any], name: str) -> None:
    declared = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    for key, value in fields.items():
        if key not in declared:
            raise ArtifactError(f"{name} has the unknown field {key[:80]!r}")
        if not _is_of_type(value, declared[key]):
            raise ArtifactError(f"{name}.{key} must be {declared[key]}, got {str(value)[:80]!r}")


def _is_of_type(value: Any, declared: str) -> bool:
    """Whether the value of a field may stand where a dataclass declares this type."""
    if value is None:
        return "None" in declared
    if isinstance(value, dict):  # another dataclass, of numbers
        return "Report" in declared and all(number is None or _is_number(number) for number in value.values())
    word = declared.removesuffix(" | None")
    if word == "tuple[str, ...]":
        return isinstance(value, list) and all(isinstance(one, str) and one.isprintable() for one in value)
    if word in ("str", "bool"):
        return type(value).__name__ == word and (word == "bool" or value.isprintable())
    if word in ("int", "float"):
        return _is_number(value) and word in (type(value).__name__, "float")
    return _is_number(value) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")


def _is_number(value: Any) -> bool:
    """A number that numpy has as well."""
    return type(value) is float or (type(value) is int and abs(value) < 1 << 63)


def pack_parts(value: Any, names: Sequence[str], types: Mapping[str, type]) -> tuple[Tensors, dict[str, Any]]:
    """These fields of a value, each packed under its name, None as null."""
    tensors: Tensors = {}
    meta: dict[str, Any] = {}
    for name in names:
        part = getattr(value, name)
        arrays, meta[name] = ({}, None) if part is None else pack(part, name, types)
        tensors |= arrays
    return tensors, meta


def unpack_parts(
    tensors: Mapping[str, Array], meta: Mapping[str, Any], types: Mapping[str, Mapping[str, type]]
) -> dict[str, Any]:
    """The fields that `pack_parts` packed; `types` are those that each may have."""
    missing = [name for name in types if name not in meta]
    if missing:
        raise ArtifactError(f"the field {', '.join(missing)} is missing")
    return {name: None if meta[name] is None else unpack(tensors, meta[name], name, types[name]) for name in types}


def _serialize(tensors: Tensors) -> bytes:
    if all(isinstance(tensor, np.ndarray) for tensor in tensors.values()):
        from safetensors.numpy import save as numpy_save

        return bytes(numpy_save({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}))
    import torch
    from safetensors.torch import save as torch_save

    copies = {name: torch.as_tensor(tensor).detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    return bytes(torch_save(copies))


def _check_start(file: BinaryIO, path: str | Path) -> None:
    """Refuses the file of another program, or one of the wrong size, by its header, before it is read whole."""
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode):  # a pipe has no size, and can be read only once
        start = file.read(8)
        start += file.read(_header_length(start, status.st_size, path))
        _take_metadata(_split(start, path, status.st_size)[0], path)
        file.seek(0)


def _split(content: bytes, path: str | Path, size: int | None = None) -> tuple[dict[str, Any], memoryview]:
    """Header and data of a safetensors file, checked to be whole; `size` is that of the file if this is its start."""
    size = len(content) if size is None else size
    begin = 8 + _header_length(content, size, path)
    header = _json(content[8:begin], path)
    try:
        end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    except (IndexError, KeyError, TypeError):
        raise ArtifactError(f"{path} is not a slova file, or is damaged") from None
    if end != size - begin:
        raise ArtifactError(f"{path} is cut off or has bytes too many")
    return header, memoryview(content)[begin:]


def _header_length(start: bytes, size: int, path: str | Path) -> int:
    length = int(struct.unpack("<Q", start[:8])[0]) if len(start) >= 8 else -1
    if not 0 <= length <= min(size - 8, MOST_HEADER):
        raise ArtifactError(f"{path} is not a slova file, or is cut off")
    return length


def _take_metadata(header: dict[str, Any], path: str | Path) -> tuple[str, Any, dict[str, Any]]:
    """The JSON of a header as text, its checksum, and what it says; they are removed from the header."""
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(FORMAT), str):
        raise ArtifactError(f"{path} is not a slova file")
    meta = _json(metadata[FORMAT], path)
    if (version := meta.get("version")) != VERSION:
        raise ArtifactError(f"{path} has format version {shown(version)}, this slova reads version {VERSION}")
    return metadata[FORMAT], metadata.get("sha256"), meta


def _json(text: str | bytes, path: str | Path) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (RecursionError, TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise ArtifactError(f"{path} is not a slova file")
    return value


def _digest(header: Mapping[str, Any], text: str, data: memoryview) -> str:
    table = json.dumps({name: entry for name, entry in header.items() if name != "__metadata__"}, sort_keys=True)
    encoded = text.encode(errors="surrogatepass")  # an altered file may have text that is not UTF-8
    return hashlib.sha256(b"\0".join([encoded, table.encode(), hashlib.sha256(data).digest()])).hexdigest()


def _numpy_arrays(names: Iterable[str], content: bytes) -> Tensors:
    """The arrays of types that numpy has; others, such as bfloat16 weights, are for torch."""
    found: dict[str, Any] = dict(safetensors.deserialize(content))  # type: ignore[no-untyped-call]
    return {
        name: np.frombuffer(found[name]["data"], DTYPES[found[name]["dtype"]]).reshape(found[name]["shape"])
        for name in names
        if found[name]["dtype"] in DTYPES
    }


def _torch_tensors(content: bytes) -> Tensors:
    from safetensors.torch import load as torch_load

    return dict(torch_load(content))
