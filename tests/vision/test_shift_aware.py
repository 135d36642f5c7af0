"""`Classifier.fit` on images: confidence under shift, NONE without NONE images, and the options for images."""

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from slova_bench.shifts import DIGITS, corrupt
from torch import nn

from slova import NONE, Classifier, Scorer
from slova._warnings import CalibrationWarning
from slova.metrics import auroc, ece
from slova.vision.features import find_layers
from slova.vision.shift_aware import DEGRADED_NONE_WEIGHT, DEGRADED_WEIGHT


def shifted(images):
    """Under all shifts of the digits, at three severities."""
    pixels = (255 * images).round().to(torch.uint8)
    sets = [corrupt(pixels, name, severity, family=DIGITS) for name in DIGITS.names for severity in (1, 3, 5)]
    return [torch.as_tensor(changed).float() / 255 for changed in sets]


def given_a_class(classifier, images):
    probs = classifier.predict_proba(images)[:, :-1]
    return probs / probs.sum(1, keepdim=True)


def test_a_fit_on_images_says_that_it_is_distance_aware_and_of_what(aware, unaware):
    report = aware.scorer.report
    assert repr(aware).startswith("Classifier(10 classes, one-vs-all, posterior calibration on 500 rows, ECE ")
    assert repr(aware).endswith("NONE calibrated, distance-aware)")
    assert "distance-aware" not in repr(unaware)
    assert (report.rows, report.none_rows, report.degraded_rows, report.synthetic_rows) == (500, 0, 500, 500)
    assert report.layers == aware.passes.layers == ("1", "4")
    assert "distances in 1, 4, with 500 degraded and 500 synthetic NONE rows" in str(report)
    assert aware.scorer.calibrator.none_share == 0.05


def test_unknown_images_are_none_and_known_ones_are_not(aware, unaware, digits):
    noise = torch.rand(400, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    known, unknown = aware.predict(digits.test[0]).none, aware.predict(noise).none
    assert known.mean() < 0.05
    assert unknown.mean() > 0.6
    before = auroc(1 - unaware.predict(digits.test[0]).none, 1 - unaware.predict(noise).none)
    assert auroc(1 - known, 1 - unknown) > max(before, 0.99)


def test_under_shift_the_error_of_calibration_is_smaller(aware, unaware, digits):
    images, labels = digits.test
    sets = shifted(images)
    found = [[ece(given_a_class(one, changed), labels) for changed in sets] for one in (aware, unaware)]
    assert np.median(found[0]) < 0.8 * np.median(found[1])
    assert np.quantile(found[0], 0.75) < np.quantile(found[1], 0.75)
    assert aware.evaluate(images, labels).ece.value < 0.03


def test_guarantees_are_about_the_clean_validation_images(aware, digits):
    images, labels = digits.test
    assert aware.scorer.validation.count.sum() == len(aware.scorer.conformity.scores) == 500
    reject = aware.threshold(risk=0.03)
    label = aware.predict(images, reject=reject).label
    assert (label != labels)[label != NONE].float().mean() <= 0.03
    assert (label != NONE).float().mean() > 0.7
    for given in ({}, {"calibration_inputs": images[:300], "calibration_labels": labels[:300]}):
        sets = aware.predict_set(images[300:], coverage=0.9, **given)
        assert sets[torch.arange(len(sets)), labels[300:]].float().mean() > 0.85
    assert aware.threshold(images, labels, risk=0.03) < 1


class Counting(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network, self.rows = network, []

    def forward(self, images):
        self.rows.append(len(images))
        return self.network(images)


def test_a_fit_takes_three_passes_and_a_prediction_one(digits):
    network = Counting(digits.network)
    classifier = Classifier.fit(network, *digits.validation, batch_size=100)
    looked_at = [rows for rows in network.rows if rows <= 2]  # to find the layers
    assert sum(network.rows) - sum(looked_at) == 3 * 500
    assert network.rows[len(looked_at) :] == [100] * 15
    assert sum(looked_at) <= 4
    network.rows.clear()
    classifier.predict(digits.test[0], batch_size=1000)
    assert network.rows == [len(digits.test[0])]


def test_all_ways_to_ask_give_the_same_numbers(aware, digits):
    images, labels = digits.test
    probs, answer = aware.predict_proba(images, batch_size=100), aware.predict(images)
    assert torch.allclose(probs.sum(1), torch.ones(len(images)))
    assert torch.allclose(probs[:, -1], answer.none, atol=1e-5)
    readout = aware(images.clone().requires_grad_())
    assert torch.allclose(readout.log_none.exp(), answer.none, atol=1e-5)
    assert readout.log_probs.grad_fn is not None
    found = aware.evaluate(images, labels)
    assert found.accuracy.value == pytest.approx(float((answer.label == labels).float().mean()))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda part: aware.predict(part).none, images.split(100)))
    assert torch.allclose(torch.cat(parts), answer.none, atol=1e-6)


