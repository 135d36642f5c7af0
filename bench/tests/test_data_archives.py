"""The makers' archives, rebuilt small, and read back."""

import io
import tarfile

import numpy as np
from scipy.io import savemat
from slova_bench.data.catalogue import FILES

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
LABELS = np.arange(20) % 10


def tarball(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def records(images, *labels):
    """CIFAR's binary records, written one after the other."""
    rows = zip(images.transpose(0, 3, 1, 2), *labels, strict=True)
    return b"".join(bytes(int(label) for label in numbers) + image.tobytes() for image, *numbers in rows)


def test_cifar10_is_read_from_its_five_batches_in_order_and_its_test_batch(tmp_path):
    parts = {
        f"cifar-10-batches-bin/data_batch_{i}.bin": records(IMAGES[4 * i - 4 : 4 * i], [i] * 4) for i in range(1, 6)
    }
    members = dict(reversed(parts.items())) | {"cifar-10-batches-bin/test_batch.bin": records(IMAGES[:3], [7, 8, 9])}
    path = tarball(tmp_path / "cifar.tar.gz", members)
    images, labels = FILES["cifar10-train"].archive.read(path)
    assert (images == IMAGES).all()
    assert labels.tolist() == [number for number in range(1, 6) for _ in range(4)]
    images, labels = FILES["cifar10-test"].archive.read(path)
    assert (images == IMAGES[:3]).all()
    assert labels.tolist() == [7, 8, 9]


def test_cifar100_is_read_with_its_fine_labels(tmp_path):
    members = {
        "cifar-100-binary/train.bin": records(IMAGES, LABELS, LABELS + 80),
        "cifar-100-binary/test.bin": records(IMAGES[:2], [1, 2], [98, 99]),
    }
    path = tarball(tmp_path / "cifar.tar.gz", members)
    images, labels = FILES["cifar100-train"].archive.read(path)
    assert (images == IMAGES).all()
    assert (labels == LABELS + 80).all()
    assert FILES["cifar100-test"].archive.read(path)[1].tolist() == [98, 99]


def test_svhn_is_read_from_its_matlab_file_where_ten_is_zero(tmp_path):
    digits = np.where(LABELS == 0, 10, LABELS).astype(np.uint8)
    savemat(
        tmp_path / "train_32x32.mat", {"X": IMAGES.transpose(1, 2, 3, 0), "y": digits[:, None]}, do_compression=True
    )
    images, labels = FILES["svhn-train"].archive.read(tmp_path / "train_32x32.mat")
    assert (images == IMAGES).all()
    assert images.dtype == np.uint8
    assert labels.tolist() == LABELS.tolist()
