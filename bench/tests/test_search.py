"""A search draws from its space, is reproducible, and trains nothing twice."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from slova_bench import pipeline
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.methods import methods
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.search import PAPER, Space, search
from slova_bench.store import Store
from slova_bench.train import Execution, Recipe

from slova.metrics import accuracy, nll

CPU = Execution(device=torch.device("cpu"))


@pytest.fixture
def bench(tmp_path):
    quick = dataset_recipe("digits")
    recipes = {name: replace(recipe, epochs=2) for name, recipe in quick.recipes.items()}
    return Bench(replace(quick, recipes=recipes), Store(tmp_path), CPU)


@pytest.fixture
def trainings(monkeypatch):
    """The recipes of the trainings that happen."""
    seen, train = [], pipeline.train

    def watched(network, loss, recipe, *rest):
        seen.append(recipe)
        return train(network, loss, recipe, *rest)

    monkeypatch.setattr(pipeline, "train", watched)
    return seen


def draws(space, count=500):
    found = [space.draw(Recipe(), seed) for seed in range(count)]
    return np.array([[recipe.rate, recipe.weight_decay] for recipe in found])


def test_draws_are_log_uniform_in_the_space():
    space = Space(rate=(0.01, 1.0), weight_decay=(1e-4, 1e-2))
    for values, (low, high) in zip(draws(space).T, (space.rate, space.weight_decay), strict=True):
        assert low <= values.min() < 1.1 * low
        assert 0.9 * high < values.max() <= high
        assert np.mean(values < np.sqrt(low * high)) == pytest.approx(0.5, abs=0.07)


def test_the_space_of_the_paper_is_uniform_in_the_rate_and_has_one_weight_decay():
    rates, decays = draws(PAPER).T
    assert 1e-3 <= rates.min() < 0.01
    assert 0.99 < rates.max() <= 1
    assert np.mean(rates) == pytest.approx(0.5, abs=0.05)
    assert set(decays) == {2e-4}


def test_the_space_of_the_paper_has_the_constants_of_adam():
    found = [PAPER.draw(Recipe(adam_eps=1e-3), seed) for seed in range(500)]
    for name, (low, high) in {"momentum": (0.85, 0.99), "adam_eps": (1e-8, 1e-5)}.items():
        values = np.array([getattr(recipe, name) for recipe in found])
        assert low <= values.min() < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < values.max() <= high
        assert np.mean(values) == pytest.approx((low + high) / 2, abs=0.05 * (high - low))


def test_the_two_numbers_are_drawn_independently_and_all_else_is_kept():
    assert abs(np.corrcoef(np.log(draws(Space())).T)[0, 1]) < 0.15
    base = Recipe(epochs=7, batch=3, ema=0.5)
    drawn = Space().draw(base, 0)
    assert replace(drawn, rate=base.rate, weight_decay=base.weight_decay) == base


def test_a_search_is_reproducible_and_another_seed_looks_elsewhere(bench):
    apart = replace(bench, store=Store(None))
    first, second = (list(search(methods()["softmax"], place, trials=2, seed=3)) for place in (bench, apart))
    assert first == second
    assert len({trial.recipe.rate for trial in first}) == 2
    assert next(search(methods()["softmax"], bench, seed=9)).recipe != first[0].recipe


def test_a_trial_holds_the_validation_metrics_of_the_method(bench):
    method = methods()["ova"]
    (trial,) = search(method, bench, trials=1)
    own = replace(method, recipe=trial.recipe)
    log_probs = mean_readout(method.head, bench.trained(own, 0).outputs(bench.validation.images).logits).log_probs
    labels = bench.validation.labels.numpy()
    assert trial.accuracy == pytest.approx(accuracy(np.exp(log_probs), labels), rel=1e-6)
    assert trial.nll == pytest.approx(nll(log_probs, labels), rel=1e-6)


def test_a_second_search_trains_nothing_and_a_longer_one_only_what_is_new(bench, trainings):
    first = list(search(methods()["ova"], bench, trials=2))
    assert trainings == [trial.recipe for trial in first]
    again = replace(bench)  # nothing is remembered but the store
    assert list(search(methods()["ova"], again, trials=2)) == first
    assert len(trainings) == 2
    assert list(search(methods()["ova"], again, trials=3))[:2] == first
    assert len(trainings) == 3


def test_trials_outlive_their_networks(bench, trainings):
    first = list(search(methods()["ova"], bench, trials=1))
    shutil.rmtree(bench.store.folder / "weights")
    assert list(search(methods()["ova"], bench, trials=1)) == first
    assert len(trainings) == 1


def test_an_interrupted_search_keeps_the_trials_it_finished(bench, trainings):
    started = search(methods()["ova"], bench, trials=3)
    first = next(started)
    started.close()
    assert len(trainings) == 1
    assert next(search(methods()["ova"], bench, trials=3)) == first
    assert len(trainings) == 1


def test_methods_that_share_weights_share_the_training_of_trials_but_not_what_they_reach(bench, trainings):
    (ova,), (slova,) = (search(methods()[name], bench, trials=1) for name in ("ova", "slova_raw"))
    assert len(trainings) == 1
    assert ova.recipe == slova.recipe
    assert ova.accuracy == slova.accuracy
    assert ova.nll != slova.nll
