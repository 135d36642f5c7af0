"""Mixed images: the operations are those of Pillow, the mixtures those of AugMix and PixMix, and images stay
recognisable."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch.nn import functional

from slova.vision import TRAINING_MIXTURES, draws, mix_fractals, mix_operations
from slova.vision.mixtures import fractals, mix
from slova.vision.photo_operations import OPERATIONS, apply_operation

kinds = pytest.mark.parametrize("kind", TRAINING_MIXTURES, ids=lambda kind: kind.__name__)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def photographs(count=12, size=32):
    """Smooth colours with a little noise, of 256 levels."""
    smooth = functional.interpolate(torch.rand(count, 3, 4, 4, generator=seeded()), size=size, mode="bicubic")
    return (200 * smooth + 40 * torch.rand(count, 3, size, size, generator=seeded(1))).clamp(0, 255).round() / 255


def by_pillow(operation, image, strength):
    """The operation as the published code calls it, at a level of ten times the strength."""
    picture, size = Image.fromarray(image.permute(1, 2, 0).mul(255).byte().numpy()), image.shape[1:]
    across = {"shear_x": (1, 0.3 * strength, 0, 0, 1, 0), "move_x": (1, 0, int(strength * size[1] / 3), 0, 1, 0)}
    down = {"shear_y": (1, 0, 0, 0.3 * strength, 1, 0), "move_y": (1, 0, 0, 0, 1, int(strength * size[0] / 3))}
    simple = {
        "autocontrast": lambda: ImageOps.autocontrast(picture),
        "equalize": lambda: ImageOps.equalize(picture),
        "solarize": lambda: ImageOps.solarize(picture, 256 - int(256 * strength)),
        "rotate": lambda: picture.rotate(-int(30 * strength), resample=Image.Resampling.BILINEAR),
    }
    if operation in simple:
        made = simple[operation]()
    else:
        matrix = (across | down)[operation]
        made = picture.transform(size, Image.Transform.AFFINE, matrix, resample=Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(made)).permute(2, 0, 1)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_are_those_of_pillow_up_to_rounding(operation):
    images, strength = photographs(), torch.linspace(0.02, 0.299, 12)
    chosen = torch.full((12,), OPERATIONS.index(operation))
    found = 255 * apply_operation(images, chosen, strength, torch.ones(12))
    wanted = [by_pillow(operation, image, float(amount)) for image, amount in zip(images, strength, strict=True)]
    assert (found - torch.stack(wanted)).abs().max() < 1.01
    assert (found - 255 * images).abs().mean() > 1


def test_each_image_has_an_operation_of_its_own():
    images, count = photographs(len(OPERATIONS)), len(OPERATIONS)
    strength, sign = torch.full((count,), 0.2), torch.ones(count)
    together = apply_operation(images, torch.arange(count), strength, sign)
    for number in range(count):
        alone = apply_operation(images[number : number + 1], torch.tensor([number]), strength[:1], sign[:1])
        torch.testing.assert_close(together[number : number + 1], alone)


def test_pixmix_adds_or_multiplies_with_a_small_share_of_the_other_picture():
    images, others = torch.full((4000, 1, 1, 1), 0.6), torch.full((4000, 1, 1, 1), 0.9)
    found = mix(images, others, seeded())
    torch.manual_seed(0)
    gain = torch.distributions.Beta(1.0, 3.0)
    near, far = gain.sample((40000,)), gain.sample((40000,))
    sign = 1 - 2 * torch.randint(0, 2, (40000,))
    added = ((1 - sign * near) * 0.2 + sign * far * 0.8 + 1) / 2
    multiplied = 1.2 ** (1 - sign * near) * 1.8 ** (sign * far) / 2
    wanted = torch.cat([added, multiplied]).clamp(0, 1)
    assert float(found.mean()) == pytest.approx(float(wanted.mean()), abs=0.01)
    assert float(found.std()) == pytest.approx(float(wanted.std()), abs=0.01)


def test_fractals_have_structure_and_differ():
    found = fractals(torch.zeros(40, 3, 32, 32), seeded())
    assert 0 <= found.min() <= found.max() <= 1
    assert float((found.std((1, 2, 3)) > 0.1).float().mean()) > 0.7
    steps = (found[..., 1:] - found[..., :-1]).abs().mean()
    assert steps < 0.5 * (found[torch.arange(40).roll(7)] - found).abs().mean(), "it is no noise"


@kinds
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 8), (3, 33, 40)])
def test_every_kind_keeps_shape_and_range_and_leaves_its_images_alone(kind, shape):
    images = torch.rand(7, *shape, generator=seeded())
    before = images.clone()
    found = kind(images, seeded())
    assert found.shape == images.shape
    assert ((found >= 0) & (found <= 1)).all()
    assert torch.equal(images, before)


@kinds
def test_every_kind_repeats_with_the_seed_and_differs_without(kind):
    images = photographs()
    assert torch.equal(kind(images, seeded(1)), kind(images, seeded(1)))
    assert not torch.equal(kind(images, seeded(1)), kind(images, seeded(2)))


@kinds
def test_no_strength_changes_nothing_and_more_of_it_changes_more(kind, monkeypatch):
    images, changes = photographs(40), []
    for strength in (0.0, 0.3, 1 - 1e-6):
        fixed = lambda images, generator, value=strength: torch.full((len(images), 1, 1, 1), value)
        monkeypatch.setattr(draws, "strength", fixed)
        changes.append(float((kind(images, seeded()) - images).abs().mean()))
    assert changes[0] == 0
    assert 0.01 < changes[1] < changes[2]


@kinds
def test_what_is_left_is_more_like_its_image_than_like_others(kind):
    images = photographs(40)
    found = kind(images, seeded())
    own, other = ((found - those).square().mean((1, 2, 3)) for those in (images, images.roll(1, 0)))
    assert float((own < other).float().mean()) > 0.7


@kinds
def test_a_kind_reads_no_values_so_that_a_step_can_be_captured(kind):
    """Tensors without values raise where one is read, and where one on another device is used."""
    assert kind(torch.empty(8, 3, 32, 32, device="meta")).shape == (8, 3, 32, 32)


def test_a_mixture_of_operations_is_convex():
    """Chains that leave an image as it is mix it with itself; those that make it white make it brighter alone."""
    images = 0.9 * photographs()
    torch.testing.assert_close(mix_operations(images, seeded(), operation=lambda made, _: made), images)
    whiter = mix_operations(images, seeded(), operation=lambda made, _: torch.ones_like(made))
    assert (whiter >= images - 1e-6).all()
    share = (whiter - images) / (1 - images)
    assert float(share.flatten(1).std(1).max()) < 0.01, "one share per image"


def test_pictures_of_fractals_show_in_their_mixtures():
    images = torch.full((400, 3, 16, 16), 0.5)
    found = mix_fractals(images, seeded())
    assert 0.6 < float((found.std((2, 3)).amax(1) > 0.02).float().mean()) < 0.95, "a fifth has no round of mixing"
