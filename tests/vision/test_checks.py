"""What `augment` refuses: options, images and labels of other types, shapes and values, each with a sentence."""

import math
import re

import numpy as np
import pytest
import torch

from slova.vision import TRAINING_DEGRADATIONS, TRAINING_OUTLIERS, augment


def images_of(count=16, shape=(3, 16, 16), seed=0):
    return torch.rand(count, *shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degraded": float("nan")}, "degraded must be a share in"),
        ({"degraded": 1.5}, "degraded must be a share in"),
        ({"degraded": -0.1}, "degraded must be a share in"),
        ({"mixed": 1.5}, "mixed must be a share in"),
        ({"mixed": 0.8}, r"degraded \+ mixed must be at most 1, got 0.25 and 0.8; mixed=0 mixes no images"),
        ({"outliers": float("nan")}, "outliers must be finite and not negative"),
        ({"outliers": float("inf")}, "outliers must be finite and not negative"),
        ({"outliers": -1.0}, "outliers must be finite and not negative"),
        ({"normalize": (0.0, 1.0, 2.0)}, r"normalize must be \(mean, std\)"),
        ({"normalize": ((0.5, 0.5), (0.5, 0.5))}, r"one value per channel \(3\), got 2"),
        ({"normalize": (0.5, 0.0)}, "standard deviations of normalize must be positive"),
        ({"normalize": (5.0, 1.0)}, "normalize must be what they were normalised by"),
        ({"normalize": (100.0, 200.0)}, "to 300: normalize must be .* by, and images of 0 to 255 be divided by 255"),
        ({"degradations": [lambda images, _: images[:1]]}, "as many images as it gets, of the same shape"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        augment(images_of(), torch.arange(16), **options)


def test_a_generator_must_be_one_on_the_device_of_the_images():
    with pytest.raises(TypeError, match=r"generator must be a torch.Generator, got int"):
        augment(images_of(), torch.arange(16), generator=3)
    with pytest.raises(ValueError, match="generator must be on the device of the images, meta, got cpu"):
        augment(images_of().to("meta"), torch.arange(16), generator=torch.Generator())


def test_wrong_batches_are_refused():
    with pytest.raises(ValueError, match=r"images must be floats .* got torch.uint8"):
        augment(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), torch.arange(4))
    with pytest.raises(ValueError, match=r"got torch.float32 \(3, 8, 8\)"):
        augment(torch.zeros(3, 8, 8), torch.arange(3))
    with pytest.raises(ValueError, match=r"labels \(3,\) do not match images \(4, 3, 8, 8\)"):
        augment(images_of(4, (3, 8, 8)), torch.arange(3))
    with pytest.raises(TypeError, match="labels must have a dtype that can hold NONE"):
        augment(images_of(4), torch.zeros(4, dtype=torch.uint8))
    with pytest.raises(ValueError, match=r"values from .* to .*: pass normalize=\(mean, std\)"):
        augment(images_of(4) * 3 - 1, torch.arange(4))


KINDS = "must be a list of functions of images and a generator, got "


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degraded": "0.25"}, "degraded must be a number, got '0.25'"),
        ({"degraded": True}, "degraded must be a number, got True"),
        ({"mixed": None}, "mixed must be a number, got None"),
        ({"outliers": None}, "outliers must be a number, got None"),
        ({"outliers": [0.5]}, "outliers must be a number, got a value of type list"),
        ({"degradations": "warp"}, f"degradations {KINDS}'warp'"),
        ({"degradations": ["warp"]}, f"degradations {KINDS}'warp' in it"),
        ({"mixtures": [None]}, f"mixtures {KINDS}None in it"),
        ({"outlier_kinds": [torch.zeros(3)]}, f"outlier_kinds {KINDS}a value of type Tensor in it"),
        ({"outlier_kinds": 3}, f"outlier_kinds {KINDS}a value of type int"),
        ({"outlier_kinds": TRAINING_OUTLIERS[0]}, f"outlier_kinds {KINDS}the function low_pass: put it in a list"),
    ],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        augment(images_of(), torch.arange(16), **options)


def test_shares_may_be_numbers_of_numpy():
    found, _ = augment(images_of(8), torch.arange(8), degraded=np.float32(0.25), outliers=np.int64(1))
    assert len(found) == 16


ONE_HOT = ": one-hot and soft labels are not possible, use labels.argmax(1)"
TENSOR = "must be a torch.Tensor, got"
INTEGERS = "labels must be integers (N,), got torch.float32"
DIVIDE = "divide images of 0 to 255 by 255"
ONE_IS_NAN = images_of(4) * torch.tensor([1, torch.nan, 1, 1]).view(4, 1, 1, 1)
BYTES = torch.zeros(4, 3, 8, 8, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("images", "labels", "error", "message"),
    [
        (np.zeros((4, 3, 8, 8)), None, TypeError, f"images {TENSOR} a NumPy array: use torch.from_numpy(images)"),
        ([torch.zeros(3, 8, 8)], None, TypeError, f"images {TENSOR} list: use torch.stack(images)"),
        (None, None, TypeError, f"images {TENSOR} NoneType"),
        (images_of(4), np.arange(4), TypeError, f"labels {TENSOR} a NumPy array: use torch.from_numpy(labels)"),
        (images_of(4), [0, 1, 2, 3], TypeError, f"labels {TENSOR} list: use torch.tensor(labels)"),
        (images_of(4), None, TypeError, f"labels {TENSOR} NoneType"),
        (images_of(4), torch.rand(4), TypeError, f"{INTEGERS} (4,): use labels.long()"),
        (images_of(4), torch.rand(4, 10), TypeError, f"{INTEGERS} (4, 10){ONE_HOT}"),
        (images_of(4), torch.eye(4).long(), ValueError, f"labels (4, 4) do not match images (4, 3, 16, 16){ONE_HOT}"),
        (images_of(4) * 255, None, ValueError, f"to 255: {DIVIDE}"),
        (images_of(4).half() * 255, None, ValueError, f"to 255: {DIVIDE}"),
        (BYTES, None, ValueError, f"(4, 3, 8, 8): {DIVIDE}"),
        (images_of(4) * 1.5, None, ValueError, "pass normalize=(mean, std)"),
        ((images_of(4) - 0.5) * 8, None, ValueError, "pass normalize=(mean, std)"),
        (ONE_IS_NAN, None, ValueError, "images must not be NaN, got NaN in 1 of 4 images"),
        (images_of(4) * math.inf, None, ValueError, f"to inf: {DIVIDE}"),
    ],
)  # fmt: skip
def test_images_and_labels_of_other_kinds_are_refused(images, labels, error, message):
    given = torch.arange(4) if labels is None and isinstance(images, torch.Tensor) and error is ValueError else labels
    with pytest.raises(error, match=f"{re.escape(message)}$"):
        augment(images, given)


def test_a_compiled_step_checks_types_and_reads_no_values():
    compiled = torch.compile(augment, backend="eager", fullgraph=True)
    options = {"degradations": TRAINING_DEGRADATIONS[:1], "mixtures": [], "outlier_kinds": TRAINING_OUTLIERS[:1]}
    assert len(compiled(images_of(4) * 255, torch.arange(4), **options)[0]) == 6
