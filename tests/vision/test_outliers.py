"""Outliers made from a batch: each kind is what it says, and a batch with them is ready for `ova_loss`."""

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter1d

from slova.heads import NONE
from slova.losses import ova_loss
from slova.vision import CALIBRATION_OUTLIERS, SELECTION_OUTLIERS, TRAINING_OUTLIERS, held_out_outliers, outliers
from slova.vision.outliers import low_pass

KINDS = (outliers.uniform, *TRAINING_OUTLIERS, *CALIBRATION_OUTLIERS, *SELECTION_OUTLIERS)
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def images_of(shape=(3, 32, 32), count=16, seed=0):
    return torch.rand(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 8)])
@pytest.mark.parametrize("count", [1, 16, 17])
def test_each_noise_image_reaches_from_zero_to_one(shape, count):
    torch.manual_seed(0)
    images = images_of(shape, count)
    found = low_pass(images)
    assert found.shape == images.shape
    assert torch.equal(found.amin((1, 2, 3)), torch.zeros(count))
    assert torch.equal(found.amax((1, 2, 3)), torch.ones(count))


def test_an_image_of_one_colour_gives_black_noise_and_no_nan():
    assert torch.equal(low_pass(torch.full((4, 3, 8, 8), 0.7))[:2].round(decimals=3), torch.zeros(2, 3, 8, 8))


@pytest.fixture
def before_blur(monkeypatch):
    """What `low_pass` blurs, and by how much, a batch."""
    seen = []
    blurred = outliers._blur
    monkeypatch.setattr(outliers, "_blur", lambda images, width: seen.append((images, width)) or blurred(images, width))
    return seen


def colours(image):
    return sorted(map(tuple, image.flatten(1).T.tolist()))


def test_the_first_half_has_the_colours_of_its_images_in_other_places(before_blur):
    images = images_of()
    low_pass(images)
    mixed, _ = before_blur[0]
    for image, found in zip(images[:8], mixed, strict=False):
        assert colours(found) == colours(image)
        assert float((found == image).float().mean()) < 0.05
    assert colours(mixed[8]) != colours(images[8])


def test_every_image_is_shuffled_in_its_own_way(before_blur):
    low_pass(images_of(count=1).expand(8, -1, -1, -1))
    mixed, _ = before_blur[0]
    assert len({tuple(image.flatten().tolist()) for image in mixed[:4]}) == 4


def test_the_second_half_is_uniform_before_blurring(before_blur):
    low_pass(torch.zeros(16, 3, 32, 32))
    uniform = before_blur[0][0][8:]
    shares = torch.histc(uniform, 10, 0, 1) / uniform.numel()
    torch.testing.assert_close(shares, torch.full((10,), 0.1), atol=0.01, rtol=0)


def test_the_width_is_one_number_a_batch_between_1_and_2_5(before_blur):
    for _ in range(200):
        low_pass(torch.zeros(2, 1, 8, 8))
    widths = torch.stack([width for _, width in before_blur])
    assert widths.shape == (200,)
    assert 1 <= widths.min() < 1.1
    assert 2.4 < widths.max() <= 2.5


def test_the_blur_is_the_gaussian_of_scipy_inside_the_image():
    images = images_of((2, 32, 32), 3)
    found = outliers._blur(images, torch.tensor(1.5)).numpy()
    wanted = images.numpy().astype(np.float64)
    for axis in (-1, -2):
        wanted = gaussian_filter1d(wanted, 1.5, axis=axis, radius=7, mode="reflect")
    np.testing.assert_allclose(found, wanted, atol=1e-6)


# the other kinds


@kinds
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 8, 8), (3, 33, 40)])
def test_every_kind_gives_as_many_images_of_the_same_shape_between_0_and_1(kind, shape):
    images = images_of(shape, 7)
    before = images.clone()
    found = kind(images)
    assert found.shape == images.shape
    assert found.dtype == images.dtype
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-6
    assert torch.equal(images, before), "the batch itself stays as it is"


