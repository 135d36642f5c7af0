"""What every shift of every family guarantees: the same pixels for the same image, whatever comes along with it."""

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images
from slova_bench import shifts
from slova_bench.shifts import CIFAR, DIGITS, Corruption
from slova_bench.shifts.frost import FROST

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


@pytest.fixture(scope="session")
def cifar(tmp_path_factory):
    """CIFAR with frost pictures made up for the occasion."""
    folder = tmp_path_factory.mktemp("frost")
    for name in FROST:
        noise = np.random.default_rng(len(name)).integers(0, 256, (180, 200, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name)
    return shifts.frosted(folder)


@pytest.fixture
def corruption(request, cifar):
    """A corruption and images for it, by family, name and severity."""
    family, (name, severity) = request.param
    known, images = {"cifar": (cifar, IMAGES), "digits": (DIGITS, SMALL[:40])}[family]
    return Corruption(name, severity, family=known), images


every = pytest.mark.parametrize(
    "corruption",
    [*(("cifar", cell) for cell in CIFAR_CELLS), *(("digits", cell) for cell in DIGITS_CELLS)],
    indirect=True,
    ids=lambda cell: f"{cell[0]}-{cell[1][0]}-{cell[1][1]}",
)


@every
def test_a_subset_in_any_order_gives_the_same_pixels(corruption):
    corrupt, images = corruption
    chosen = np.array([31, 7, 22])
    whole = corrupt(images)
    np.testing.assert_array_equal(corrupt(images[chosen], indices=chosen), whole[chosen])
    np.testing.assert_array_equal(corrupt(images[5:6], indices=[5]), whole[5:6])


@every
def test_images_come_back_as_bytes_of_the_same_shape_and_are_changed(corruption):
    corrupt, images = corruption
    before = images.copy()
    changed = corrupt(images)
    assert changed.dtype == np.uint8
    assert changed.shape == images.shape
    assert (changed != images).any()
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("name", CIFAR.names)
def test_tensors_give_tensors_with_the_pixels_of_arrays(name, cifar):
    corrupt = Corruption(name, 2, seed=3, family=cifar)
    changed = corrupt(torch.from_numpy(IMAGES[:4].copy()), indices=torch.tensor([4, 3, 2, 1]))
    assert isinstance(changed, torch.Tensor)
    np.testing.assert_array_equal(changed.numpy(), corrupt(IMAGES[:4], indices=np.array([4, 3, 2, 1])))


def mean_changes(family, name, images):
    changed = [Corruption(name, severity, family=family)(images).astype(int) for severity in SEVERITIES]
    return [np.abs(shifted - images).mean() for shifted in changed]


@pytest.mark.parametrize("name", sorted(set(CIFAR.names) - NOT_EVER_STRONGER))
def test_higher_severities_change_more(name, cifar):
    changes = mean_changes(cifar, name, IMAGES)
    assert changes == sorted(changes)
    assert changes[4] > 1.2 * changes[0]


@pytest.mark.parametrize("name", DIGITS.names)
def test_higher_severities_change_digits_more(name):
    changes = mean_changes(DIGITS, name, SMALL)
    assert changes == sorted(changes)


RANDOM = {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur", "motion_blur"}
RANDOM |= {"snow", "frost", "fog", "elastic_transform", "spatter"}


@pytest.mark.parametrize("name", CIFAR.names)
def test_only_the_random_ones_depend_on_the_seed_and_on_the_number(name, cifar):
    image = IMAGES[:1]
    first, *others = (
        Corruption(name, 5, seed, cifar)(image, indices=[number]) for seed, number in [(0, 0), (1, 0), (0, 1)]
    )
    assert [bool((first != other).any()) for other in others] == [name in RANDOM] * 2


def test_batches_do_not_show():
    many = IMAGES[np.arange(300) % len(IMAGES)]
    whole = shifts.corrupt(many, "gaussian_noise", 1)
    across = np.arange(250, 262)
    np.testing.assert_array_equal(whole[across], shifts.corrupt(many[across], "gaussian_noise", 1, indices=across))


def test_several_processes_give_the_same_pixels(cifar):
    many = IMAGES[np.arange(260) % len(IMAGES)]
    for corrupt in (Corruption("frost", 3, family=cifar), Corruption("contrast", 2)):
        np.testing.assert_array_equal(corrupt(many, workers=2), corrupt(many))


def test_no_images_are_no_trouble():
    assert shifts.corrupt(IMAGES[:0], "fog", 1).shape == (0, 3, 32, 32)


def test_images_that_lie_otherwise_in_memory_give_the_same_pixels():
    turned = np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for name in ("contrast", "fog", "zoom_blur"):
        np.testing.assert_array_equal(shifts.corrupt(turned, name, 3), shifts.corrupt(IMAGES, name, 3))


def test_a_data_set_has_its_shifts():
    assert len(shifts.family("cifar10-test").names) == 19
    assert shifts.family("svhn") is shifts.family("cifar100-val") is CIFAR
    assert shifts.family("digits-test").names == DIGITS.names
    with pytest.raises(ValueError, match="'iris' has no shifts; data sets with shifts: cifar10, cifar100"):
        shifts.family("iris")


def test_the_short_forms_are_the_values():
    np.testing.assert_array_equal(shifts.corrupt(IMAGES, "fog", 2, seed=5), Corruption("fog", 2, 5)(IMAGES))
    np.testing.assert_array_equal(
        shifts.corrupt_digits(SMALL, "rotation", 2, seed=5), Corruption("rotation", 2, 5, DIGITS)(SMALL)
    )


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
        shifts.corrupt(images, name, severity)


@pytest.mark.parametrize("indices", [[0, 1], [-1, *range(1, 40)], np.arange(40.0)])
def test_indices_must_be_one_integer_per_image(indices):
    with pytest.raises(ValueError, match="indices must be 40 non-negative integers, got"):
        shifts.corrupt(IMAGES, "fog", 1, indices=np.asarray(indices))
