"""Augmented images are crops and flips of the padded original, determined by the generator."""

import pytest
import torch
from slova_bench.augment import crop, crop_flip, nothing, shift_flip

SIZES = [((3, 32, 32), 4), ((1, 8, 8), 1), ((3, 16, 16), 2), ((3, 64, 64), 4)]


def images_of(shape, count=200, seed=0):
    return torch.randint(1, 256, (count, *shape), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def crops(image, pad):
    """Every crop of the image padded with black, by its shift."""
    height, width = image.shape[1:]
    padded = image.new_zeros(len(image), height + 2 * pad, width + 2 * pad)
    padded[:, pad : pad + height, pad : pad + width] = image
    size = range(2 * pad + 1)
    return {(y, x): padded[:, y : y + height, x : x + width] for y in size for x in size}


def shift_of(found, image, pad):
    """The shift, and whether the image was flipped, that gives the augmented image."""
    plain = [(*shift, False) for shift, cut in crops(image, pad).items() if torch.equal(cut, found)]
    flipped = [(*shift, True) for shift, cut in crops(image, pad).items() if torch.equal(cut.flip(-1), found)]
    (only,) = plain + flipped
    return only


@pytest.mark.parametrize(("shape", "pad"), SIZES)
def test_every_crop_is_a_shifted_original_and_every_shift_comes_about_equally_often(shape, pad):
    images = images_of(shape)
    shifts = [shift_of(*pair, pad) for pair in zip(crop(images, generator()), images, strict=True)]
    assert not any(flipped for *_, flipped in shifts)
    for axis in (0, 1):
        counts = torch.bincount(torch.tensor([shift[axis] for shift in shifts]), minlength=2 * pad + 1)
        expected = len(images) / (2 * pad + 1)
        assert len(counts) == 2 * pad + 1
        assert ((counts - expected).abs() < 4.5 * expected**0.5).all()


@pytest.mark.parametrize(("shape", "pad"), SIZES)
def test_crop_flip_is_a_crop_flipped_half_of_the_time(shape, pad):
    images = images_of(shape)
    shifts = [shift_of(*pair, pad) for pair in zip(crop_flip(images, generator()), images, strict=True)]
    assert 70 < sum(flipped for *_, flipped in shifts) < 130
    assert len({shift[:2] for shift in shifts}) > min((2 * pad + 1) ** 2, 60) * 0.9


def test_the_two_axes_are_shifted_independently():
    images = images_of((3, 32, 32), 400)
    shifts = [shift_of(*pair, 4)[:2] for pair in zip(crop(images, generator()), images, strict=True)]
    assert abs(torch.corrcoef(torch.tensor(shifts, dtype=torch.float64).T)[0, 1]) < 0.2


@pytest.mark.parametrize("augment", [crop, crop_flip, nothing, shift_flip])
def test_augmentation_depends_on_its_generator_and_nothing_else(augment):
    images = images_of((3, 32, 32), 20)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = augment(images, generator(3))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(augment(images, generator(3)), first)
    assert torch.equal(augment(images, generator(4)), first) == (augment is nothing)


@pytest.mark.parametrize("augment", [crop, crop_flip, nothing, shift_flip])
def test_augmentation_keeps_type_shape_and_device_and_leaves_its_input_alone(augment):
    images = images_of((3, 32, 32), 5)
    copy = images.clone()
    found = augment(images, generator())
    assert (found.dtype, found.shape, found.device) == (torch.uint8, images.shape, images.device)
    assert torch.equal(images, copy)
    assert augment(images.to("meta"), generator()).device.type == "meta"


@pytest.mark.parametrize("axis", [2, 3])
def test_shifts_are_fractions_of_a_pixel_up_to_a_tenth_of_the_side(axis):
    ramp = torch.arange(0, 256, 8, dtype=torch.uint8)
    images = ramp.view(1, 1, *((-1, 1) if axis == 2 else (1, -1))).expand(400, 1, 32, 32).contiguous()
    moved = shift_flip(images, generator()).double().mean(dim=5 - axis)[:, 0]
    flipped = moved[:, -1] < moved[:, 0]
    assert flipped.sum() == 0 if axis == 2 else 150 < flipped.sum() < 250
    moved[flipped] = moved[flipped].flip(1)
    shifts = (moved - ramp)[:, 8:24]  # in steps of a ramp, away from the edges
    assert (shifts.amax(1) - shifts.amin(1) <= 1).all()  # the same for all pixels, to rounding
    pixels = shifts.mean(dim=1) / 8
    assert pixels.abs().max() <= 3.2 + 0.1
    counts = torch.histc(pixels, 8, -3.2, 3.2)
    assert ((counts - 50).abs() < 4.5 * 50**0.5).all()
    assert ((pixels - pixels.round()).abs() > 0.1).sum() > 250  # between whole pixels


def test_a_shift_repeats_the_edges_and_blurs_what_lies_between_pixels():
    images = torch.full((50, 3, 32, 32), 200, dtype=torch.uint8)
    assert torch.equal(shift_flip(images, generator()), images)
    noise = images_of((3, 32, 32))
    assert shift_flip(noise, generator()).double().var() < 0.7 * noise.double().var()
