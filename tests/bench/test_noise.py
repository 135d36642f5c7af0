"""Noise images are shuffled and uniform pixels, blurred by one width a batch and stretched to [0, 1]."""

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter1d

from slova.bench import noise
from slova.bench.noise import low_pass_noise


def images_of(shape=(3, 32, 32), count=16, seed=0):
    return torch.rand(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 8)])
@pytest.mark.parametrize("count", [1, 16, 17])
def test_each_noise_image_reaches_from_zero_to_one(shape, count):
    torch.manual_seed(0)
    images = images_of(shape, count)
    found = low_pass_noise(images)
    assert found.shape == images.shape
    assert torch.equal(found.amin((1, 2, 3)), torch.zeros(count))
    assert torch.equal(found.amax((1, 2, 3)), torch.ones(count))


def test_an_image_of_one_colour_gives_black_noise_and_no_nan():
    assert torch.equal(low_pass_noise(torch.full((4, 3, 8, 8), 0.7))[:2].round(decimals=3), torch.zeros(2, 3, 8, 8))


@pytest.fixture
def before_blur(monkeypatch):
    """What `low_pass_noise` blurs, and by how much, a batch."""
    seen = []
    blurred = noise._blurred
    monkeypatch.setattr(noise, "_blurred", lambda images, width: seen.append((images, width)) or blurred(images, width))
    return seen


def colours(image):
    return sorted(map(tuple, image.flatten(1).T.tolist()))


def test_the_first_half_has_the_colours_of_its_images_in_other_places(before_blur):
    images = images_of()
    low_pass_noise(images)
    mixed, _ = before_blur[0]
    for image, found in zip(images[:8], mixed, strict=False):
        assert colours(found) == colours(image)
        assert float((found == image).float().mean()) < 0.05
    assert colours(mixed[8]) != colours(images[8])


def test_every_image_is_shuffled_in_its_own_way(before_blur):
    low_pass_noise(images_of(count=1).expand(8, -1, -1, -1))
    mixed, _ = before_blur[0]
    assert len({tuple(image.flatten().tolist()) for image in mixed[:4]}) == 4


def test_the_second_half_is_uniform_before_blurring(before_blur):
    low_pass_noise(torch.zeros(16, 3, 32, 32))
    uniform = before_blur[0][0][8:]
    shares = torch.histc(uniform, 10, 0, 1) / uniform.numel()
    torch.testing.assert_close(shares, torch.full((10,), 0.1), atol=0.01, rtol=0)


def test_the_width_is_one_number_a_batch_between_1_and_2_5(before_blur):
    for _ in range(200):
        low_pass_noise(torch.zeros(2, 1, 8, 8))
    widths = torch.stack([width for _, width in before_blur])
    assert widths.shape == (200,)
    assert 1 <= widths.min() < 1.1
    assert 2.4 < widths.max() <= 2.5


def test_the_blur_is_the_gaussian_of_scipy_inside_the_image():
    images = images_of((2, 32, 32), 3)
    found = noise._blurred(images, torch.tensor(1.5)).numpy()
    wanted = images.numpy().astype(np.float64)
    for axis in (-1, -2):
        wanted = gaussian_filter1d(wanted, 1.5, axis=axis, radius=7, mode="reflect")
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_noise_is_drawn_anew_each_time_and_repeats_with_the_seed():
    images = images_of()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = low_pass_noise(images), low_pass_noise(images)
        torch.manual_seed(0)
        assert torch.equal(low_pass_noise(images), first)
    assert not torch.equal(first, second)
