"""The data sets: files with checksums, splits, classes, and OOD sets.

The MD5 of an archive is the published one. The SHA-256 were computed from images and labels of archives with that MD5,
where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from slova_bench.data.archives import cifar, digits, svhn
from slova_bench.data.files import Archive, File

__all__ = ["DATASETS", "Dataset"]


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


# SHA-256 of the images, and of the labels where there are some.
CHECKSUMS = """
digits d4d51c4427e52b70014bbd6eaa63863024e7a3a947984af7f7282bc6ec606c8e
digits 56274caa420cad31971dc96fe17c8e5e85b8ea0875b6ce103d722fb7787195ce
cifar10-train 47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a
cifar10-train f5cfe00b0f00968c0cc5ff3b1d2de51b10e33efa277c2986f4e0fa63e58c9f4f
cifar10-test f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04
cifar10-test cbb7365de8ed11f05cc4c3a1e7f78144127c5e851efd83762fb18202461230bb
cifar100-train 4e457917601a66aed021f5fa37957b56c6319557c0a8ed5484de3c390af45430
cifar100-train 8bf4935e7c77a3096270043c6f3b221b6ecb9c63d1a08608e9af66cff17e977a
cifar100-test 4cb8e5d9309da489bf6b19cc10cd96c3ae6f8daf225380b605aaee4c0d6aee19
cifar100-test 80031c23f8300724c6fbc588e4bccbe41c6392041782148727bb497b0132c4ad
svhn-train a24062f843a6a12618ee9b23e91a9bfe13726bba939c0b549914638ba9ab7010
svhn-train d12587a1e0efc1b8ecc006ec91da5eb53f2230cedb3a0357ef50737f72285765
svhn-test d9450824511009532ca0f47ac5621a3ceb71bfc7169dca110eeeed7e52f772bd
svhn-test e48928b73c8aeda0597997f294279171368a478e28633e2c312a6dd9601d4048
tinyimagenet-test 2c411d970f39a3b2371115ee70cad3c430e8c3d1549ee3514e8cbdde3bbd13b6
"""
SHA256: dict[str, tuple[str, ...]] = {}
for _name, _sum in map(str.split, CHECKSUMS.strip().splitlines()):
    SHA256[_name] = (*SHA256.get(_name, ()), _sum)


def _file(name: str, archive: Archive) -> File:
    return File(name=name, sha256=SHA256[name], archive=archive)


def _cifar(name: str, md5: str, members: Sequence[str], label_bytes: int = 1) -> Archive:
    """The archive of CIFAR's binary version, and these members of it."""
    return Archive(f"{TORONTO}/{name}-binary.tar.gz", md5, partial(cifar, members=members, label_bytes=label_bytes))


TORONTO, STANFORD = "https://www.cs.toronto.edu/~kriz", "http://ufldl.stanford.edu/housenumbers"
CIFAR10, CIFAR100 = ("cifar-10", "c32a1d4ab5d03f1284b67883e8d87530"), ("cifar-100", "03b5dce01913d631647c71ecec9e9cb8")
BATCHES = [f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)]

DIGITS = File(name="digits", side=8, channels=1, sha256=SHA256["digits"], embedded=digits)
CIFAR10_TRAIN = _file("cifar10-train", _cifar(*CIFAR10, BATCHES))
CIFAR10_TEST = _file("cifar10-test", _cifar(*CIFAR10, ["cifar-10-batches-bin/test_batch.bin"]))
CIFAR100_TRAIN = _file("cifar100-train", _cifar(*CIFAR100, ["cifar-100-binary/train.bin"], 2))
CIFAR100_TEST = _file("cifar100-test", _cifar(*CIFAR100, ["cifar-100-binary/test.bin"], 2))
SVHN_TRAIN = _file("svhn-train", Archive(f"{STANFORD}/train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373", svhn))
SVHN_TEST = _file("svhn-test", Archive(f"{STANFORD}/test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3", svhn))
TINYIMAGENET = File(name="tinyimagenet-test", sha256=SHA256["tinyimagenet-test"])
LSUN = File(name="lsun-test")
IMAGENET224 = File(name="imagenet224-test", side=224)
IMAGENET32 = File(name="imagenet32-test", larger=IMAGENET224)

OOD_FOR_ALL = ("lsun-test", "imagenet32-test", "imagenet224-test", "tinyimagenet-test")
DATASETS = {
    "digits": Dataset(
        {
            "train": (DIGITS, slice(0, 797)),
            "val": (DIGITS, slice(797, 1297)),
            "full": (DIGITS, slice(0, 1297)),
            "test": (DIGITS, slice(1297, None)),
        },
        10,
    ),
    "cifar10": Dataset(_parts(CIFAR10_TRAIN, CIFAR10_TEST, 5_000), 10, ("svhn-test", "cifar100-test", *OOD_FOR_ALL)),
    "cifar100": Dataset(_parts(CIFAR100_TRAIN, CIFAR100_TEST, 5_000), 100, ("svhn-test", "cifar10-test", *OOD_FOR_ALL)),
    "svhn": Dataset(_parts(SVHN_TRAIN, SVHN_TEST, 7_325), 10, ("cifar10-test", "cifar100-test", *OOD_FOR_ALL)),
    "tinyimagenet": Dataset({"test": (TINYIMAGENET, slice(None))}),
    "lsun": Dataset({"test": (LSUN, slice(None))}),
    "imagenet32": Dataset({"test": (IMAGENET32, slice(None))}),
    "imagenet224": Dataset({"test": (IMAGENET224, slice(None))}),
}
