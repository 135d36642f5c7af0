"""Named splits as tensors: `load("cifar10-test")` is images uint8 (N, C, H, W) and labels int64 (N,).

A name is NAME-SPLIT. Data sets with training images have four splits: `train` and `val`, `full` for both, and `test`.
The last training images, in the original order (digits: a fixed order), are the validation set:

    digits               797 +   500, test    500    in scikit-learn: nothing to download
    cifar10, cifar100 45,000 + 5,000, test 10,000    the last tenth, as in the authors' code
    svhn              65,932 + 7,325, test 26,032    the last tenth: neighbouring images show the same house, so a
                                                     shuffled split would leak training houses
    lsun, tinyimagenet, imagenet32, imagenet224      only `test`, as OOD data

Images are read from a folder: the argument, else the environment variable SLOVA_DATA, else the user's cache.
NAME-train.npz (`full`) and NAME-test.npz hold `images` (N, H, W, C) and, where known, `labels` (N,). Missing files are
downloaded, where the source allows it. Files are checked and never unpickled.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from slova_bench.data.catalogue import DATASETS, Dataset
from slova_bench.data.download import DataError, data_folder
from slova_bench.data.files import pack

__all__ = ["DataError", "Split", "classes", "load", "names", "ood_for"]


@dataclass(frozen=True, eq=False)
class Split:
    """Images uint8 (N, C, H, W) and labels int64 (N,), NONE for images without a label."""

    name: str
    images: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)


def load(name: str, *, folder: str | Path | None = None, limit: int | None = None) -> Split:
    """A split by its name, from the folder or downloaded into it; with a `limit`, its first images only.

    >>> load("digits-test").images.shape
    torch.Size([500, 1, 8, 8])
    """
    if limit is not None and limit < 1:
        raise DataError(f"limit must be at least 1, got {limit}")
    file, rows = _dataset(name, split=True).parts[name.rpartition("-")[2]]
    found = pack(file, data_folder(folder))
    images, labels = found.images[rows][:limit], found.labels[rows][:limit]
    channels_first = np.array(images.transpose(0, 3, 1, 2), order="C")  # a copy, which the caller may change
    return Split(name, torch.from_numpy(channels_first), torch.from_numpy(labels.astype(np.int64)))


def names() -> tuple[str, ...]:
    """The names of all splits."""
    return tuple(f"{name}-{part}" for name, dataset in DATASETS.items() for part in dataset.parts)


def classes(name: str) -> int:
    """The number of classes of a data set to train on, or of that of a split; 0 for sets of OOD images only.

    >>> classes("cifar100"), classes("cifar10-val")
    (100, 10)
    """
    return _dataset(name).classes


def ood_for(name: str) -> tuple[str, ...]:
    """The splits that are OOD for a classifier trained on this data set, without synthetic sets.

    >>> ood_for("svhn-train")[:2]
    ('cifar10-test', 'cifar100-test')
    """
    return _dataset(name).ood


def _dataset(name: str, *, split: bool = False) -> Dataset:
    """The data set of a split or, unless `split`, of its own name."""
    if name in names():
        return DATASETS[name.rpartition("-")[0]]
    if name in DATASETS and not split:
        return DATASETS[name]
    raise DataError(f"unknown images {name!r}; the splits are {', '.join(names())}")
