"""Degraded images: each kind is what it says, keeps its image recognisable, and repeats with the seed."""

import numpy as np
import pytest
import torch

from slova.vision import CALIBRATION_DEGRADATIONS, SELECTION_DEGRADATIONS, degradations, draws
from slova.vision.degradations import DEGRADATIONS, TRAINING_DEGRADATIONS, degrade
from slova.vision.held_out_degradations import cover_lines, displace_channels, posterise

KINDS = TRAINING_DEGRADATIONS + CALIBRATION_DEGRADATIONS + SELECTION_DEGRADATIONS
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
# What each kind changes even where it is weakest: a square of an eighth of a side, and sixteen levels.
LEAST = {degradations.cover: 0.02, posterise: 0.02}


def images_of(shape=(3, 32, 32), count=40, seed=0):
    """Smooth pictures, as photographs are."""
    small = torch.rand(count, shape[0], 4, 4, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.interpolate(small, size=shape[1:], mode="bilinear")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def strongly(monkeypatch, strength):
    """Every image degraded by the same strength."""
    fixed = lambda images, generator: torch.full((len(images), 1, 1, 1), strength)
    monkeypatch.setattr(draws, "strength", fixed)


@kinds
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 8), (3, 33, 40)])
def test_every_kind_keeps_the_shape_and_the_images_it_was_given(kind, shape):
    images = images_of(shape, 7)
    before = images.clone()
    found = kind(images, seeded())
    assert found.shape == images.shape
    assert found.dtype == images.dtype
    assert found.isfinite().all()
    assert torch.equal(images, before)


@kinds
def test_every_kind_repeats_with_the_seed_and_differs_without(kind):
    images = images_of()
    assert torch.equal(kind(images, seeded(1)), kind(images, seeded(1)))
    assert not torch.equal(kind(images, seeded(1)), kind(images, seeded(2)))


@kinds
def test_without_a_generator_the_default_one_decides(kind):
    images = images_of()
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(kind(images, None))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@kinds
def test_no_strength_changes_nothing_and_more_of_it_changes_more(kind, monkeypatch):
    images, changes = images_of(), []
    for strength in (0.0, 0.3, 1.0):
        strongly(monkeypatch, strength)
        changes.append(float((kind(images, seeded()) - images).abs().mean()))
    assert changes[0] < LEAST.get(kind, 1e-5)
    assert changes[0] < changes[1] < changes[2]


@kinds
def test_what_is_left_is_more_like_its_image_than_like_others(kind):
    images = images_of()
    found = kind(images, seeded()).clamp(0, 1)
    own = (found - images).square().mean((1, 2, 3))
    other = (found - images.roll(1, 0)).square().mean((1, 2, 3))
    assert float((own < other).float().mean()) > 0.7


def test_a_filter_is_the_convolution_written_naively(monkeypatch):
    strongly(monkeypatch, 1.0)
    images = images_of((2, 6, 6), 3)
    found = degradations.convolve(images, seeded()).numpy()
    kernel = torch.randn(3, 2, 2, 3, 3, generator=seeded()).numpy() / np.sqrt(18)
    padded = np.pad(images.numpy() - 0.5, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")
    wanted = np.einsum("nabij,nbhwij->nahw", kernel, np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)))
    np.testing.assert_allclose(found, wanted + 0.5, atol=1e-5)


def test_swapped_patches_are_those_of_the_image(monkeypatch):
    strongly(monkeypatch, 1.0)
    image = torch.arange(64.0).view(1, 1, 8, 8) / 64
    found = degradations.swap_patches(image, seeded())
    assert sorted(found.flatten().tolist()) == image.flatten().tolist()
    assert not torch.equal(found, image)


def test_shifted_phases_leave_the_mean_and_the_power_of_each_frequency(monkeypatch):
    strongly(monkeypatch, 1.0)
    images = images_of()
    found = degradations.shift_phases(images, seeded())
    torch.testing.assert_close(found.mean((2, 3)), images.mean((2, 3)))
    power, wanted = (torch.fft.rfft2(one).abs()[..., 1:-1] for one in (found, images))
    torch.testing.assert_close(power, wanted, atol=1e-3, rtol=1e-3)


def test_a_square_covers_up_to_three_quarters_of_a_side(monkeypatch):
    strongly(monkeypatch, 1.0)
    covered = degradations.cover(torch.zeros(500, 1, 32, 32), seeded())[:, 0] > 0
    assert covered.any(2).sum(1).max() == covered.any(1).sum(1).max() == 24


