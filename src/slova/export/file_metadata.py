"""The metadata of an exported file, written and read without torch and onnx."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slova.metrics import Selection
from slova.metrics.binning import bin_index, sums
from slova.prediction import COLUMNS

__all__ = ["OUTPUTS", "ExportError", "Metadata", "Validation", "check_suffix", "metadata", "sentence"]

OUTPUTS = (*COLUMNS, "log_probs")
"""The outputs of an exported classifier, in order."""
BINS = 100
PROGRAM = "slova.json"  # the metadata in a .pt2 file


class ExportError(ValueError):
    """The classifier cannot be exported, or a file is not an exported classifier."""


class Validation(NamedTuple):
    """The number of validation rows, and of correct ones, in each of 100 equal-width bins of confidence."""

    counts: tuple[int, ...]
    hits: tuple[int, ...]

    @classmethod
    def of(cls, selection: Selection) -> Validation:
        full = selection.count > 0
        count, hits = selection.count[full], selection.hits[full]
        index = bin_index(np.minimum(selection.total[full] / count, 1.0), BINS, "width")
        return cls(*(tuple(sums(index, kind.astype(np.float64), BINS).astype(int).tolist()) for kind in (count, hits)))


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """The description of an exported classifier; `names`, `opset` and `validation` may be None."""

    version: str
    classes: int
    head: str
    reject: float
    names: tuple[str, ...] | None = None
    opset: int | None = None
    validation: Validation | None = None

    @property
    def lines(self) -> dict[str, str]:
        """The metadata as text, by key, as files store it."""
        found = {"version": self.version, "classes": self.classes, "head": self.head, "reject": repr(self.reject)}
        found |= {} if self.opset is None else {"opset": self.opset}
        found |= {} if self.names is None else {"names": json.dumps(self.names)}
        found |= {} if self.validation is None else {"validation": json.dumps(self.validation._asdict())}
        return {f"slova.{name}": str(value) for name, value in found.items()}

    @classmethod
    def of(cls, lines: Mapping[str, str], path: str | Path = "the model") -> Metadata:
        """Parse the metadata of a file, such as that of an ONNX session; `path` is for the error message only."""
        if "slova.version" not in lines:
            raise ExportError(f"{path} was not exported by slova: it has no metadata slova.version")
        try:
            return _read({name.removeprefix("slova."): text for name, text in lines.items()})
        except (KeyError, TypeError, ValueError) as error:
            raise ExportError(f"{path} is damaged: its metadata cannot be read ({error!r})") from error


def metadata(path: str | Path) -> Metadata:
    """The metadata of an exported .onnx or .pt2 file. Reading an .onnx file needs onnxruntime."""
    path = Path(path)
    with open(path, "rb"):  # raises FileNotFoundError
        pass
    check_suffix(path)
    return Metadata.of(_program_lines(path) if path.suffix == ".pt2" else _graph_lines(path), path)


def check_suffix(path: Path) -> None:
    if path.suffix not in (".onnx", ".pt2"):
        raise ExportError(f"{path}: an exported file must end in .onnx or .pt2, got {path.suffix or 'no suffix'}")


def sentence(error: Exception) -> str:
    """The message of the innermost cause, which exporters wrap in long advice."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return " ".join(str(error).split())[:400]


def _read(lines: Mapping[str, str]) -> Metadata:
    validation: Any = json.loads(lines["validation"]) if "validation" in lines else None
    return Metadata(
        version=lines["version"],
        classes=int(lines["classes"]),
        head=lines["head"],
        reject=float(lines["reject"]),
        names=tuple(str(name) for name in json.loads(lines["names"])) if "names" in lines else None,
        opset=int(lines["opset"]) if "opset" in lines else None,
        validation=None if validation is None else Validation(tuple(validation["counts"]), tuple(validation["hits"])),
    )


def _graph_lines(path: Path) -> dict[str, str]:
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(f'reading {path} needs onnxruntime: pip install "slova[onnx]"') from None
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base class
        raise ExportError(f"{path} is not an ONNX model, or is damaged: {str(error).splitlines()[0]}") from error
    return dict(session.get_modelmeta().custom_metadata_map)


def _program_lines(path: Path) -> dict[str, str]:
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith(f"/{PROGRAM}"))
            return dict(json.loads(archive.read(name)))
    except StopIteration:
        raise ExportError(f"{path} was not exported by slova: it holds no {PROGRAM}") from None
    except (zipfile.BadZipFile, ValueError) as error:
        raise ExportError(f"{path} is not a torch program, or is damaged: {error}") from error
