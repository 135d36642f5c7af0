"""A distance-aware classifier in files: saved, loaded, exported and served."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from slova import Classifier, Scorer
from slova.artifact import ArtifactError
from slova.export import OUTPUTS, ExportError
from slova.serve.load import load_model
from slova.serve.model import ModelError


@pytest.mark.parametrize("views", [None, "flip"])
def test_a_saved_classifier_answers_the_same(digits, aware, views, tmp_path):
    fitted = aware if views is None else Classifier.fit(digits.network, *digits.validation, views=views)
    fitted.save(tmp_path / "model.slova")
    other = copy.deepcopy(digits.network)
    nn.init.zeros_(other[0].weight)
    again = Classifier.load(tmp_path / "model.slova", other)
    images = digits.test[0]
    assert torch.equal(again.predict_proba(images), fitted.predict_proba(images))
    assert again.scorer.report == fitted.scorer.report
    assert repr(again) == repr(fitted)
    assert again.passes.views == views
    assert again.threshold(risk=0.05) == fitted.threshold(risk=0.05)


def test_a_network_without_the_layers_is_refused(digits, aware, tmp_path):
    aware.save(tmp_path / "model.slova")
    with pytest.raises(ArtifactError, match="does not fit this network: the network has no layer '1'"):
        Classifier.load(tmp_path / "model.slova", _without(digits.network, "1"))


def _without(network: nn.Sequential, name: str) -> nn.Sequential:
    """The same weights under the same names, and another name for a layer that has none."""
    renamed = nn.Sequential()
    for own, layer in network.named_children():
        renamed.add_module("relu" if own == name else own, layer)
    return renamed


def test_a_state_dict_holds_the_statistics(digits, aware):
    other = Classifier.fit(digits.network, digits.validation[0][:200], digits.validation[1][:200])
    other.load_state_dict(aware.state_dict())
    images = digits.test[0][:50]
    assert torch.allclose(other(images).log_none, aware(images).log_none, atol=1e-6)


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_an_exported_classifier_measures_distances_itself(digits, aware, suffix, tmp_path):
    path, images = tmp_path / f"model{suffix}", digits.test[0]
    mixed = torch.cat([images, torch.rand(100, 1, 8, 8, generator=torch.Generator().manual_seed(0))])
    parity = aware.export(path, mixed)
    assert parity.rows == len(mixed)
    wanted = aware.predict(mixed)
    if suffix == ".pt2":
        found = dict(zip(OUTPUTS, torch.export.load(path).module()(mixed), strict=True))
    else:
        found = load_model(path).run({"input": mixed.numpy()}, ("label", "confidence", "none", "ambiguous"))
    for name in ("confidence", "none", "ambiguous"):
        np.testing.assert_allclose(np.asarray(found[name]), getattr(wanted, name), atol=1e-5)
    assert np.ptp(np.asarray(wanted.none)) > 0.9


def test_an_export_without_inputs_is_compared_on_images_near_and_far(aware, tmp_path):
    assert aware.export(tmp_path / "model.onnx").rows > 0


def test_logits_alone_do_not_suffice(digits, aware, tmp_path):
    aware.save(tmp_path / "model.slova")
    scorer = Scorer.load(tmp_path / "model.slova")
    with torch.no_grad():
        logits = digits.network(digits.test[0]).numpy()
    with pytest.raises(ValueError, match="the fit had 2 distances, got none: logits do not suffice"):
        scorer.predict(logits)
    with pytest.raises(ModelError, match="distance-aware and takes more than logits: export the classifier"):
        load_model(tmp_path / "model.slova")
    with pytest.raises(ExportError, match="takes distances as well: export the classifier"):
        scorer.export(tmp_path / "scorer.onnx")


def test_a_page_of_a_distance_aware_classifier_is_written(digits, aware, tmp_path):
    pytest.importorskip("altair")
    assert "distance-aware" in aware.report(*digits.test, tmp_path / "page.html").read_text()
