"""Files of images that cannot be used are refused with one sentence that names them, and never unpickled."""

import hashlib
import pickle

import numpy as np
import pytest
from slova_bench.data.download import DataError
from slova_bench.data.files import File, pack

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
LABELS = np.arange(20) % 10
SHA256 = tuple(hashlib.sha256(array.tobytes()).hexdigest() for array in (IMAGES, LABELS))
TOY, UNKNOWN = File(name="toy-train", sha256=SHA256), File(name="toy-train")
OTHER_IMAGES, OTHER_LABELS = IMAGES.copy(), LABELS.copy()
OTHER_IMAGES[7, 3, 2, 1] ^= 1
OTHER_LABELS[7] = 3


def refusal(file, folder):
    """The one sentence with which a file is refused, without the path it begins with."""
    with pytest.raises(DataError) as error:
        pack(file, folder)
    text, path = str(error.value), str(folder / "toy-train.npz")
    assert text.startswith(path)
    assert "\n" not in text
    return text.removeprefix(path)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_a_good_file_is_accepted_whatever_integers_its_labels_are(tmp_path, dtype):
    np.savez_compressed(tmp_path / "toy-train.npz", images=np.asfortranarray(IMAGES), labels=LABELS.astype(dtype))
    found = pack(TOY, tmp_path)
    assert (found.images == IMAGES).all()
    assert (found.labels == LABELS).all()


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"pictures": IMAGES}, " has no array 'images': there are 'pictures'"),
        ({}, " has no array 'images': there are none"),
        ({"images": IMAGES}, ": the labels do not match their checksum, so they are not those of toy-train"),
        ({"images": IMAGES / 255}, ": the images are float64 (20, 32, 32, 3), expected uint8 (N, 32, 32, 3)"),
        ({"images": np.uint8(3)}, ": the images are uint8 (), expected uint8 (N, 32, 32, 3)"),
        (
            {"images": IMAGES.transpose(0, 3, 1, 2)},
            ": the images are uint8 (20, 3, 32, 32), expected uint8 (N, 32, 32, 3)",
        ),
        ({"images": IMAGES[1:]}, ": the images do not match their checksum, so they are not those of toy-train"),
        ({"images": IMAGES, "labels": LABELS[1:]}, ": the labels are int64 (19,), expected integers (20,)"),
        ({"images": IMAGES, "labels": LABELS / 1}, ": the labels are float64 (20,), expected integers (20,)"),
        (
            {"images": OTHER_IMAGES, "labels": LABELS},
            ": the images do not match their checksum, so they are not those of toy-train",
        ),
        (
            {"images": IMAGES, "labels": OTHER_LABELS},
            ": the labels do not match their checksum, so they are not those of toy-train",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "toy-train.npz", **arrays)
    assert refusal(TOY, tmp_path) == sentence


def test_a_file_without_a_recorded_checksum_may_hold_any_images_but_not_none(tmp_path):
    np.savez(tmp_path / "toy-train.npz", images=OTHER_IMAGES[:3], labels=[-1, 0, 9])
    assert pack(UNKNOWN, tmp_path).labels.tolist() == [-1, 0, 9]
    np.savez(tmp_path / "toy-train.npz", images=IMAGES[:0])
    assert refusal(UNKNOWN, tmp_path) == ": the images are uint8 (0, 32, 32, 3), expected uint8 (N, 32, 32, 3)"


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "toy-train.npz"
    np.savez(path, images=IMAGES, labels=LABELS)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[1000] ^= 1
    for content in (b"", b"not a zip", whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(content)
        assert refusal(TOY, tmp_path).startswith(" is not an npz file of numbers, or is damaged: ")


def test_a_single_array_or_a_folder_is_not_a_file_of_images(tmp_path):
    with open(tmp_path / "toy-train.npz", "wb") as stream:
        np.save(stream, IMAGES)
    assert refusal(TOY, tmp_path).startswith(" is not an npz file of numbers")
    (tmp_path / "toy-train.npz").unlink()
    (tmp_path / "toy-train.npz").mkdir()
    assert refusal(TOY, tmp_path).startswith(" is not an npz file of numbers")


class Trap:
    """Unpickling it leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["images", "labels"])
def test_nothing_in_a_file_is_ever_unpickled(tmp_path, name):
    trap = np.empty(20, object)
    trap[:] = [Trap(tmp_path / "sprung")] * 20
    np.savez(tmp_path / "toy-train.npz", **({"images": IMAGES, "labels": LABELS} | {name: trap}))
    assert "Object arrays cannot be loaded" in refusal(TOY, tmp_path)
    (tmp_path / "toy-train.npz").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    refusal(TOY, tmp_path)
    assert not (tmp_path / "sprung").exists()
