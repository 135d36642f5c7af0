"""One-vs-all losses are what the heads say, with the gradients of the sigmoid, in every reduction."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from slova import Classifier
from slova.heads import NONE, log_none, log_slova
from slova.losses import init_bias, multilabel_loss, ova_loss, prepare

REDUCTIONS = ["mean", "sum", "none"]


def batch(*shape, classes=6, seed=0, dtype=torch.float64, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(*shape, classes, generator=generator, dtype=dtype)
    return logits, torch.randint(NONE, classes, shape, generator=generator)


def targets_of(labels, classes):
    return one_hot(labels + 1, classes + 1)[..., 1:].double()


def test_the_loss_is_minus_the_log_of_slova_at_the_label_and_of_none_for_none():
    logits, labels = batch(500)
    own = log_slova(logits).gather(-1, labels.clamp(min=0)[:, None])[:, 0]
    wanted = torch.where(labels == NONE, log_none(logits), own)
    torch.testing.assert_close(ova_loss(logits, labels, reduction="none"), -wanted, rtol=1e-13, atol=0)


@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (0,)])
def test_the_loss_takes_any_batch_shape(shape):
    logits, labels = batch(*shape)
    losses = ova_loss(logits, labels, reduction="none")
    assert losses.shape == shape
    assert ova_loss(logits, labels, reduction="sum") == pytest.approx(float(losses.sum()))


def test_the_mean_is_k_times_the_mean_binary_cross_entropy():
    logits, labels = batch(64)
    mean = binary_cross_entropy_with_logits(logits, targets_of(labels, 6))
    assert float(ova_loss(logits, labels)) == pytest.approx(6 * float(mean), rel=1e-13)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_multilabel_loss_of_one_label_or_none_is_the_ova_loss(reduction):
    logits, labels = batch(64)
    weight = torch.rand(64, dtype=torch.float64)
    for w in (None, weight):
        left = ova_loss(logits, labels, weight=w, reduction=reduction)
        right = multilabel_loss(logits, targets_of(labels, 6), weight=w, reduction=reduction)
        torch.testing.assert_close(left, right, rtol=1e-13, atol=1e-15)


def test_the_mean_of_losses_near_the_float32_maximum_does_not_overflow():
    logits, labels = torch.full((5, 2), -2e38), torch.tensor([0, 1, 0, 1, NONE])
    assert float(ova_loss(logits, labels)) == pytest.approx(1.6e38)
    weight = torch.tensor([3.0, 3.0, 3.0, 3.0, 12.0])
    assert float(ova_loss(logits, labels, weight=weight)) == pytest.approx(1e38)
    assert float(multilabel_loss(-logits, torch.eye(2)[labels])) == pytest.approx(2e38)
    assert ova_loss(logits, labels, reduction="sum").isinf()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_mean_is_that_of_torch_to_the_last_digit(dtype):
    logits, labels = batch(64, dtype=dtype)
    assert ova_loss(logits, labels) == ova_loss(logits, labels, reduction="none").mean()


def test_soft_targets_mix_the_losses_of_hard_ones():
    logits, _ = batch(10)
    ones, zeros = (multilabel_loss(logits, torch.full_like(logits, value), reduction="none") for value in (1.0, 0.0))
    mixed = multilabel_loss(logits, torch.full_like(logits, 0.3), reduction="none")
    torch.testing.assert_close(mixed, 0.3 * ones + 0.7 * zeros)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_whole_weights_repeat_rows(reduction):
    logits, labels = batch(20)
    weight = torch.arange(20) % 4
    repeated = ova_loss(logits.repeat_interleave(weight, 0), labels.repeat_interleave(weight), reduction=reduction)
    torch.testing.assert_close(ova_loss(logits, labels, weight=weight, reduction=reduction), repeated)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("level", [0.0, 1.0, 20.0, 100.0, 1e4])
def test_the_gradient_is_sigmoid_minus_target_at_any_logit(level, dtype):
    signs = torch.tensor([[1, -1, 1], [-1, 1, 1], [-1, -1, -1]], dtype=dtype)
    logits, labels = (level * signs).requires_grad_(), torch.tensor([0, 2, NONE])
    ova_loss(logits, labels, reduction="sum").backward()
    wanted = logits.detach().sigmoid() - targets_of(labels, 3).to(dtype)
    torch.testing.assert_close(logits.grad, wanted, rtol=4 * torch.finfo(dtype).eps, atol=torch.finfo(dtype).eps)


def test_the_derivatives_are_right():
    logits, labels = batch(4, classes=3)
    logits[0] = 0.0
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda f: ova_loss(f, labels), logits)
    assert torch.autograd.gradcheck(lambda f: multilabel_loss(f, targets_of(labels, 3)), logits)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_gives_a_float32_loss_under_autocast_too(dtype):
    logits, labels = batch(32, dtype=torch.float32, classes=2000)
    half = logits.to(dtype)
    wanted = ova_loss(half.double(), labels)
    for autocast in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            found = ova_loss(half, labels)
            also = multilabel_loss(half, targets_of(labels, 2000).to(dtype))
        assert found.dtype == also.dtype == torch.float32
        assert float(found) == pytest.approx(float(wanted), rel=1e-6)
        assert float(also) == pytest.approx(float(wanted), rel=1e-6)


def test_the_loss_compiles_to_one_graph():
    logits, labels = batch(8)
    torch._dynamo.reset()
    compiled = torch.compile(ova_loss, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(logits, labels), ova_loss(logits, labels))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_labels_can_be_any_integers(dtype):
    logits, labels = batch(30)
    labels = labels.clamp(min=0)
    assert torch.equal(ova_loss(logits, labels.to(dtype)), ova_loss(logits, labels))


@pytest.mark.parametrize("classes", [1, 2, 10, 1000])
def test_training_starts_from_an_even_chance_among_the_classes(classes):
    layer = init_bias(nn.Linear(4, classes))
    wanted = 0.5 if classes == 1 else 1 / classes
    np.testing.assert_allclose(layer.bias.sigmoid().detach(), wanted, rtol=1e-5)
    assert layer.bias.requires_grad
    loss = ova_loss(layer(torch.zeros(1, 4)), torch.tensor([0])).item()
    assert loss < 2 + math.log(classes)  # and not K log 2


@pytest.mark.parametrize("value", [-1.0, 1.5, 255.0, math.nan])
def test_targets_outside_0_and_1_are_refused(value):
    targets = torch.zeros(4, 3)
    targets[2, 1] = value
    with pytest.raises(ValueError, match=r"targets must lie in \[0, 1\], got values from"):
        multilabel_loss(torch.zeros(4, 3), targets)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16])
def test_targets_can_be_of_any_type_and_none_at_all(dtype):
    logits, labels = batch(30)
    targets = targets_of(labels, 6)
    assert torch.equal(multilabel_loss(logits, targets.to(dtype)), multilabel_loss(logits, targets))
    assert multilabel_loss(logits[:0], targets[:0].to(dtype), reduction="sum") == 0


def test_the_multilabel_loss_compiles_to_one_graph():
    logits, labels = batch(8)
    torch._dynamo.reset()
    compiled = torch.compile(multilabel_loss, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(logits, targets_of(labels, 6)), multilabel_loss(logits, targets_of(labels, 6)))


@pytest.mark.parametrize(
    ("logits", "name"),
    [(np.zeros((4, 3), "float32"), "numpy.ndarray"), ([[0.0]], "list"), (torch.zeros(4, 3).int(), "torch.int32")],
)
def test_logits_that_are_no_tensor_are_called_by_their_type(logits, name):
    with pytest.raises(TypeError, match=f"logits must be a floating point tensor, got {name}$"):
        ova_loss(logits, torch.zeros(4, dtype=torch.long))


# weights of classes, smoothed labels, ignored rows


def naive(logits, labels, class_weight, smoothing, ignore_index, reduction):
    """Binary cross-entropy of soft targets, row by row."""
    losses, weights = [], []
    for row, label in zip(logits, labels.tolist(), strict=True):
        target = torch.zeros_like(row)
        if label >= 0:
            target = (1 - smoothing) * one_hot(torch.tensor(label), len(row)).to(row) + smoothing / len(row)
        p = row.sigmoid()
        loss = -(target * p.log() + (1 - target) * (1 - p).log()).sum()
        weight = 1.0 if label == NONE else float(label != ignore_index) and float(class_weight[label])
        losses.append(torch.zeros(()).to(row) if label == ignore_index else weight * loss)
        weights.append(weight)
    total = torch.stack(losses)
    return total if reduction == "none" else total.sum() / (sum(weights) if reduction == "mean" else 1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("ignore_index", [-100, 2])
def test_class_weights_smoothing_and_ignored_rows_are_those_of_the_naive_formula(reduction, ignore_index):
    logits, labels = batch(40)
    labels = torch.where(torch.arange(40) % 7 == 0, ignore_index, labels)
    class_weight = torch.arange(1.0, 7.0, dtype=torch.float64)
    expected = naive(logits, labels, class_weight, 0.1, ignore_index, reduction)
    options = {"class_weight": class_weight, "label_smoothing": 0.1, "ignore_index": ignore_index}
    torch.testing.assert_close(ova_loss(logits, labels, reduction=reduction, **options), expected)


def test_weights_of_rows_and_classes_multiply():
    logits, labels = batch(40)
    rows, classes = torch.rand(40, dtype=torch.float64), torch.rand(6, dtype=torch.float64)
    both = rows * torch.where(labels == NONE, 1.0, classes[labels.clamp(min=0)])
    found = ova_loss(logits, labels, weight=rows, class_weight=classes)
    torch.testing.assert_close(found, ova_loss(logits, labels, weight=both))


def test_smoothing_is_the_multilabel_loss_of_smoothed_targets():
    logits, labels = batch(40)
    targets = torch.where(labels[:, None] == NONE, 0.0, 0.8 * targets_of(labels, 6) + 0.2 / 6)
    torch.testing.assert_close(ova_loss(logits, labels, label_smoothing=0.2), multilabel_loss(logits, targets))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_is_added_for_the_rows_that_have_a_class(smoothing):
    logits, labels = batch(40)
    known = labels != NONE
    options = {"label_smoothing": smoothing, "reduction": "none"}
    expected = ova_loss(logits, labels, **options)
    expected[known] += 1.5 * torch.nn.functional.cross_entropy(logits[known], labels[known], **options)
    assert known.any()
    assert not known.all()
    torch.testing.assert_close(ova_loss(logits, labels, cross_entropy=1.5, **options), expected)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_a_weight_of_cross_entropy_that_is_no_weight_is_refused(value):
    with pytest.raises(ValueError, match="cross_entropy must be finite and not negative"):
        ova_loss(*batch(4), cross_entropy=value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
def test_an_ignored_row_has_no_gradient_whatever_its_logits(value):
    logits, labels = batch(5)
    logits[2] = value
    labels[2] = -100
    logits.requires_grad_()
    ova_loss(logits, labels, ignore_index=-100, label_smoothing=0.1).backward()
    assert (logits.grad[2] == 0).all()
    assert logits.grad.isfinite().all()


def test_all_options_pass_a_gradient_check():
    logits, labels = batch(6)
    labels[0] = -100
    options = {"label_smoothing": 0.1, "ignore_index": -100, "class_weight": torch.rand(6, dtype=torch.float64)}
    loss = lambda values: ova_loss(values, labels, **options)
    assert torch.autograd.gradcheck(loss, logits.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_options_take_half_precision(dtype):
    logits, labels = batch(20, dtype=torch.float32)
    logits, options = logits.to(dtype), {"label_smoothing": 0.1, "ignore_index": 3, "class_weight": torch.rand(6)}
    found = ova_loss(logits, labels, **options)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, ova_loss(logits.float(), labels, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_smoothing": 1.5}, r"label_smoothing must lie in \[0, 1\], got 1.5"),
        ({"ignore_index": NONE}, "ignore_index must not be -1, which is NONE"),
        ({"class_weight": torch.ones(5)}, r"class_weight must have one number per class of 6, got shape \(5,\)"),
        ({"class_weight": torch.ones(6, 1)}, r"class_weight must have one number per class of 6, got shape \(6, 1\)"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    logits, labels = batch(40)
    with pytest.raises(ValueError, match=message):
        ova_loss(logits, labels, **options)
    with pytest.raises(ValueError, match="labels must lie in"):
        ova_loss(logits, torch.full((40,), -100))


# the last layer


def test_prepare_sets_the_bias_of_the_last_layer_and_no_other():
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 10, 1), nn.Flatten())
    before = network[0].bias.clone()
    assert prepare(network) is network
    torch.testing.assert_close(network[2].bias.sigmoid(), torch.full((10,), 0.1))
    assert torch.equal(network[0].bias, before)


def test_a_prepared_network_states_its_head_whatever_its_logits_look_like():
    network = prepare(nn.Linear(5, 5))
    assert "slova_head" not in network.state_dict()
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.randn(500, 5, generator=generator), torch.arange(500) % 5
    images[torch.arange(500), labels] += 3
    with torch.no_grad():
        network.weight.copy_(2 * torch.eye(5))
        network.bias.fill_(3.0)
    heads = [
        Classifier.fit(one, images, labels, **options).scorer.head.name
        for one, options in ((copy.deepcopy(network), {}), (network, {"head": "softmax"}))
    ]
    del network.slova_head
    assert [*heads, Classifier.fit(network, images, labels).scorer.head.name] == ["slova", "softmax", "softmax"]


def test_prepare_finds_the_layer_with_the_number_of_classes():
    network = nn.ModuleDict({"head": nn.Linear(4, 10), "body": nn.Linear(8, 4)})
    prepare(network, classes=10)
    torch.testing.assert_close(network["head"].bias.sigmoid(), torch.full((10,), 0.1))


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (nn.ReLU(), {}, r"ReLU has no linear or convolutional layer \(it has: none\)"),
        (nn.Sequential(nn.Linear(3, 4)), {"classes": 5}, r"layer with 5 outputs \(it has: 0 \(4\)\); call init_bias"),
        (nn.Linear(3, 4, bias=False), {}, "has no bias to set"),
        (nn.LazyLinear(4), {}, "pass a batch through the network first"),
    ],
)
def test_prepare_says_what_it_cannot_find(network, options, message):
    with pytest.raises(ValueError, match=message):
        prepare(network, **options)


def test_a_prepared_network_starts_from_a_smaller_loss():
    torch.manual_seed(0)
    images, labels = torch.randn(200, 20), torch.arange(200) % 10
    losses = []
    for start in (lambda network: network, prepare):
        torch.manual_seed(0)
        network = start(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 10)))
        losses.append(float(ova_loss(network(images), labels).detach()))
    assert losses[1] < 0.6 * losses[0]
