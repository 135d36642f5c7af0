"""The data sets: classes, files with checksums, splits, and OOD sets.

The MD5 of an archive is the published one. The SHA-256 were computed from images and labels of archives with that MD5,
where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from slova_bench.data import label_names
from slova_bench.data.archives import cifar, svhn
from slova_bench.data.digits import digits
from slova_bench.data.download import Archive
from slova_bench.data.files import File

__all__ = ["DATASETS", "Dataset"]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set: its splits as parts of files, its class names, and the splits that are OOD for it."""

    classes: int
    parts: dict[str, tuple[File, slice]]
    class_names: tuple[str, ...] = ()
    ood: tuple[str, ...] = ()


def _parts(train: File, test: File, val: int) -> dict[str, tuple[File, slice]]:
    """The splits of a training file, whose last `val` images are the validation set, and of a test file."""
    return {
        "train": (train, slice(0, -val)),
        "val": (train, slice(-val, None)),
        "full": (train, slice(None)),
        "test": (test, slice(None)),
    }


TORONTO, STANFORD = "https://www.cs.toronto.edu/~kriz", "http://ufldl.stanford.edu/housenumbers"

DIGITS = File(
    name="digits",
    classes=10,
    side=8,
    channels=1,
    count=1797,
    sha256=(
        "d4d51c4427e52b70014bbd6eaa63863024e7a3a947984af7f7282bc6ec606c8e",
        "56274caa420cad31971dc96fe17c8e5e85b8ea0875b6ce103d722fb7787195ce",
    ),
    embedded=digits,
)

CIFAR10_BATCHES = tuple(f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6))
CIFAR10_ARCHIVE = Archive(
    f"{TORONTO}/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", partial(cifar, members=CIFAR10_BATCHES)
)
CIFAR10_TRAIN = File(
    name="cifar10-train",
    classes=10,
    count=50_000,
    sha256=(
        "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
        "f5cfe00b0f00968c0cc5ff3b1d2de51b10e33efa277c2986f4e0fa63e58c9f4f",
    ),
    archive=CIFAR10_ARCHIVE,
)
CIFAR10_TEST = File(
    name="cifar10-test",
    classes=10,
    count=10_000,
    sha256=(
        "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
        "cbb7365de8ed11f05cc4c3a1e7f78144127c5e851efd83762fb18202461230bb",
    ),
    archive=replace(CIFAR10_ARCHIVE, read=partial(cifar, members=("cifar-10-batches-bin/test_batch.bin",))),
)

CIFAR100_ARCHIVE = Archive(
    f"{TORONTO}/cifar-100-binary.tar.gz",
    "03b5dce01913d631647c71ecec9e9cb8",
    partial(cifar, members=("cifar-100-binary/train.bin",), label_bytes=2),
)
CIFAR100_TRAIN = File(
    name="cifar100-train",
    classes=100,
    count=50_000,
    sha256=(
        "4e457917601a66aed021f5fa37957b56c6319557c0a8ed5484de3c390af45430",
        "8bf4935e7c77a3096270043c6f3b221b6ecb9c63d1a08608e9af66cff17e977a",
    ),
    archive=CIFAR100_ARCHIVE,
)
CIFAR100_TEST = File(
    name="cifar100-test",
    classes=100,
    count=10_000,
    sha256=(
        "4cb8e5d9309da489bf6b19cc10cd96c3ae6f8daf225380b605aaee4c0d6aee19",
        "80031c23f8300724c6fbc588e4bccbe41c6392041782148727bb497b0132c4ad",
    ),
    archive=replace(CIFAR100_ARCHIVE, read=partial(cifar, members=("cifar-100-binary/test.bin",), label_bytes=2)),
)

SVHN_TRAIN = File(
    name="svhn-train",
    classes=10,
    count=73_257,
    sha256=(
        "a24062f843a6a12618ee9b23e91a9bfe13726bba939c0b549914638ba9ab7010",
        "d12587a1e0efc1b8ecc006ec91da5eb53f2230cedb3a0357ef50737f72285765",
    ),
    archive=Archive(f"{STANFORD}/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", svhn),
)
SVHN_TEST = File(
    name="svhn-test",
    classes=10,
    count=26_032,
    sha256=(
        "d9450824511009532ca0f47ac5621a3ceb71bfc7169dca110eeeed7e52f772bd",
        "e48928b73c8aeda0597997f294279171368a478e28633e2c312a6dd9601d4048",
    ),
    archive=Archive(f"{STANFORD}/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", svhn),
)

TINYIMAGENET = File(
    name="tinyimagenet-test",
    classes=200,
    labelled=False,
    count=10_000,
    sha256=("2c411d970f39a3b2371115ee70cad3c430e8c3d1549ee3514e8cbdde3bbd13b6",),
)
LSUN = File(name="lsun-test", classes=0, labelled=False)
IMAGENET224 = File(name="imagenet224-test", classes=1000, side=224, labelled=False)
IMAGENET32 = File(name="imagenet32-test", classes=1000, labelled=False, larger=IMAGENET224)

OOD_FOR_ALL = ("lsun-test", "imagenet32-test", "imagenet224-test", "tinyimagenet-test")
DATASETS = {
    "digits": Dataset(
        classes=10,
        class_names=label_names.DIGITS,
        parts={
            "train": (DIGITS, slice(0, 797)),
            "val": (DIGITS, slice(797, 1297)),
            "full": (DIGITS, slice(0, 1297)),
            "test": (DIGITS, slice(1297, None)),
        },
    ),
    "cifar10": Dataset(
        classes=10,
        class_names=label_names.CIFAR10,
        parts=_parts(CIFAR10_TRAIN, CIFAR10_TEST, 5_000),
        ood=("svhn-test", "cifar100-test", *OOD_FOR_ALL),
    ),
    "cifar100": Dataset(
        classes=100,
        class_names=label_names.CIFAR100,
        parts=_parts(CIFAR100_TRAIN, CIFAR100_TEST, 5_000),
        ood=("svhn-test", "cifar10-test", *OOD_FOR_ALL),
    ),
    "svhn": Dataset(
        classes=10,
        class_names=label_names.DIGITS,
        parts=_parts(SVHN_TRAIN, SVHN_TEST, 7_325),
        ood=("cifar10-test", "cifar100-test", *OOD_FOR_ALL),
    ),
    "tinyimagenet": Dataset(classes=200, parts={"test": (TINYIMAGENET, slice(None))}),
    "lsun": Dataset(classes=0, parts={"test": (LSUN, slice(None))}),
    "imagenet32": Dataset(classes=1000, parts={"test": (IMAGENET32, slice(None))}),
    "imagenet224": Dataset(classes=1000, parts={"test": (IMAGENET224, slice(None))}),
}
