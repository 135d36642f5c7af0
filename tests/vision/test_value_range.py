"""Images whose values are not in the range of the fit: a warning, once, and none for ordinary images."""

import copy

import pytest
import torch

from slova import Classifier, artifact
from slova._warnings import CalibrationWarning
from slova.vision.shift_aware import ShiftOptions
from slova.vision.versions import VersionReader

MESSAGE = r"^the images have values from {} to {}, those of the fit were in \[{}, {}\]: preprocess them as for the fit$"
OTHERS = [
    (lambda images: images * 255, 0, 255),
    (lambda images: (images - 0.25) / 0.25, -1, 3),
    (lambda images: 2 * images - 1, -1, 1),
]


@pytest.fixture
def fitted(aware):
    """One that has not warned."""
    return copy.deepcopy(aware)


@pytest.mark.parametrize(("change", "low", "high"), OTHERS)
def test_images_of_another_range_are_warned_of_once(digits, fitted, change, low, high):
    images, labels = change(digits.test[0]), digits.test[1]
    with pytest.warns(CalibrationWarning, match=MESSAGE.format(low, high, 0, 1)) as caught:
        fitted.predict(images, batch_size=100)
    assert [warning.filename for warning in caught] == [__file__]
    fitted.predict(images)  # warnings are errors here
    fitted.evaluate(images, labels)


def test_every_way_to_ask_warns(digits, aware):
    images, labels = digits.test[0] * 255, digits.test[1]
    asks = [
        lambda one: one.predict_proba(images),
        lambda one: one.evaluate(images, labels),
        lambda one: one.threshold(images, labels, risk=0.9),
    ]
    for ask in asks:
        with pytest.warns(CalibrationWarning, match="preprocess them as for the fit") as caught:
            ask(copy.deepcopy(aware))
        assert [warning.filename for warning in caught] == [__file__]


def test_ordinary_images_are_not_warned_of(digits, fitted):
    """Resized images leave the range a little, and a pixel may be NaN."""
    images = digits.test[0][:50]
    broken = images.clone()
    broken[3, 0, 4, 4] = torch.nan
    for ordinary in (images, images / 255, 1.4 * images - 0.2, images.half(), images.double(), broken):
        fitted.predict(ordinary)
        assert not fitted.passes.has_warned


def test_what_may_be_traced_reads_no_values(digits, fitted):
    images = digits.test[0][:50] * 255
    traced = torch.export.export(fitted, (images,), strict=False).module()
    torch.testing.assert_close(traced(images)[1], fitted(images).log_none)
    fitted.predict(digits.test[0][:5])
    with pytest.warns(CalibrationWarning, match="preprocess them as for the fit"):
        fitted.predict(images)


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_an_export_compares_on_any_images(digits, fitted, suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    fitted.export(path, digits.test[0][:50] * 255)
    assert path.stat().st_size > 0
    assert not fitted.passes.has_warned


def test_a_file_keeps_the_range_and_files_of_before_have_none(digits, fitted, tmp_path):
    images = digits.test[0][:50] * 255
    path, old = tmp_path / "model.slova", tmp_path / "old.slova"
    fitted.save(path)
    again = Classifier.load(path, copy.deepcopy(digits.network))
    assert again.passes.value_range == fitted.passes.value_range == (0, 1)
    with pytest.warns(CalibrationWarning, match=MESSAGE.format(0, 255, 0, 1)):
        again.predict(images)
    tensors, meta = artifact.load(path, "classifier", framework="torch")
    del meta["passes"]["value_range"]
    artifact.save(old, "classifier", tensors, meta)
    before = Classifier.load(old, copy.deepcopy(digits.network))
    assert before.passes.value_range is None
    before.predict(images)


def test_the_range_is_that_of_normalised_images(digits, tmp_path):
    images, labels = digits.validation
    fitted = Classifier.fit(digits.network, (images - 0.25) / 0.5, labels, normalize=(0.25, [0.5]))
    assert fitted.passes.value_range == (-0.5, 1.5)
    fitted.save(tmp_path / "model.slova")
    assert Classifier.load(tmp_path / "model.slova", digits.network).passes.value_range == (-0.5, 1.5)
    with pytest.warns(CalibrationWarning, match=MESSAGE.format(0, 255, -0.5, 1.5)):
        fitted.predict(digits.test[0] * 255)


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [
        (None, (0, 1)),
        ((0.5, 0.5), (-1, 1)),
        (([0.5, 0.25, 0.0], torch.tensor([0.5, 0.5, 0.25])), (-1, 4)),
        ((0.0, 1 / 256), (0, 256)),
        ((0.5, 0.0), None),
    ],
)
def test_the_range_is_that_of_all_channels(digits, normalize, expected):
    reader = VersionReader(digits.network, ShiftOptions(normalize=normalize), synthetic=False, seed=0)
    assert reader.value_range is None, "no images are known yet"
    reader.images = True
    assert reader.value_range == expected
