"""Degraded images: each kind is what it says, keeps its image recognisable, and repeats with the seed."""

import numpy as np
import pytest
import torch

from slova.vision import degradations
from slova.vision.degradations import DEGRADATIONS, degrade

kinds = pytest.mark.parametrize("kind", DEGRADATIONS, ids=lambda kind: kind.__name__)


def images_of(shape=(3, 32, 32), count=40, seed=0):
    """Smooth pictures, as photographs are."""
    small = torch.rand(count, shape[0], 4, 4, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.interpolate(small, size=shape[1:], mode="bilinear")


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def strongly(monkeypatch, strength):
    """Every image degraded by the same strength."""
    fixed = lambda images, generator: torch.full((len(images), 1, 1, 1), strength)
    monkeypatch.setattr(degradations, "_strength", fixed)


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
def test_no_strength_changes_nothing_and_more_of_it_changes_more(kind, monkeypatch):
    images, changes = images_of(), []
    for strength in (0.0, 0.3, 1.0):
        strongly(monkeypatch, strength)
        changes.append(float((kind(images, seeded()) - images).abs().mean()))
    assert changes[0] < (0.02 if kind is degradations.cover else 1e-5)  # the smallest square is an eighth of a side
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
    with pytest.raises(ValueError, match="at least one degradation"):
        degrade(torch.zeros(2, 3, 8, 8), kinds=[])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_and_layouts_are_degraded_alike(dtype):
    images = torch.rand(16, 3, 16, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    found = degrade(images)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), degrade(images.float()), atol=0.01, rtol=0)
    assert torch.equal(degrade(images.to(memory_format=torch.channels_last)), found)