def test_half_precision_changes_little(aware, digits):
    half = copy.deepcopy(aware).bfloat16()
    assert half.passes.whiten0.dtype == torch.float32
    images = digits.test[0][:100]
    assert (half.predict(images).none - aware.predict(images).none).abs().mean() < 0.02


def test_a_softmax_network_learns_none_from_synthetic_images(softmax_digits):
    classifier = Classifier.fit(softmax_digits.network, *softmax_digits.validation)
    assert "softmax" in repr(classifier)
    assert classifier.scorer.none == "calibrated"
    noise = torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    assert classifier.predict(noise).none.mean() > 0.6
    assert classifier.predict(softmax_digits.test[0]).none.mean() < 0.05


def test_normalised_images_are_the_same_with_normalize_and_one_warning_without(digits):
    images, labels = digits.validation
    mean, std = 0.3, 0.4
    scaled = copy.deepcopy(digits.network)
    inside = nn.Sequential(Scale(mean, std), scaled)
    plain = Classifier.fit(inside, images, labels, layers=["1.1", "1.4"])
    normalised = Classifier.fit(scaled, (images - mean) / std, labels, normalize=(mean, std))
    some = digits.test[0][:100]
    assert normalised.scorer.report.degraded_rows == normalised.scorer.report.synthetic_rows == 500
    assert torch.allclose(plain.predict_proba(some), normalised.predict_proba((some - mean) / std), atol=1e-3)
    with pytest.warns(CalibrationWarning, match=r"from -0.75 to 1.75; give normalize=\(mean, std\)") as given:
        off = Classifier.fit(scaled, (images - mean) / std, labels, batch_size=100)
    assert len(given) == 1
    assert given[0].filename == __file__
    assert off.passes is None
    assert repr(off).endswith("not distance-aware (images outside [0, 1]))")


def test_images_that_are_not_floats_are_warned_of(digits):
    """A network that divides by 255 itself takes them, but nothing is known of their range."""
    images, labels = digits.validation
    network = nn.Sequential(Scale(0, 255), copy.deepcopy(digits.network))
    with pytest.warns(CalibrationWarning, match=r"images must be floats in \[0, 1\], got torch.uint8; divide them by"):
        found = Classifier.fit(network, (255 * images).byte(), labels)
    assert repr(found).endswith("not distance-aware (images are not floats))")


class Scale(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, images):
        return (images - self.mean) / self.std


def test_values_outside_are_found_in_a_late_batch(digits):
    images, labels = digits.validation
    late = torch.cat([images[:400], 3 * images[400:]])
    with pytest.warns(CalibrationWarning, match="to 3; give normalize"):
        found = Classifier.fit(digits.network, late, labels, batch_size=100)
    assert found.passes is None
    assert found.scorer.report.degraded_rows == 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(12), nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 12))

    def forward(self, tokens):
        return (tokens + self.linear(self.norm(tokens)),)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.patch, self.blocks = nn.Conv2d(1, 12, 2, 2), nn.ModuleList(Block() for _ in range(5))
        self.norm, self.head = nn.LayerNorm(12), nn.Linear(12, 10)

    def forward(self, pixel_values):
        tokens = self.patch(pixel_values).flatten(2).mT
        for block in self.blocks:
            tokens = block(tokens)[0]
        return {"logits": self.head(self.norm(tokens).mean(1))}