@kinds
def test_every_kind_is_drawn_anew_each_time_and_repeats_with_the_seed(kind):
    images = images_of()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = kind(images), kind(images)
        torch.manual_seed(0)
        assert torch.equal(kind(images), first)
    assert not torch.equal(first, second)
    seeded = [kind(images, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(seeded[0], seeded[1])
    assert not torch.equal(seeded[0], seeded[2])


def test_permuted_images_keep_their_colours():
    images = images_of()
    for image, found in zip(images, outliers.permute_pixels(images), strict=True):
        assert colours(found) == colours(image)


def test_an_average_is_of_three_images_of_the_batch():
    images = torch.eye(9).view(9, 1, 3, 3)  # image i is 1 at pixel i
    found = outliers.average(images).flatten(1) * 3
    torch.testing.assert_close(found.sum(1), torch.full((9,), 3.0))
    assert (found.diagonal() >= 1 - 1e-6).all()


def test_shuffled_patches_are_the_patches_of_the_image():
    images = images_of((1, 8, 10), 4)
    found = outliers.shuffle_patches(images, size=4)
    assert torch.equal(found[..., 8:], images[..., 8:]), "what fills no patch stays"
    for image, mixed in zip(images, found, strict=True):
        mine, theirs = (
            {tuple(one[0, i : i + 4, j : j + 4].flatten().tolist()) for i in (0, 4) for j in (0, 4)}
            for one in (image, mixed)
        )
        assert mine == theirs
    with pytest.raises(ValueError, match="have fewer than two patches of 8"):
        outliers.shuffle_patches(images, size=8)


def test_an_enlarged_crop_shows_little_of_the_image():
    ramp = torch.linspace(0, 1, 96).expand(200, 1, 96, 96)
    shown = outliers.zoom(ramp)
    width = shown.amax((1, 2, 3)) - shown.amin((1, 2, 3))
    assert 1 / 6 - 0.03 < width.min() < 0.2
    assert 0.3 < width.max() < 1 / 3 + 0.03
    assert shown.amin() < 0.05
    assert shown.amax() > 0.95, "from everywhere"


def test_quarters_are_of_images_of_the_batch():
    images = torch.arange(50.0).view(50, 1, 1, 1).expand(-1, 1, 10, 10) / 50
    found = outliers.collage(images)
    corners = found[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert torch.equal(corners[:, 0], images[:, 0, 0, 0])
    assert all(len(set(row.tolist())) <= 4 for row in found.flatten(1))
    assert (corners[:, 1:] != corners[:, :1]).float().mean() > 0.9


def test_halves_and_mosaics_are_of_different_images():
    images = torch.arange(50.0).view(50, 1, 1, 1).expand(-1, 1, 16, 16) / 50
    halves = held_out_outliers.halve(images).flatten(1)
    assert all(len(set(row.tolist())) == 2 for row in halves)
    assert 0.35 < (halves == images.flatten(1)).float().mean() < 0.65
    cells = held_out_outliers.mosaic(images)[:, 0, 2::4, 2::4].flatten(1)
    assert min(len(set(row.tolist())) for row in cells) >= 10


def test_a_pasted_crop_covers_most_of_another_image():
    images = torch.arange(50.0).view(50, 1, 1, 1).expand(-1, 1, 32, 32) / 50
    own = (held_out_outliers.paste(images) - images).abs() < 1e-4
    assert 0.4 < own.float().mean((1, 2, 3)).min() < own.float().mean((1, 2, 3)).max() < 0.8


def test_pink_noise_has_more_power_at_low_frequencies():
    power = torch.fft.rfft2(held_out_outliers.pink_noise(images_of(count=50)) - 0.5).abs().square().mean((0, 1))
    assert power[1:3, 1:3].mean() > 10 * power[12:15, 12:15].mean()


# the batch


def test_the_outliers_of_a_seed_never_change():
    """Committed networks were trained with them."""
    torch.manual_seed(4)
    found = outliers.add_outliers(images_of((3, 8, 8)), torch.arange(16), share=1.0)[0][16:, 0, 3, 3]
    wanted = [0.3655, 0.1819, 0.3792, 0.6253, 0.6354, 0.1237, 0.4574, 0.3425]
    wanted += [0.3954, 0.4121, 0.2595, 0.4662, 0.5709, 0.4179, 0.1514, 0.1514]
    torch.testing.assert_close(found, torch.tensor(wanted), atol=1e-4, rtol=0)


def test_a_batch_with_outliers_ends_with_them_labelled_none():
    images, labels = images_of(count=10), torch.arange(10)
    both, truth = outliers.add_outliers(images, labels, share=0.5)
    assert torch.equal(both[:10], images)
    assert truth.tolist() == [*range(10), *[NONE] * 5]
    assert ova_loss(torch.zeros(15, 10), truth).item() == pytest.approx(10 * np.log(2))


@pytest.mark.parametrize("count", [4, 6, 8, 10, 16, 32])
def test_no_outlier_of_a_small_batch_is_one_of_its_images(count):
    images, labels = images_of(count=count), torch.arange(count)
    for seed in range(20):
        torch.manual_seed(seed)
        made = outliers.add_outliers(images, labels)[0][count:]
        assert (made[:, None] - images).abs().amax((2, 3, 4)).min() > 0.01


@pytest.mark.parametrize("count", [2, 3, 4, 5, 50])
def test_an_average_is_of_three_images_and_four_are_pasted_together(count):
    """Each image has a colour of its own, so that an outlier shows what it was made from."""
    colours = 2.0 ** -torch.arange(1, count + 1)
    images = colours.view(-1, 1, 1, 1).expand(-1, 3, 8, 8)
    for seed in range(20):
        torch.manual_seed(seed)
        triples = outliers.average(images)[:, 0, 0, 0]
        others = 3 * triples - colours
        wanted = torch.cartesian_prod(torch.arange(count), torch.arange(count))
        wanted = wanted[(wanted[:, 0] != wanted[:, 1]) | (count < 3)]
        assert (others[:, None] - colours[wanted].sum(1)).abs().amin(1).max() < 1e-6
        corners = outliers.collage(images)[:, 0].flatten(1)[:, [0, 7, 56, 63]].sort(1).values
        assert (corners.diff() > 0).sum(1).min() >= min(count, 4) - 1


def test_kinds_share_the_outliers_and_any_share_is_possible():
    images, labels = torch.zeros(8, 1, 4, 4), torch.zeros(8, dtype=torch.long)
    ones, twos = (lambda part, _, value=value: torch.full_like(part, value) for value in (1, 2))
    both, truth = outliers.add_outliers(images, labels, share=2.0, kinds=[ones, twos])
    assert both[8:].amax((1, 2, 3)).tolist() == [1.0] * 8 + [2.0] * 8
    assert len(truth) == 24
    assert outliers.add_outliers(images, labels, share=0.0)[0] is images
    assert outliers.add_outliers(images, labels, kinds=[])[0] is images


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        (lambda images, _: images[:2], r"\(2, 3, 8, 8\)"),
        (outliers.sample_from(images_of((3, 4, 4))), r"\(4, 3, 4, 4\)"),
    ],
)
def test_a_kind_that_makes_fewer_images_or_others_is_refused(kind, made):
    with pytest.raises(ValueError, match=rf"of the same shape, but .* made {made} from \(4, 3, 8, 8\)"):
        outliers.add_outliers(images_of((3, 8, 8), 8), torch.arange(8), kinds=[kind])


@pytest.mark.parametrize("share", [-0.5, float("nan"), float("inf")])
def test_a_share_is_finite_and_not_negative(share):
    with pytest.raises(ValueError, match=f"share must be finite and not negative, got {share}"):
        outliers.add_outliers(images_of((3, 8, 8), 4), torch.arange(4), share=share)


def test_bytes_are_refused():
    with pytest.raises(ValueError, match=r"images must be floats .* got torch.uint8"):
        outliers.add_outliers(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.zeros(2))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (-0.1, r"images must lie in \[0, 1\], got .* before normalising"),
        (1.1, r"images must lie in \[0, 1\], got .* before normalising"),
        (255.0, r"images must lie in \[0, 1\], got .* to 255: divide images of 0 to 255 by 255"),
        (float("nan"), "images must not be NaN, got NaN in 1 of 4 images"),
    ],
)
def test_images_outside_0_and_1_are_refused(wrong, message):
    images = images_of((3, 8, 8), 4)
    images[1, 2, 3, 4] = wrong
    with pytest.raises(ValueError, match=message):
        outliers.add_outliers(images, torch.arange(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": "0.5"}, "share must be a number, got '0.5'"),
        ({"kinds": ["zoom"]}, "kinds must be a list of functions"),
    ],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(TypeError, match=message):
        outliers.add_outliers(images_of((3, 8, 8), 4), torch.arange(4), **options)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.uint16])
