"""What every shift of every family guarantees: the same pixels for the same image, whatever comes along with it."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_sample_images
from slova_bench import shifts
from slova_bench.shifts import CIFAR, DIGITS, corrupt, corruption, weather

SEVERITIES = range(1, 6)
# The strengths of these trade one thing for another, in the original too: more softening against more scattering,
# a stronger field against a smaller affine map, less picture against less frost, a wider streak of the same weight,
# mud after water, and colours taken away after colours added.
NOT_EVER_STRONGER = {"elastic_transform", "frost", "glass_blur", "motion_blur", "saturate", "spatter"}
CIFAR_CELLS = [(name, severity) for name in CIFAR.names for severity in SEVERITIES]
DIGITS_CELLS = [(name, severity) for name in DIGITS.names for severity in SEVERITIES]


def patches(count):
    """Natural images, 32 x 32: patches of the photographs of scikit-learn at half their size."""
    halves = [photograph[: 2 * 212 : 2, ::2] for photograph in load_sample_images().images]
    cut = [half[r : r + 32, c : c + 32] for half in halves for r in range(0, 180, 16) for c in range(0, 288, 16)]
    return np.stack(cut).transpose(0, 3, 1, 2)[:: len(cut) // count][:count]


def digits(count):
    return np.rint(load_digits().images[:count, None] * (255 / 16)).astype(np.uint8)


IMAGES, SMALL = patches(40), digits(200)


@pytest.fixture(autouse=True)
def frost(monkeypatch):
    """Frost pictures made up for the occasion."""
    noise = np.random.default_rng(0).integers(0, 256, (5, 3, 36, 40), dtype=np.uint8)
    monkeypatch.setattr(weather, "frost_pictures", lambda folder: tuple(noise))


every = pytest.mark.parametrize(
    ("family", "name", "severity"),
    [*((CIFAR, *cell) for cell in CIFAR_CELLS), *((DIGITS, *cell) for cell in DIGITS_CELLS)],
    ids=lambda part: "" if isinstance(part, shifts.Family) else str(part),
)


@every
def test_the_first_images_get_the_same_pixels_and_images_stay_bytes_of_their_shape(family, name, severity):
    images = IMAGES if family is CIFAR else SMALL[:40]
    before = images.copy()
    changed = corrupt(images, name, severity, family=family)
    assert changed.dtype == np.uint8
    assert changed.shape == images.shape
    assert (changed != images).any()
    np.testing.assert_array_equal(images, before)
    np.testing.assert_array_equal(corrupt(images[:3], name, severity, family=family), changed[:3])


@pytest.mark.parametrize("name", CIFAR.names)
def test_tensors_give_tensors_with_the_pixels_of_arrays(name):
    changed = corrupt(torch.from_numpy(IMAGES[:4].copy()), name, 2, seed=3)
    assert isinstance(changed, torch.Tensor)
    np.testing.assert_array_equal(changed.numpy(), corrupt(IMAGES[:4], name, 2, seed=3))


def mean_changes(family, name, images):
    changed = [corrupt(images, name, severity, family=family).astype(int) for severity in SEVERITIES]
    return [np.abs(shifted - images).mean() for shifted in changed]


@pytest.mark.parametrize("name", sorted(set(CIFAR.names) - NOT_EVER_STRONGER))
def test_higher_severities_change_more(name):
    changes = mean_changes(CIFAR, name, IMAGES)
    assert changes == sorted(changes)
    assert changes[4] > 1.2 * changes[0]


@pytest.mark.parametrize("name", DIGITS.names)
def test_higher_severities_change_digits_more(name):
    changes = mean_changes(DIGITS, name, SMALL)
    assert changes == sorted(changes)


RANDOM = {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur", "motion_blur"}
RANDOM |= {"snow", "frost", "fog", "elastic_transform", "spatter"}


@pytest.mark.parametrize("name", CIFAR.names)
def test_only_the_random_ones_depend_on_the_seed_and_on_the_number(name):
    first, second = corrupt(IMAGES[[0, 0]], name, 5)
    (other,) = corrupt(IMAGES[:1], name, 5, seed=1)
    assert [bool((first != one).any()) for one in (other, second)] == [name in RANDOM] * 2


def test_batches_do_not_show(monkeypatch):
    whole = corrupt(IMAGES, "gaussian_noise", 1)
    monkeypatch.setattr(corruption, "BATCH", 7)
    np.testing.assert_array_equal(whole, corrupt(IMAGES, "gaussian_noise", 1))


def test_no_images_are_no_trouble():
    assert corrupt(IMAGES[:0], "fog", 1).shape == (0, 3, 32, 32)


def test_images_that_lie_otherwise_in_memory_give_the_same_pixels():
    turned = np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for name in ("contrast", "fog", "zoom_blur"):
        np.testing.assert_array_equal(corrupt(turned, name, 3), corrupt(IMAGES, name, 3))


def test_a_data_set_has_its_shifts():
    assert len(shifts.family("cifar10-test").names) == 19
    assert shifts.family("svhn") is shifts.family("cifar100-val") is CIFAR
    assert shifts.family("digits-test").names == DIGITS.names
    with pytest.raises(ValueError, match="'iris' has no shifts; data sets with shifts: cifar10, cifar100"):
        shifts.family("iris")


@pytest.mark.parametrize(
    ("images", "name", "severity", "message"),
    [
        (IMAGES, "glas_blur", 1, r"one of gaussian_noise, .*, glass_blur, .*, saturate, got 'glas_blur'"),
        (IMAGES, "fog", 0, "severity must be 1 to 5, got 0"),
        (IMAGES, "fog", 6, "severity must be 1 to 5, got 6"),
        (IMAGES / 255, "fog", 1, r"images must be uint8 \(N, 3, 32, 32\), got float64 \(40, 3, 32, 32\)"),
        (IMAGES[0], "fog", 1, r"images must be uint8 \(N, 3, 32, 32\), got uint8 \(3, 32, 32\)"),
        (IMAGES.transpose(0, 2, 3, 1), "fog", 1, r"got uint8 \(40, 32, 32, 3\)"),
    ],
)
def test_errors_state_the_value_and_the_allowed_ones(images, name, severity, message):
    with pytest.raises(ValueError, match=message):
        corrupt(images, name, severity)
