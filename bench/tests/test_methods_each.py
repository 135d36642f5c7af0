"""The methods one by one: SVI, OVA-DM, ReAct, and the variants of SLOVA follow their definitions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from slova_bench import data
from slova_bench.layers import BayesianLinear, DistanceLinear, kl_divergence
from slova_bench.method import softmax_loss
from slova_bench.methods import methods, ova_dm, react, svi
from slova_bench.networks import digits_net
from slova_bench.paper_fit import fit_paper
from slova_bench.pipeline import mean_readout
from slova_bench.train import seeded

from slova.calibration import TemperatureScaling
from slova.heads import SLOVA, SOFTMAX, log_softmax

CPU = torch.device("cpu")


def built(name):
    with seeded(CPU, 0):
        return methods()[name].network(digits_net, 10), torch.rand(4, 1, 8, 8)


def test_the_loss_of_svi_is_cross_entropy_and_the_share_of_the_kl_of_one_image():
    network, images = built("svi")
    labels = torch.tensor([3, 1, 9, 1])
    with seeded(CPU, 1):
        found = svi.loss(network, images, labels, 500)
    with seeded(CPU, 1):
        wanted = softmax_loss(network, images, labels, 500) + kl_divergence(network) / 500
    torch.testing.assert_close(found, wanted)
    assert isinstance(network[-1], BayesianLinear)


@pytest.mark.parametrize(("name", "mean"), [("svi", -1.9994), ("ll_svi", -2.73995)])
def test_the_scale_of_the_prior_is_the_softplus_of_ovadias_mean(name, mean):
    assert built(name)[0][-1].prior_scale == pytest.approx(np.log1p(np.exp(mean)), rel=2e-3)


def test_doubled_is_the_logit_of_twice_the_sigmoid():
    logits = -np.geomspace(1e-3, 30, 50)
    twice = 2 / (1 + np.exp(-logits))
    np.testing.assert_allclose(ova_dm.doubled(logits), np.log(twice / (1 - twice)), rtol=1e-9)
    assert np.isfinite(ova_dm.doubled(np.array([0.0, -1e-30, -1e4], dtype=np.float32))).all()


def test_the_distance_methods_read_out_what_their_papers_report():
    logits = -np.abs(np.random.default_rng(0).normal(2, 1, (20, 5))) - 0.01
    twice = 2 / (1 + np.exp(-logits))
    np.testing.assert_allclose(np.exp(methods()["ova_dm_original"].head(logits).log_probs), twice, rtol=1e-9)
    alone = np.array([[p[k] * np.prod(np.delete(1 - p, k)) for k in range(5)] for p in twice])
    found = np.exp(methods()["ova_dm"].head(logits).log_probs)
    np.testing.assert_allclose(found, alone / alone.sum(1, keepdims=True), rtol=1e-9)


def test_distances_are_taken_from_the_features_here_and_from_the_outputs_in_the_original():
    here, original = built("ova_dm")[0][-1], built("ova_dm_original")[0][-1]
    assert isinstance(here, DistanceLinear)
    assert (here.centres.shape, here.root) == ((10, 64), True)
    assert (original.centres.shape, original.root) == ((10, 10), False)


def test_react_clips_the_features_of_the_classifier_at_their_90th_percentile():
    network, _ = built("react")
    images = torch.randint(0, 256, (2100, 1, 8, 8), dtype=torch.uint8)
    adapted = react.adapt(
        network.eval(), SimpleNamespace(training=data.Split("digits-train", images, images[:, 0, 0, 0]))
    )
    with torch.no_grad():
        features = network[:-1](images.float() / 255)
        ceiling = float(np.percentile(features[:2000].numpy(), 90))
        torch.testing.assert_close(adapted[:-1](images.float() / 255), features.clamp(max=ceiling))
    assert adapted[-1] is network[-1]
    assert float((features > ceiling).float().mean()) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("name", ["slova_ensemble", "slova_distance_ensemble"])
def test_an_ensemble_of_slova_pools_before_the_readout(name):
    logits = np.random.default_rng(0).normal(size=(5, 20, 4))
    found, method = mean_readout(methods()[name].head, logits).log_probs, methods()[name]
    wanted = logits.mean(0) if name == "slova_ensemble" else log_softmax(logits).mean(0)
    single = SLOVA(wanted) if name == "slova_ensemble" else SOFTMAX(wanted)
    np.testing.assert_allclose(found, single.log_probs, atol=1e-12)
    assert method.members == 5


def test_dropout_rates_are_those_of_ovadia_et_al():
    expected = {"dropout": 0.054988, "ll_dropout": 0.319811}
    for name, rate in expected.items():
        found = {layer.rate for layer in built(name)[0].modules() if hasattr(layer, "rate")}
        assert found == {rate}


def test_outliers_are_trained_on_by_the_method_with_none_in_training():
    network, images = built("slova_none")[0], torch.rand(12, 1, 8, 8)
    shown = []
    network.register_forward_hook(lambda module, inputs, output: shown.append(len(inputs[0])))
    methods()["slova_none"].loss(network, images, torch.arange(12) % 10, 12)
    assert shown == [18]


@pytest.mark.parametrize("name", ["slova_distance_ensemble", "ensemble_temperature"])
def test_an_ensemble_with_a_temperature_has_one_of_its_own(name):
    assert methods()[name].calibrate == TemperatureScaling.fit
    assert methods()[name].members == 5


def test_the_papers_fit_has_the_noise_and_the_network_of_the_optimal_one():
    assert methods()["slova_paper_fit"] == replace(methods()["slova"], name="slova_paper_fit", calibrate=fit_paper)


def test_normalised_slova_is_the_softmax_of_the_logits():
    logits = np.random.default_rng(0).normal(0, 5, (1, 20, 7))
    head, raw = methods()["slova_normalised"].head, methods()["slova_raw"].head(logits).log_probs
    normalised = raw - logsumexp(raw, axis=-1, keepdims=True)
    np.testing.assert_allclose(head(logits).log_probs, normalised, rtol=1e-12, atol=1e-12)
