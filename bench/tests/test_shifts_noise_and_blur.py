"""Noises have the deviations they were made with; blurs are the means they were made of."""

import numpy as np
import pytest
from scipy import ndimage
from slova_bench.shifts import blur, noise, warps
from slova_bench.shifts.per_image_rng import PerImageRng

GREY = np.full((200, 3, 32, 32), 102, dtype=np.uint8)  # 0.4
RANDOM = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)


def draws(count):
    return PerImageRng((0, 0, 0), range(count))


def test_two_images_never_share_their_numbers():
    numbers = draws(50).normal(100)
    assert len(np.unique(numbers)) == numbers.size
    assert not (PerImageRng((0, 0, 1), range(50)).normal(100) == numbers).any()


@pytest.mark.parametrize(
    ("change", "strength", "deviation"),
    [
        (noise.gaussian_noise, 0.08, 0.08),
        (noise.speckle_noise, 0.2, 0.2 * 0.4),
        (noise.shot_noise, 50, np.sqrt(0.4 / 50)),
        (noise.impulse_noise, 0.07, np.sqrt(0.07 * (0.4**2 + 0.6**2) / 2 - (0.07 * 0.1) ** 2)),
    ],
)
def test_noise_has_the_deviation_of_its_closed_form(change, strength, deviation):
    changed = change(GREY, draws(len(GREY)), strength) - 0.4
    assert changed.std() == pytest.approx(deviation, rel=0.01)
    assert changed.mean() == pytest.approx(0.007 if change is noise.impulse_noise else 0, abs=1e-3)


def test_impulses_are_black_or_white_in_equal_parts():
    changed = noise.impulse_noise(GREY, draws(len(GREY)), 0.05)
    assert set(np.unique(changed)) == {0.0, 0.4, 1.0}
    assert (changed == 1).mean() == pytest.approx(0.025, rel=0.03)
    assert (changed == 0).mean() == pytest.approx(0.025, rel=0.03)


def test_glass_copies_pixels_as_swapping_two_views_of_an_array_does():
    steps = np.random.default_rng(1).integers(-1, 1, (len(RANDOM), 2, 30, 30))
    expected = RANDOM.transpose(0, 2, 3, 1).copy()
    for image, (down, right) in zip(expected, steps, strict=True):
        for h in range(31, 1, -1):
            for w in range(31, 1, -1):
                a, b = h + down[h - 2, w - 2], w + right[h - 2, w - 2]
                image[h, w], image[a, b] = image[a, b], image[h, w]  # swaps views, which is: copies
    np.testing.assert_array_equal(blur._scattered(RANDOM, steps), expected.transpose(0, 3, 1, 2))


def test_glass_without_softening_invents_no_colour_and_loses_some():
    changed = np.rint(blur.glass_blur(RANDOM, draws(6), (0.05, 1)) * 255)
    for before, after in zip(RANDOM, changed, strict=True):
        old, new = ({tuple(pixel) for pixel in image.reshape(3, -1).T} for image in (before, after))
        assert new < old


@pytest.mark.parametrize(("radius", "sigma"), [(6, 1), (9, 2.5), (14, 12)])
def test_a_streak_has_weights_that_fall_and_sum_to_one(radius, sigma):
    weights = warps.motion_kernel(radius, sigma)
    assert len(weights) == 2 * radius + 1
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) < 0).all()


def test_a_streak_runs_along_its_angle_and_on_one_side_only():
    dot = np.zeros((3, 1, 32, 32), dtype=np.uint8)
    dot[:, :, 16, 16] = 255
    rows, columns = np.nonzero(warps.streaked(dot, np.array([0.0, 90.0, -90.0]), (6, 2))[:, 0].sum(axis=0))
    assert set(zip(rows, columns, strict=True)) == {
        *((16, 16 - k) for k in range(6)),
        *((16 - k, 16) for k in range(6)),
        *((16 + k, 16) for k in range(6)),
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda images: blur.gaussian_blur(images, draws(1), 1),
        lambda images: blur.defocus_blur(images, draws(1), (1.5, 0.1)),
        lambda images: blur.glass_blur(images, draws(1), (0.4, 2)),
        lambda images: blur.zoom_blur(images, draws(1), 1.26),
        lambda images: blur.motion_blur(images, draws(1), (9, 2.5)) / 255,
    ],
)
def test_blur_leaves_an_even_image_as_it_is(change):
    for level in (0, 77, 255):
        even = np.full((1, 3, 32, 32), level, dtype=np.uint8)
        np.testing.assert_allclose(change(even) * 255, even, atol=1.01)


def test_defocus_at_its_strongest_is_the_mean_of_nine_pixels():
    changed = blur.defocus_blur(RANDOM, draws(6), (1.5, 0.1))
    means = ndimage.uniform_filter(RANDOM / 255, (0, 0, 3, 3), mode="mirror")
    np.testing.assert_allclose(changed, means, atol=1e-6)


def test_zoom_blur_is_the_mean_of_enlargements():
    image = RANDOM[:1] / 255
    factors = np.arange(1, 1.06, 0.01)
    enlarged = [warps.zoom_matrix(f, 32) @ image @ warps.zoom_matrix(f, 32).T for f in factors]
    expected = (image + sum(enlarged)) / (len(factors) + 1)
    np.testing.assert_allclose(blur.zoom_blur(RANDOM[:1], draws(1), 1.06), expected, atol=1e-6)


def test_enlarging_by_one_is_nothing_and_by_two_shows_the_middle_half():
    np.testing.assert_array_equal(warps.zoom_matrix(1.0, 32), np.eye(32))
    places = warps.zoom_matrix(2.0, 32) @ np.arange(32)
    np.testing.assert_allclose(places, np.linspace(8, 23, 32))


def test_reading_between_pixels_is_what_scipy_reads():
    generator = np.random.default_rng(2)
    rows, columns = generator.uniform(-40, 70, (2, 6, 32, 32))
    for mode in ("reflect", "mirror"):
        expected = [
            [ndimage.map_coordinates(channel / 255, [r, c], order=1, mode=mode) for channel in image]
            for image, r, c in zip(RANDOM, rows, columns, strict=True)
        ]
        np.testing.assert_allclose(warps.sampled(RANDOM / 255, rows, columns, mode), expected, atol=1e-9)