def test_three_blocks_of_a_transformer_are_found(digits):
    network = Transformer().eval()
    assert find_layers(network, digits.test[0][:2]) == ("blocks.1", "blocks.3", "blocks.4")
    images, labels = digits.validation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # it is not trained
        found = Classifier.fit(network, {"pixel_values": images, "labels": labels})
    assert found.scorer.distances == 3
    assert found.scorer.report.synthetic_rows == 500
    assert len(found.predict({"pixel_values": images[:10]})) == 10


def test_a_network_without_channels_is_not_distance_aware_and_says_so(digits):
    images, labels = digits.validation
    network = nn.Sequential(nn.Flatten(), digits.network[-1].__class__(64, 10)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # it is not trained
        found = Classifier.fit(network, images, labels)
    assert repr(found).endswith("not distance-aware (no layer with channels))")
    assert str(found.scorer.report).endswith("not distance-aware (no layer with channels)")
    with pytest.raises(ValueError, match=r"not possible: the network has no layer with outputs \(N, C, H, W\)"):
        Classifier.fit(network, images, labels, shift_aware=True)


def test_tables_may_name_a_layer_and_have_degraded_rows_if_they_say_how(digits):
    (images, labels), tail = digits.validation, digits.network[-1]
    with torch.no_grad():
        features = digits.network[:-1](images)
        far = digits.network[:-1](torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(0)))
    network = nn.Sequential(nn.Identity(), tail).eval()
    assert Classifier.fit(network, features, labels).passes is None
    plain = Classifier.fit(network, features, labels, layers="0")
    assert (plain.scorer.distances, plain.scorer.report.degraded_rows, plain.scorer.none) == (1, 0, "evidence")
    given = Classifier.fit(
        network, features, labels, layers="0", none_inputs=far, degrade=lambda rows, seed: 1.05 * rows
    )
    assert (given.scorer.report.degraded_rows, given.scorer.report.none_rows) == (500, 200)
    assert given.predict(far).none.mean() > 0.6
    assert given.predict(features).none.mean() < 0.05


@pytest.mark.parametrize(("views", "change", "passes"), [("flip", lambda x: x.flip(-1), 2), ("turns", torch.rot90, 4)])
def test_views_are_averaged(digits, views, change, passes):
    network = Counting(digits.network)
    found = Classifier.fit(network, *digits.validation, views=views, shift_aware=False)
    assert sum(network.rows) == passes * 500
    images = digits.test[0][:50]
    turned = change(images) if passes == 2 else change(images, 1, (2, 3))
    assert torch.allclose(found.predict(images).confidence, found.predict(turned).confidence, atol=1e-5)
    both = Classifier.fit(digits.network, *digits.validation, views=views)
    alone = both.passes(digits.network, ((images,), {}), lambda batch: digits.network(*batch[0]))[1]
    both.passes.views = None
    assert torch.equal(alone, both.passes(digits.network, ((images,), {}), lambda batch: digits.network(*batch[0]))[1])


