"""Images that show nothing, lines and planes through images, and digits moved about."""

import numpy as np
import pytest
import torch
from slova_bench import shifts
from slova_bench.shifts import CIFAR, DIGITS, digits
from slova_bench.shifts.per_image_rng import PerImageRng

IMAGES = np.random.default_rng(0).integers(0, 256, (60, 3, 32, 32), dtype=np.uint8)
SMALL = np.random.default_rng(1).integers(0, 256, (60, 1, 8, 8), dtype=np.uint8)


@pytest.mark.parametrize(
    ("family", "images", "name"),
    [*((CIFAR, IMAGES, name) for name in CIFAR.ood), *((DIGITS, SMALL, name) for name in DIGITS.ood)],
)
def test_ood_images_are_the_same_for_the_first_images(family, images, name):
    whole = shifts.ood_images(images, name, family=family)
    assert (whole.shape, whole.dtype) == (images.shape, np.uint8)
    some = shifts.ood_images(torch.from_numpy(images[:3]), name, family=family)
    assert isinstance(some, torch.Tensor)
    np.testing.assert_array_equal(some.numpy(), whole[:3])
    assert len(np.unique(shifts.ood_images(images[[0, 0]], name, family=family), axis=0)) == 1 + (name != "inverted")


def test_uniform_noise_has_all_levels_equally_often():
    counts = np.bincount(shifts.ood_images(IMAGES, "uniform").ravel(), minlength=256)
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 255 + 5 * np.sqrt(2 * 255)


def test_permuting_keeps_every_colour_and_moves_most():
    moved = shifts.ood_images(IMAGES, "permuted")
    pack = lambda images: np.sort(np.einsum("nchw,c->nhw", images.astype(int), [1, 256, 65536]).reshape(60, -1), axis=1)
    np.testing.assert_array_equal(pack(moved), pack(IMAGES))
    assert (moved != IMAGES).mean() > 0.98


def test_low_pass_noise_is_smooth_and_fills_the_range():
    smooth = shifts.ood_images(IMAGES, "low_pass").astype(float)
    assert smooth.min(axis=(1, 2, 3)).tolist() == [0] * 60
    assert smooth.max(axis=(1, 2, 3)).tolist() == [255] * 60
    assert np.abs(np.diff(smooth)).mean(axis=(1, 2, 3)).max() < 40  # uniform noise has 85
    black = shifts.ood_images(np.zeros_like(IMAGES), "low_pass").max(axis=(1, 2, 3))
    assert set(black.tolist()) == {0, 255}  # a permuted constant image stays constant


def test_inverting_twice_is_nothing():
    once = shifts.ood_images(SMALL, "inverted", family=DIGITS)
    np.testing.assert_array_equal(shifts.ood_images(once, "inverted", family=DIGITS), SMALL)


def test_an_unknown_ood_set_lists_the_known_ones():
    with pytest.raises(ValueError, match="one of uniform, permuted, low_pass, got 'inverted'"):
        shifts.ood_images(IMAGES, "inverted")


def test_directions_are_straight_lines_from_the_image():
    images = torch.from_numpy(IMAGES)
    lines = [shifts.directions(images, level).numpy() for level in (0, 1, -2)]
    assert (lines[0].shape, lines[0].dtype) == (IMAGES.shape, np.float32)
    np.testing.assert_allclose(lines[0], IMAGES / 255, atol=1e-7)
    np.testing.assert_allclose(lines[2] - lines[0], -2 * (lines[1] - lines[0]), atol=1e-5)
    assert (lines[1] - lines[0]).std() == pytest.approx(1, rel=0.01)
    np.testing.assert_array_equal(shifts.directions(images[:9], 1).numpy(), lines[1][:9])


def test_planes_pass_through_their_three_images():
    triplets = IMAGES.reshape(20, 3, 3, 32, 32)
    found = list(shifts.planes(torch.from_numpy(triplets), [0, 1, 2], [-1, 0, 1]))
    assert len(found) == 20
    for plane, (first, second, third) in zip(found, triplets / 255, strict=True):
        assert plane.shape == (3, 3, 3, 32, 32)
        np.testing.assert_allclose(plane[0, 1], first, atol=1e-6)
        np.testing.assert_allclose(plane[1, 1], second, atol=1e-6)
        np.testing.assert_allclose(plane[0, 2], third, atol=1e-6)


def test_a_rotation_keeps_the_middle_and_a_translation_moves_it():
    dot = np.zeros((100, 1, 8, 8), dtype=np.uint8)
    dot[:, :, 3:5, 3:5] = 255
    draws = PerImageRng((0, 0, 0), range(100))
    middle = lambda images: np.einsum("nchw,dhw->nd", images, np.mgrid[:8, :8]) / images.sum(axis=(1, 2, 3))[:, None]
    np.testing.assert_allclose(middle(digits.rotation(dot, draws, 50)), 3.5, atol=1e-9)
    moved = middle(digits.translation(dot, draws, 2)) - 3.5
    np.testing.assert_allclose(np.hypot(*moved.T), 2, atol=1e-9)
    assert np.abs(moved.mean(axis=0)).max() < 0.5


def test_digits_turn_both_ways():
    bar = np.zeros((40, 1, 8, 8), dtype=np.uint8)
    bar[:, :, :, 3:5] = 255
    turned = shifts.corrupt(bar, "rotation", 3, family=DIGITS).astype(int)
    assert len(np.unique(turned.reshape(40, -1), axis=0)) == 2


def test_an_occlusion_hides_a_square():
    hidden = (shifts.corrupt(np.zeros_like(SMALL), "occlusion", 2, family=DIGITS) > 0).sum(axis=(1, 2, 3))
    assert hidden.tolist() == [9] * len(SMALL)