def test_each_image_is_degraded_once_in_one_of_the_kinds():
    images = torch.zeros(30, 1, 4, 4)
    adding = [lambda part, _, value=value: part + value for value in (0.1, 0.2, 0.3)]
    found = degrade(images, kinds=adding).amax((1, 2, 3))
    assert sorted(found.tolist()) == pytest.approx([0.1] * 10 + [0.2] * 10 + [0.3] * 10)
    assert torch.equal(found, degrade(images, kinds=adding).amax((1, 2, 3)))
    assert not torch.equal(found, degrade(images, kinds=adding, seed=1).amax((1, 2, 3)))


def test_single_images_are_degraded_by_every_kind():
    met = []
    kinds = [lambda part, _, number=number: met.append(number) or part for number in range(3)]
    for seed in range(60):
        degrade(torch.zeros(1, 1, 4, 4), seed=seed, kinds=kinds)
    assert len(met) == 60
    assert min(met.count(n) for n in range(3)) >= 10


@pytest.mark.parametrize("count", [0, 1, 5, 17])
def test_any_number_of_images_comes_out_between_0_and_1(count):
    found = degrade(images_of(count=max(count, 1))[:count])
    assert found.shape == (count, 3, 32, 32)
    assert ((found >= 0) & (found <= 1)).all()


def test_bytes_normalised_images_and_no_kinds_are_refused():
    with pytest.raises(ValueError, match=r"images must be floats .* got torch.uint8"):
        degrade(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"values from -2 to 0: degrade images before normalising them"):
        degrade(torch.tensor([-2.0, 0.0]).view(2, 1, 1, 1))
    with pytest.raises(TypeError, match="kinds must be a list of functions of images and a generator, got 'warp'"):
        degrade(images_of(count=4), kinds="warp")
    with pytest.raises(ValueError, match="at least one degradation"):
        degrade(torch.zeros(2, 3, 8, 8), kinds=[])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_and_layouts_are_degraded_alike(dtype):
    images = torch.rand(16, 3, 16, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    found = degrade(images)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), degrade(images.float()), atol=0.01, rtol=0)
    assert torch.equal(degrade(images.to(memory_format=torch.channels_last)), found)


# Committed results depend on these pixels: four of each kind, and the means of images that `degrade` returns.
PIXELS = {
    "convolve": [0.378, 0.3601, 0.6743, 0.4525],
    "recolour": [0.3273, 0.3618, 0.946, -0.1835],
    "warp": [0.3528, 0.8039, 0.8867, 0.4629],
    "cover": [0.3489, 0.266, 0.9033, 0.3791],
    "blend": [0.4053, 0.34, 0.7939, 0.3899],
    "add_stripes": [0.5001, 0.2889, 0.9036, 0.378],
    "shift_phases": [0.2652, 0.2904, 0.8457, 0.5949],
    "swap_patches": [0.4556, 0.1916, 0.9033, 0.7892],
}
MEANS = {0: [0.4838, 0.5041, 0.4977, 0.5102, 0.5079, 0.4656], 7: [0.4998, 0.5124, 0.4996, 0.4786, 0.5079, 0.4656]}


def test_the_pixels_of_a_seed_never_change():
    images = torch.rand(16, 3, 8, 8, generator=seeded(0))
    assert [kind.__name__ for kind in DEGRADATIONS] == list(PIXELS)
    for kind in DEGRADATIONS:
        found = kind(images, seeded(2)).flatten()[[10, 700, 1500, 3000]]
        torch.testing.assert_close(found, torch.tensor(PIXELS[kind.__name__]), atol=1e-4, rtol=0)
    for seed, means in MEANS.items():
        found = degrade(images, seed=seed).mean((1, 2, 3))[:6]
        torch.testing.assert_close(found, torch.tensor(means), atol=1e-4, rtol=0)


# kinds that are held out


def test_channels_are_displaced_by_up_to_a_sixth_of_a_side(monkeypatch):
    strongly(monkeypatch, 1.0)
    point = torch.zeros(300, 3, 31, 31)
    point[:, :, 15, 15] = 1
    found = displace_channels(point, seeded()).flatten(2).argmax(2)
    away = torch.maximum((found // 31 - 15).abs(), (found % 31 - 15).abs())
    assert away.max() == 5
    assert (found[:, 0] != found[:, 1]).float().mean() > 0.8


def test_posterised_images_have_few_levels(monkeypatch):
    strongly(monkeypatch, 1.0)
    found = posterise(torch.linspace(0, 1, 1024).view(1, 1, 32, 32).expand(50, -1, -1, -1), seeded())
    levels = [len(image.unique()) for image in found]
    assert min(levels) == 2
    assert max(levels) == 3


def test_lines_leave_at_least_a_third_uncovered(monkeypatch):
    strongly(monkeypatch, 1.0)
    images = torch.full((200, 1, 64, 64), -1.0)
    left = (cover_lines(images, seeded()) == -1).float().mean((1, 2, 3))
    assert left.min() > 1 / 3
    assert left.max() < 0.55
