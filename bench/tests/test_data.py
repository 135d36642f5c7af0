"""Named splits: what is in them, where they come from, and what is refused."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from slova_bench import data
from slova_bench.data import DataError, catalogue
from slova_bench.data.files import File

from slova.heads import NONE

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
LABELS = np.arange(20) % 10


def sha256(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A data set of 20 + 20 images, of which 4 validate, in the folder that is looked in."""
    checksums = (sha256(IMAGES), sha256(LABELS))
    train, test = (File(name=f"toy-{half}", sha256=known) for half, known in [("train", checksums), ("test", ())])
    monkeypatch.setitem(catalogue.DATASETS, "toy", catalogue.Dataset(catalogue._parts(train, test, 4), 10))
    monkeypatch.setenv("SLOVA_DATA", str(tmp_path))
    for half in ("train", "test"):
        np.savez(tmp_path / f"toy-{half}.npz", images=IMAGES, labels=LABELS)
    return tmp_path


def test_images_become_uint8_tensors_with_channels_first_and_labels_int64(toy):
    split = data.load("toy-test")
    assert (split.name, len(split)) == ("toy-test", 20)
    assert (split.images.dtype, split.labels.dtype) == (torch.uint8, torch.int64)
    assert split.images.shape == (20, 3, 32, 32)
    assert split.images.is_contiguous()
    assert (split.images.numpy() == IMAGES.transpose(0, 3, 1, 2)).all()
    assert split.labels.tolist() == LABELS.tolist()


def test_train_and_val_part_the_training_file_in_its_order(toy):
    train, val, full = (data.load(f"toy-{part}") for part in ("train", "val", "full"))
    assert (len(train), len(val)) == (16, 4)
    assert torch.cat([train.images, val.images]).equal(full.images)
    assert torch.cat([train.labels, val.labels]).equal(full.labels)
    assert full.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("name", "train", "val", "test"),
    [("cifar10", 45_000, 5_000, 10_000), ("cifar100", 45_000, 5_000, 10_000), ("svhn", 65_932, 7_325, 26_032)],
)
def test_the_splits_have_the_recorded_sizes(name, train, val, test):
    counts = {"test": test}
    parts = catalogue.DATASETS[name].parts
    rows = {part: range(counts.get(part, train + val))[rows] for part, (_, rows) in parts.items()}
    assert rows["train"] == range(train)
    assert rows["val"] == range(train, train + val)
    assert rows["full"] == range(train + val)
    assert len(rows["test"]) == test


def test_the_digits_are_those_of_scikit_learn_each_in_one_split():
    from sklearn.datasets import load_digits

    train, val, test, full = (data.load(f"digits-{part}") for part in ("train", "val", "test", "full"))
    assert [len(split) for split in (train, val, test, full)] == [797, 500, 500, 1297]
    assert torch.cat([train.images, val.images]).equal(full.images)
    everything = torch.cat([full.images, test.images]).numpy()[:, 0]
    original = load_digits().images
    found = sorted(map(bytes, np.rint(everything / 255 * 16).astype(np.uint8).reshape(-1, 64)))
    assert found == sorted(map(bytes, original.astype(np.uint8).reshape(-1, 64)))
    assert (everything.min(), everything.max()) == (0, 255)


def test_the_digits_splits_never_change():
    """They are in no random generator's hands; this order is written down."""
    assert data.load("digits-train").labels[:12].tolist() == [0, 4, 0, 7, 5, 5, 5, 7, 9, 7, 0, 6]
    assert data.load("digits-test").labels[:12].tolist() == [6, 2, 0, 0, 9, 0, 3, 7, 5, 6, 0, 7]
    assert all(len(data.load(f"digits-{part}").labels.unique()) == 10 for part in ("train", "val", "test"))


def test_a_limit_takes_the_first_images(toy):
    few = data.load("toy-val", limit=3)
    assert few.images.equal(data.load("toy-val").images[:3])
    assert len(data.load("toy-val", limit=1000)) == 4
    with pytest.raises(DataError, match="limit must be at least 1, got 0"):
        data.load("toy-val", limit=0)


