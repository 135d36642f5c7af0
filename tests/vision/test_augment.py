"""Augmented batches: some images are degraded and keep their labels, outliers are appended with NONE."""

import math

import pytest
import torch

from slova.heads import NONE
from slova.losses import ova_loss
from slova.vision import (
    CALIBRATION_DEGRADATIONS,
    CALIBRATION_OUTLIERS,
    SELECTION_DEGRADATIONS,
    SELECTION_OUTLIERS,
    TRAINING_DEGRADATIONS,
    TRAINING_MIXTURES,
    TRAINING_OUTLIERS,
    augment,
)

DEGRADATION_SETS = (TRAINING_DEGRADATIONS, CALIBRATION_DEGRADATIONS, SELECTION_DEGRADATIONS)
OUTLIER_SETS = (TRAINING_OUTLIERS, CALIBRATION_OUTLIERS, SELECTION_OUTLIERS)
MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)


def images_of(count=16, shape=(3, 16, 16), seed=0):
    return torch.rand(count, *shape, generator=torch.Generator().manual_seed(seed))


def changed(images, found):
    return (found[: len(images)] != images).flatten(1).any(1)


@pytest.mark.parametrize(
    "sets",
    [DEGRADATION_SETS, OUTLIER_SETS],
)
def test_the_three_sets_are_disjoint(sets):
    every = [kind for kinds in sets for kind in kinds]
    assert len(set(every)) == len(every) == len({kind.__name__ for kind in every})
    assert min(map(len, sets)) >= 4


def test_a_quarter_of_the_images_is_degraded_half_is_mixed_and_half_as_many_outliers_follow():
    images, labels = images_of(), torch.arange(16)
    before = images.clone()
    darker, lighter = [lambda images, _: images - 1], [lambda images, _: images + 1]
    found, truth = augment(images, labels, degradations=darker, mixtures=lighter)
    assert found.shape == (24, 3, 16, 16)
    assert truth.tolist() == [*range(16), *[NONE] * 8]
    assert [int((found[:16] == colour).flatten(1).all(1).sum()) for colour in (0, 1)] == [4, 8]
    assert int(changed(images, found).sum()) == 12
    assert torch.equal(images, before)
    assert ova_loss(torch.zeros(24, 16), truth).item() == pytest.approx(16 * math.log(2))


@pytest.mark.parametrize(
    ("degraded", "mixed", "outliers"), [(0, 0, 0), (1, 0, 0), (0, 1, 1), (0.25, 0.5, 2.5), (0.5, 0.5, 1)]
)
def test_shares_are_options(degraded, mixed, outliers):
    images, changing = images_of(8), [lambda images, _: 1 - images]
    shares = {"degraded": degraded, "mixed": mixed, "outliers": outliers}
    found, truth = augment(images, torch.zeros(8, dtype=torch.long), mixtures=changing, **shares)
    assert int(changed(images, found).sum()) == 8 * (degraded + mixed)
    assert int((truth == NONE).sum()) == len(found) - 8 == 8 * outliers


def test_labels_that_are_none_stay_none_and_others_keep_their_dtype():
    labels = torch.tensor([3, NONE, 1, NONE], dtype=torch.int16)
    _, truth = augment(images_of(4), labels)
    assert truth.dtype == torch.int16
    assert truth.tolist() == [3, NONE, 1, NONE, NONE, NONE]


@pytest.mark.parametrize("count", range(9))
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 33, 20)])
def test_small_batches_of_any_shape_lie_between_0_and_1(count, shape):
    found, truth = augment(images_of(count, shape), torch.zeros(count, dtype=torch.long), degraded=0.5, outliers=1)
    assert found.shape == (2 * count, *shape)
    assert len(truth) == 2 * count
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("count", [4, 5, 8, 13])
def test_no_outlier_is_an_image_of_the_batch(count):
    images = images_of(count)
    for seed in range(20):
        torch.manual_seed(seed)
        made = augment(images, torch.arange(count), degraded=0, mixed=0)[0][count:]
        assert (made[:, None] - images).abs().amax((2, 3, 4)).min() > 0.01


def adding(values):
    return [lambda images, _, value=value: images + value for value in values]


@pytest.mark.parametrize("count", [1, 2, 5, 7, 12])
def test_each_kind_and_each_image_is_as_likely(count):
    """Images differ by steps of 0.07, kinds add 0.01 to 0.03, so that a result shows both."""
    images = (torch.arange(count) * 0.07).view(-1, 1, 1, 1).expand(-1, 1, 2, 2)
    kinds, met = adding((0.01, 0.02, 0.03)), torch.zeros(count, 4)
    for seed in range(300):
        torch.manual_seed(seed)
        share = 1 if count < 3 else 0.5
        found, _ = augment(images, torch.arange(count), degraded=share, mixed=0, degradations=kinds, outliers=0)
        steps = ((found - images)[:, 0, 0, 0] * 100).round().long()
        met += torch.nn.functional.one_hot(steps, 4)
    expected = 300 * (1 if count < 3 else round(count / 2) / count)
    assert (met[:, 1:].sum(1) - expected).abs().max() < 60
    shares = met[:, 1:].sum(0) / met[:, 1:].sum()
    assert (shares - 1 / 3).abs().max() < 0.1


