"""The data sets: their files, which `files.toml` lists, splits, classes, and OOD sets."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from slova_bench.data.archives import cifar, digits, svhn
from slova_bench.data.files import Archive, File

__all__ = ["DATASETS", "FILES", "Dataset"]


@dataclass(frozen=True)
class Dataset:
    """A data set: its splits as parts of files, the number of classes of one to train on, and the splits that are OOD
    for it."""

    parts: dict[str, tuple[File, slice]]
    classes: int = 0
    ood: tuple[str, ...] = ()


def _parts(train: File, test: File, val: int) -> dict[str, tuple[File, slice]]:
    """The splits of a training file, whose last `val` images are the validation set, and of a test file."""
    return {
        "train": (train, slice(0, -val)),
        "val": (train, slice(-val, None)),
        "full": (train, slice(None)),
        "test": (test, slice(None)),
    }


def _files() -> dict[str, File]:
    """The files by name; one that can be made of larger images comes after these."""
    found: dict[str, File] = {}
    for name, record in tomllib.loads(Path(__file__).with_name("files.toml").read_text(encoding="utf-8")).items():
        archive = _archive(**record.pop("archive")) if "archive" in record else None
        found[name] = File(name=name, archive=archive, larger=found.get(record.pop("larger", "")), **record)
    return found | {"digits": replace(found["digits"], embedded=digits)}


def _archive(url: str, md5: str, members: Sequence[str] = (), label_bytes: int = 1) -> Archive:
    """The archive of CIFAR's binary version with these members, or a file of SVHN."""
    return Archive(url, md5, partial(cifar, members=members, label_bytes=label_bytes) if members else svhn)


def _photographs(name: str, *others: str, classes: int, val: int) -> Dataset:
    """A data set whose OOD sets are these and those of OOD images only."""
    parts = _parts(FILES[f"{name}-train"], FILES[f"{name}-test"], val)
    return Dataset(parts, classes, (*(f"{other}-test" for other in others), *OOD_FOR_ALL))


FILES = _files()
OOD_FOR_ALL = ("lsun-test", "imagenet32-test", "imagenet224-test", "tinyimagenet-test")
DATASETS = {
    "digits": Dataset(
        {
            "train": (FILES["digits"], slice(0, 797)),
            "val": (FILES["digits"], slice(797, 1297)),
            "full": (FILES["digits"], slice(0, 1297)),
            "test": (FILES["digits"], slice(1297, None)),
        },
        10,
    ),
    "cifar10": _photographs("cifar10", "svhn", "cifar100", classes=10, val=5_000),
    "cifar100": _photographs("cifar100", "svhn", "cifar10", classes=100, val=5_000),
    "svhn": _photographs("svhn", "cifar10", "cifar100", classes=10, val=7_325),
    "tinyimagenet": Dataset({"test": (FILES["tinyimagenet-test"], slice(None))}),
    "lsun": Dataset({"test": (FILES["lsun-test"], slice(None))}),
    "imagenet32": Dataset({"test": (FILES["imagenet32-test"], slice(None))}),
    "imagenet224": Dataset({"test": (FILES["imagenet224-test"], slice(None))}),
}