def test_images_without_labels_are_labelled_none(toy):
    np.savez(toy / "lsun-test.npz", images=IMAGES)
    assert data.load("lsun-test").labels.tolist() == [NONE] * 20
    assert data.load("toy-test").labels.tolist() == LABELS.tolist()


def test_imagenet_at_32_pixels_is_the_box_filter_of_pillow(tmp_path):
    image = pytest.importorskip("PIL.Image")
    large = np.random.default_rng(1).integers(0, 256, (3, 224, 224, 3), dtype=np.uint8)
    np.savez(tmp_path / "imagenet224-test.npz", images=large)
    small = data.load("imagenet32-test", folder=tmp_path).images.permute(0, 2, 3, 1).numpy()
    oracle = np.stack([np.asarray(image.fromarray(one).resize((32, 32), image.Resampling.BOX)) for one in large])
    assert np.abs(small.astype(int) - oracle).max() <= 1  # Pillow rounds twice
    means = large.reshape(3, 32, 7, 32, 7, 3).mean(axis=(2, 4))
    assert (small == np.rint(means)).all()


def test_imagenet_at_32_pixels_comes_from_its_own_file_where_there_is_one(tmp_path):
    np.savez(tmp_path / "imagenet32-test.npz", images=IMAGES)
    np.savez(tmp_path / "imagenet224-test.npz", images=np.zeros((1, 224, 224, 3), np.uint8))
    assert len(data.load("imagenet32-test", folder=tmp_path)) == 20


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SLOVA_DATA", str(tmp_path / "variable"))
    for count, name in enumerate(["cache/slova", "variable", "argument"], start=1):
        (tmp_path / name).mkdir(parents=True)
        np.savez(tmp_path / name / "lsun-test.npz", images=IMAGES[:count])
    assert len(data.load("lsun-test", folder=tmp_path / "argument")) == 3
    assert len(data.load("lsun-test")) == 2
    monkeypatch.setenv("SLOVA_DATA", "")
    assert len(data.load("lsun-test")) == 1


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("lsun-test", "lsun-test.npz"),
        ("tinyimagenet-test", "tinyimagenet-test.npz"),
        ("imagenet32-test", "imagenet32-test.npz or imagenet224-test.npz"),
    ],
)
def test_where_there_is_no_download_the_missing_file_and_the_folder_are_named(tmp_path, name, wanted):
    with pytest.raises(FileNotFoundError) as error:
        data.load(name, folder=tmp_path)
    assert str(error.value) == f"{name} has no download: put {wanted} into {tmp_path}, or name another folder"


def test_an_unknown_name_is_refused_with_those_there_are():
    known = "digits-train, .*imagenet224-test"
    for name in ("mnist-test", "cifar10", "cifar10-dev", "lsun-train", "-test", ""):
        with pytest.raises(DataError, match=f"unknown images '{name}'; the splits are {known}"):
            data.load(name)


def test_every_data_set_has_classes_and_ood_sets():
    assert {data.classes(name) for name in ("digits", "cifar10-val", "svhn-full")} == {10}
    assert (data.classes("cifar100"), data.classes("lsun")) == (100, 0)
    for name in catalogue.DATASETS:
        assert set(data.ood_for(name)) <= set(data.names()) - {f"{name}-test"}
    assert {"svhn-test", "cifar100-test", "lsun-test", "imagenet32-test"} <= set(data.ood_for("cifar10-train"))
    assert data.ood_for("digits") == ()


@pytest.mark.skipif(not os.environ.get("SLOVA_DATA"), reason="needs the images themselves, in SLOVA_DATA")
@pytest.mark.parametrize("name", [name for name in data.names() if not name.startswith("digits")])
def test_the_real_files_are_the_recorded_ones(name):
    dataset, _, part = name.rpartition("-")
    file, _ = catalogue.DATASETS[dataset].parts[part]
    if not any((Path(os.environ["SLOVA_DATA"]) / f"{one.name}.npz").exists() for one in (file, file.larger) if one):
        pytest.skip(f"{file.name}.npz is not in SLOVA_DATA")
    labels = set(data.load(name).labels.tolist())
    assert labels == (set(range(data.classes(name))) or {NONE})