def test_outliers_are_made_from_clean_images():
    black = lambda images, _: 0 * images
    keep = lambda images, _: images
    found, _ = augment(
        images_of(8) / 2 + 0.5,
        torch.arange(8),
        outliers=1,
        degradations=[black],
        mixtures=[black],
        outlier_kinds=[keep],
    )
    assert (found[:8] == 0).flatten(1).all(1).sum() == 6
    assert (found[8:] >= 0.5).all()


def test_no_kinds_change_nothing():
    images = images_of(4)
    found, truth = augment(images, torch.arange(4), degradations=[], mixtures=[], outlier_kinds=[])
    assert torch.equal(found, images)
    assert truth.tolist() == [0, 1, 2, 3]


def test_the_seed_decides_and_a_generator_too():
    images, labels = images_of(), torch.arange(16)
    torch.manual_seed(1)
    first, second = augment(images, labels)[0], augment(images, labels)[0]
    torch.manual_seed(1)
    assert torch.equal(augment(images, labels)[0], first)
    assert not torch.equal(first, second)
    state = torch.get_rng_state()
    seeded = [augment(images, labels, generator=torch.Generator().manual_seed(seed))[0] for seed in (2, 2, 3)]
    assert torch.equal(seeded[0], seeded[1])
    assert not torch.equal(seeded[0], seeded[2])
    assert torch.equal(state, torch.get_rng_state()), "a generator leaves the default one alone"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_half_precision_and_autocast_give_the_pixels_of_float32(dtype):
    images = images_of().to(dtype)
    torch.manual_seed(0)
    wanted, _ = augment(images.float(), torch.arange(16))
    torch.manual_seed(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, _ = augment(images, torch.arange(16))
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), wanted, atol=0.005, rtol=0)
    assert torch.equal(found[:16][~changed(images, found)], images[~changed(images, found)])


@pytest.mark.parametrize("as_tensors", [False, True])
def test_normalised_images_are_augmented_as_if_they_were_not(as_tensors):
    mean, std = (torch.tensor(values) if as_tensors else values for values in (MEAN, STD))
    scale = lambda images: (images - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    images, labels = images_of(), torch.arange(16)
    torch.manual_seed(0)
    wanted, _ = augment(images, labels)
    torch.manual_seed(0)
    found, _ = augment(scale(images), labels, normalize=(mean, std))
    torch.testing.assert_close(found, scale(wanted), atol=1e-3, rtol=0)
    torch.manual_seed(0)
    single, _ = augment((images - 0.5) / 0.25, labels, normalize=(0.5, 0.25))
    torch.testing.assert_close(single * 0.25 + 0.5, wanted, atol=1e-3, rtol=0)


def test_layouts_in_memory_do_not_matter():
    images, labels = images_of(), torch.arange(16)
    torch.manual_seed(0)
    wanted, _ = augment(images, labels)
    torch.manual_seed(0)
    assert torch.equal(augment(images.to(memory_format=torch.channels_last), labels)[0], wanted)


gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("normalize", [None, (MEAN, STD)])
def test_a_training_step_with_it_can_be_a_cuda_graph(dtype, normalize):
    images, labels = images_of(32).to("cuda", dtype), torch.arange(32, device="cuda")
    images = images if normalize is None else (images - 0.5) / 0.5
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # plans and workspaces are made before the capture
        augment(images, labels, normalize=normalize)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.autocast("cuda", dtype=torch.bfloat16):
        found, truth = augment(images, labels, normalize=normalize)
    graph.replay()
    first = found.clone()
    graph.replay()
    assert truth.tolist() == [*range(32), *[NONE] * 16]
    assert int(changed(images, first).sum()) == int(changed(images, found).sum()) == 24
    assert not torch.equal(changed(images, first), changed(images, found)), "other images each time"
    assert not torch.equal(first[32:], found[32:])


@gpu
@pytest.mark.parametrize(
    "kind",
    [*TRAINING_MIXTURES, *(kind for kinds in DEGRADATION_SETS + OUTLIER_SETS for kind in kinds)],
    ids=lambda kind: kind.__name__,
)
def test_no_kind_synchronises_the_device(kind, without_waiting):
    images, generator = images_of().to("cuda"), torch.Generator("cuda")
    kind(images, generator)
    with without_waiting():
        kind(images, None)
        kind(images, generator)


@gpu
def test_a_generator_on_the_host_is_refused_for_images_on_a_device():
    images = images_of().to("cuda")
    with pytest.raises(ValueError, match="generator must be on the device of the images, cuda:0, got cpu"):
        augment(images, torch.arange(16, device="cuda"), generator=torch.Generator())
    seeded = [augment(images, torch.arange(16), generator=torch.Generator("cuda").manual_seed(2))[0] for _ in range(2)]
    assert torch.equal(*seeded)