def test_none_rows_that_are_given_take_the_place_of_synthetic_ones(digits):
    images, labels = digits.validation
    noise = torch.rand(100, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    given = Classifier.fit(digits.network, images, labels, none_inputs=noise).scorer
    assert (given.report.synthetic_rows, given.report.none_rows, given.report.degraded_rows) == (0, 100, 500)
    assert given.calibrator.none_share == 0.05
    assert given.validation.count.sum() == 500
    rows, column = torch.cat([images, noise]), torch.cat([labels, torch.full((100,), NONE)])
    labelled = Classifier.fit(digits.network, rows, column).scorer
    assert (labelled.report.synthetic_rows, labelled.report.none_rows, labelled.report.rows) == (0, 100, 600)
    assert labelled.calibrator.none_share == pytest.approx(1 / 6)
    assert labelled.validation.count.sum() == 600


def test_the_seed_decides_the_versions(digits):
    images, labels = digits.validation[0][:200], digits.validation[1][:200]
    one, same, other = (
        Classifier.fit(digits.network, images, labels, seed=seed).scorer.calibrator.none for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()


def test_degraded_rows_weigh_less_than_clean_ones(digits, monkeypatch):
    seen = {}

    def fit(*args, **options):
        seen.update(options)
        return plain(*args, **options)

    plain = Scorer.fit
    monkeypatch.setattr("slova._classifier_fit.Scorer.fit", fit)
    Classifier.fit(digits.network, *digits.validation)
    weight, versions = seen["weight"], seen["versions_of"]
    assert set(weight[:500]) == {1.0}
    assert set(weight[500:1000]) == {DEGRADED_WEIGHT}
    assert set(seen["none_weight"][500:1000]) == {DEGRADED_NONE_WEIGHT}
    assert (versions == np.tile(np.arange(500), 3)).all()
    assert (seen["labels"][1000:] == NONE).all()


IMAGES = torch.rand(40, 1, 8, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": "mirror"}, "views must be None, 'flip' or 'turns', got 'mirror'"),
        ({"layers": ["7"], "shift_aware": False}, "must be None with shift_aware=False"),
        ({"layers": ["nine"]}, "the network has no layer 'nine'; its layers are 0, 1, 2"),
        ({"normalize": (0.5,)}, r"normalize must be \(mean, std\), got 1 parts"),
        ({"normalize": ((0.1, 0.2), 1.0)}, "one number per channel, got 2 for 1 channels"),
        ({"normalize": (0.5, 9.0)}, "when `normalize` is undone"),
        ({"calibration": "temperature", "shift_aware": True}, "distances need calibration='posterior'"),
        ({"calibration": "temperature", "layers": "2"}, "distances need calibration='posterior'"),
    ],
)
def test_options_that_cannot_be_are_errors(digits, options, message):
    with pytest.raises(ValueError, match=message):
        Classifier.fit(digits.network, IMAGES, torch.arange(40) % 10, **options)


def test_logits_that_are_nan_are_counted_in_the_rows_that_were_given(digits):
    broken = copy.deepcopy(digits.network)
    nn.init.constant_(broken[-1].bias, torch.nan)
    with pytest.raises(ValueError, match=r"^logits must not be NaN, got NaN in 500 of 500 rows$"):
        Classifier.fit(broken, *digits.validation)
    given = torch.rand(20, 1, 8, 8) * torch.tensor([1.0, torch.nan]).repeat(10).view(20, 1, 1, 1)
    with pytest.raises(ValueError, match=r"^logits of none_inputs must not be NaN, got NaN in 10 of 20 rows$"):
        Classifier.fit(digits.network, *digits.validation, none_inputs=given)


def test_to_ask_for_it_where_it_cannot_be_is_an_error(digits, aware):
    tail = nn.Sequential(digits.network[-1])
    with pytest.raises(ValueError, match="shift_aware=True needs images"):
        Classifier.fit(tail, torch.rand(40, 96), torch.arange(40) % 10, shift_aware=True)
    with pytest.raises(ValueError, match=r"images must lie in \[0, 1\], got values from"):
        Classifier.fit(digits.network, 2 * IMAGES, torch.arange(40) % 10, shift_aware=True)
    with pytest.raises(ValueError, match="views must be None where the inputs are not images"):
        Classifier.fit(tail, torch.rand(40, 96), torch.arange(40) % 10, views="flip")
    with pytest.raises(ValueError, match="the scorer takes 2 distances: give passes="):
        Classifier(digits.network, aware.scorer)
