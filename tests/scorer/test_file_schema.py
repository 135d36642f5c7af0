"""A file with a right checksum and wrong content is refused by the name of the field."""

import numpy as np
import pytest
import torch

from slova import artifact
from slova._scorer_file import load_saved
from slova.artifact import ArtifactError
from slova.classifier import Classifier
from slova.scorer import Scorer

CLASSES = 3


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A classifier with names, on a network of three logits."""
    generator = np.random.default_rng(0)
    labels = generator.integers(-1, CLASSES, 600)
    logits = generator.normal(-2, 1.5, (600, CLASSES)) + 4 * (np.arange(CLASSES) == labels[:, None])
    scorer = Scorer.fit(logits.astype(np.float32), labels, head="slova")
    path = tmp_path_factory.mktemp("files") / "model.slova"
    Classifier(torch.nn.Identity(), scorer, names=["a", "b", "c"], reject=0.5).save(path)
    return path


AFFINE = {"type": "affine", "scale": 1.0, "offset": 0.0}
REPORT = {"error": 10**400, "gap": 0.0, "pairs": 1.0, "hits": 1.0}
EXPONENTIAL = {"type": "exponential", "exponents": 1.0, "weights": 1.0, "report": REPORT}
TEMPERATURE = {"type": "temperature", "temperature": 2.0}
WRONG_FIELDS = {
    "classes missing": ({"classes": None}, "classes must be an integer, got 'None'"),
    "classes as text": ({"classes": "3"}, "classes must be an integer, got '3'"),
    "classes true": ({"classes": True}, "classes must be an integer"),
    "no classes": ({"classes": 0, "calibrator": None}, "classes must be from 1 to"),
    "many classes": ({"classes": 10**400, "calibrator": None}, "classes must be from 1 to"),
    "other classes": ({"classes": 4}, "the calibrator has 3 classes, the scorer 4"),
    "head": ({"head": ["slova"]}, "the head \"['slova']\" is not one of"),
    "head of two": ({"head": "binary"}, "the head binary has 2 classes, not 3"),
    "before": ({"before": TEMPERATURE}, "before is of type 'temperature', expected one of affine"),
    "calibrator": ({"calibrator": AFFINE}, "calibrator is of type 'affine', expected one of posterior"),
    "none_calibrator": ({"none_calibrator": TEMPERATURE}, "none_calibrator is of type 'temperature', expected one of"),
    "validation": ({"validation": TEMPERATURE}, "validation is of type 'temperature', expected one of Selection"),
    "a part of nothing": ({"before": {}}, "before is of type None"),
    "a part that is a list": ({"before": []}, "before is of type None"),
    "a field too many": ({"before": AFFINE | {"x": 1}}, "before has the unknown field 'x'"),
    "a field too few": ({"before": {"type": "affine", "scale": 1.0}}, "before cannot be rebuilt"),
    "a number as text": ({"before": AFFINE | {"scale": "1"}}, "before.scale must be float, got '1'"),
    "a number as truth": ({"before": AFFINE | {"scale": True}}, "before.scale must be float, got 'True'"),
    "a number out of range": ({"before": AFFINE | {"scale": -1.0}}, "before cannot be rebuilt: scale must be one"),
    "a huge number": ({"before": AFFINE | {"offset": 1e300}}, "before.offset must be finite, and at most 1e+30"),
    "a huge integer": ({"before": AFFINE | {"offset": 10**400}}, "before.offset must be float"),
    "a huge integer deeper": ({"none_calibrator": EXPONENTIAL}, "none_calibrator.report must be FitReport | None"),
    "reject": ({"reject": 2}, "reject must be a number from 0 to 1, got '2'"),
    "reject as text": ({"reject": "0.5"}, "reject must be a number from 0 to 1"),
    "names": ({"names": "abc"}, "names must be a list of text"),
    "names of numbers": ({"names": [1, 2, 3]}, "names must be a list of text"),
    "names missing": ({"names": ["a", "b"]}, "got 2 names for 3 classes"),
    "names twice": ({"names": ["a", "b", "a"]}, "names must differ, 'a' occurs twice"),
    "names of control characters": ({"names": ["a", "b", "\x1b[2J"]}, "the class name '\\x1b[2J' cannot be printed"),
    "names of surrogates": ({"names": ["a", "b", "\ud800"]}, "the class name '\\ud800' cannot be printed"),
}


@pytest.mark.parametrize(("fields", "sentence"), WRONG_FIELDS.values(), ids=WRONG_FIELDS.keys())
def test_a_wrong_field_is_named(path, tmp_path, fields, sentence):
    tensors, meta = artifact.load(path, "classifier")
    artifact.save(tmp_path / "f.slova", "classifier", tensors, meta | fields)
    assert all(f"f.slova cannot be used: {sentence}" in message for message in refusals(tmp_path / "f.slova"))


def refusals(path):
    """The messages of all who read such files."""
    for load in (load_saved, Scorer.load, lambda path: Classifier.load(path, torch.nn.Identity())):
        with pytest.raises(ArtifactError) as failed:
            load(path)
        yield str(failed.value)


WRONG_ARRAYS = {
    "NaN": ("calibrator.bias", lambda a: a * np.nan, "calibrator.bias must be finite"),
    "infinite": ("calibrator.positive_weights", lambda a: a + np.inf, "calibrator.positive_weights must be finite"),
    "shape": ("calibrator.bias", lambda a: a[:2], "calibrator cannot be rebuilt"),
    "negative counts": ("validation.count", lambda a: -a, "validation must count rows"),
    "broken counts": ("validation.count", lambda a: a + 0.5, "validation must count rows"),
    "more hits than rows": ("validation.hits", lambda a: a + 10**6, "validation must count rows, and hits among them"),
    "no rows": ("validation.count", lambda a: 0 * a, "validation must count rows"),
    "cells": ("validation.count", lambda a: a[1:], "the arrays of validation must have shape"),
    "confidence over one": ("validation.largest", lambda a: a + 2, "the confidences of validation must be from 0 to 1"),
    "scores": ("conformity.scores", lambda a: a - 2, "the scores of conformity must be from 0 to 1"),
    "outcomes": ("conformity.outcomes", lambda a: a + 1, "the outcomes of conformity must be from 0 to 3"),
    "one more outcome": ("conformity.scores", lambda a: a[1:], "conformity must have one score per outcome"),
}


@pytest.mark.parametrize(("name", "change", "sentence"), WRONG_ARRAYS.values(), ids=WRONG_ARRAYS.keys())
def test_a_wrong_array_is_named(path, tmp_path, name, change, sentence):
    tensors, meta = artifact.load(path, "classifier")
    artifact.save(tmp_path / "f.slova", "classifier", tensors | {name: change(tensors[name])}, meta)
    assert all(f"f.slova cannot be used: {sentence}" in message for message in refusals(tmp_path / "f.slova"))


def test_a_classifier_with_a_name_that_cannot_be_printed_is_not_saved(path, tmp_path):
    scorer = Scorer.load(path)
    with pytest.raises(ValueError, match="cannot be printed"):
        Classifier(torch.nn.Identity(), scorer, names=["a", "b", "c\n"]).save(tmp_path / "f.slova")
    assert not (tmp_path / "f.slova").exists()