def test_labels_that_cannot_be_none_are_refused(dtype):
    with pytest.raises(TypeError, match=r"labels must have a dtype that can hold NONE \(-1\), got torch"):
        outliers.add_outliers(images_of((3, 8, 8), 4), torch.zeros(4, dtype=dtype))


@pytest.mark.parametrize("shape", [(3,), (5,), (4, 10), ()])
def test_labels_must_match_images(shape):
    with pytest.raises(ValueError, match=r"labels \(.*\) do not match images \(4, 3, 8, 8\)"):
        outliers.add_outliers(images_of((3, 8, 8), 4), torch.zeros(shape, dtype=torch.long))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@kinds
def test_images_of_any_precision_give_outliers_of_it(kind, dtype):
    images = images_of((3, 16, 16), 6).to(dtype)
    found = kind(images)
    assert found.dtype == dtype
    assert found.min() >= 0
    assert found.max() <= 1
    both, _ = outliers.add_outliers(images, torch.arange(6), kinds=[kind])
    assert both.dtype == dtype


@pytest.mark.parametrize("size", [(4, 40), (40, 4), (2, 9), (28, 30)])
def test_images_need_not_be_square(size):
    images = images_of((3, *size), 12)
    both, labels = outliers.add_outliers(images, torch.arange(12))
    assert both.shape == (18, 3, *size)
    assert len(labels) == 18


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_batch_with_outliers_can_be_a_cuda_graph(dtype):
    images, labels = images_of(count=12).to("cuda", dtype), torch.arange(12, device="cuda")
    outliers.add_outliers(images, labels)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        both, truth = outliers.add_outliers(images, labels)
    graph.replay()
    first = both.clone()
    graph.replay()
    assert (truth[12:] == NONE).all()
    assert not torch.equal(first[12:], both[12:])
