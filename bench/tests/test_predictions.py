"""Stored logits: they are those of the networks, only methods that need no more can be run, and the demo uses them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import softmax
from slova_bench.calibrate import calibration
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.methods import find, methods
from slova_bench.pipeline import Bench, mean_readout
from slova_bench.predictions import Predictions, StoredBench, embedded, record
from slova_bench.results import Results
from slova_bench.runner import Plan, execute
from slova_bench.store import Store
from slova_bench.test_sets import TestSet

from slova.cli import main
from slova.heads import NONE
from slova.metrics import accuracy, brier, ece, nll

NAMES = ("softmax", "ova", "ensemble")
CLEAN = TestSet("digits-test")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A quick bench, and what was recorded there, once through a file."""
    folder = tmp_path_factory.mktemp("stored")
    bench = Bench(DATASET_RECIPES["digits"].quick(), Store(folder))
    record(bench, NAMES).save(folder / "digits.safetensors.xz")
    return bench, Predictions.load(folder / "digits.safetensors.xz")


def test_stored_logits_are_those_of_the_networks(recorded):
    bench, predictions = recorded
    stored = replace(StoredBench.of(predictions), dataset=bench.dataset)
    for name, test in [
        ("softmax", CLEAN),
        ("ova", TestSet("digits-test", "gaussian_noise", 3)),
        ("ova", TestSet("uniform")),
    ]:
        (method,) = find([name])
        computed, labels = bench.logits(bench.trained(method, 0), test)
        found, truth = stored.logits(stored.trained(method, 0), test)
        mine, theirs = (mean_readout(method.head, logits).log_probs for logits in (found.logits, computed.logits))
        np.testing.assert_allclose(np.exp(mine), np.exp(theirs), atol=0.05)  # one byte per logit
        assert np.array_equal(mine.argmax(-1), theirs.argmax(-1))
        assert np.array_equal(truth, labels)


def test_an_ensemble_is_stored_averaged(recorded):
    bench, predictions = recorded
    stored, (ensemble,) = StoredBench.of(predictions), find(["ensemble"])
    computed, _ = bench.logits(bench.trained(ensemble, 0), CLEAN)
    found, _ = stored.logits(stored.trained(ensemble, 0), CLEAN)
    assert len(computed.logits) == 5
    each = np.exp(computed.logits - np.log(np.exp(computed.logits).sum(-1, keepdims=True)))
    np.testing.assert_allclose(softmax(found.logits[0], axis=-1), each.mean(0), atol=0.05)


def test_calibrators_are_fitted_to_the_same_validation_set_and_noise(recorded):
    bench, predictions = recorded
    stored = StoredBench.of(predictions)
    for name in ("temperature", "slova", "slova_clean"):
        (method,) = find([name])
        mine, theirs = (calibration(method, place, place.trained(method, 0)) for place in (stored, bench))
        points = np.log([[0.2, 0.7, 0.1]])
        np.testing.assert_allclose(mine(points), theirs(points), atol=0.02)
    logits, labels = stored.validation_logits(stored.trained(method, 0), 0.1)
    assert (labels == NONE).sum() == int(0.1 * (labels != NONE).sum())
    assert logits.shape == (1, len(labels), 10)


def test_logits_that_are_not_stored_are_refused(recorded):
    stored = StoredBench.of(recorded[1])
    held = {name for name, method in methods().items() if stored.holds(method)}
    more = {"gen", "retrofit", "retrofit_noise", "ensemble_temperature", "slova_paper_fit", "slova_normalised"}
    assert held == {"softmax", "temperature", "ensemble", "ova", "slova", "slova_raw", "slova_clean"} | more
    (softmax, knn) = find(["softmax", "knn"])
    with pytest.raises(ValueError, match=r"knn, seed 0: only seed 0 of .* is stored; omit --embedded"):
        stored.trained(knn, 0)
    with pytest.raises(ValueError, match="softmax, seed 1: only seed 0"):
        stored.trained(softmax, 1)
    with pytest.raises(ValueError, match="no stored logits of digits-test direction 3"):
        stored.logits(stored.trained(softmax, 0), TestSet("digits-test", "direction", 3))
    with pytest.raises(ValueError, match=r"noise 0\.5 needs more than"):
        stored.validation_logits(stored.trained(softmax, 0), 0.5)
    with pytest.raises(ValueError, match="only logits of softmax are stored"):
        stored.trained(softmax, 0).outputs(None)


def test_experiments_run_on_stored_logits(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr("slova_bench.predictions.embedded", lambda on: recorded[1])
    for experiment in ("shift", "ood", "stability"):
        rows = execute(Plan(experiment=experiment, on="digits", embedded=True, results=tmp_path, store=None))
        assert {row.method for row in rows} <= {
            "softmax", "temperature", "ensemble", "ova", "slova", "slova_raw", "slova_clean", "retrofit"
        }  # fmt: skip
        assert {row.n for row in rows} <= {500}


def plugin(folder, content: str):
    path = folder / "mine.py"
    path.write_text(
        "from dataclasses import replace\nfrom slova_bench.methods import softmax, temperature\n"
        f"from slova_bench.train import Recipe\n{content}\n"
    )
    return path


@pytest.mark.parametrize("named", [None, ("softmax",)])
@pytest.mark.parametrize("own", ["detect=len", "family='ova'", "recipe=Recipe(rate=0.1)"])
def test_a_plug_in_method_is_run_with_the_others_or_refused(recorded, tmp_path, monkeypatch, named, own):
    monkeypatch.setattr("slova_bench.predictions.embedded", lambda on: recorded[1])
    where = {"on": "digits", "embedded": True, "methods": named, "results": tmp_path / "results", "store": None}
    own = plugin(tmp_path, f"METHOD = replace(softmax.METHOD, name='wide', {own})")
    with pytest.raises(ValueError, match=r"wide, seed 0: only seed 0 of .* is stored; omit --embedded"):
        execute(Plan(experiment="ood", plugins=(own,), **where))
    assert not (tmp_path / "results").exists(), "refused before anything is made"
    own = plugin(tmp_path, "METHOD = replace(temperature.METHOD, name='hot')")
    rows = execute(Plan(experiment="shift", plugins=(own.rename(tmp_path / "hot.py"),), **where))
    assert {row.method for row in rows} >= {"softmax", "hot"}
    assert (tmp_path / "results" / "shift-digits-embedded.csv").exists()


def test_other_seeds_than_the_stored_are_refused_before_anything_is_made(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr("slova_bench.predictions.embedded", lambda on: recorded[1])
    with pytest.raises(ValueError, match="seed 1: only seed 0"):
        execute(Plan(experiment="ood", embedded=True, seeds=(0, 1), results=tmp_path / "results", store=None))
    assert list(tmp_path.iterdir()) == []


def test_a_set_without_stored_logits_is_an_error():
    done = CliRunner().invoke(main, ["bench", "run", "shift", "--on", "svhn", "--embedded"])
    assert done.exit_code == 2
    assert "no predictions for svhn come with slova; omit --embedded" in done.stderr


@pytest.mark.parametrize("name", ["softmax", "ova", "slova", "slova_none"])
def test_committed_rows_of_the_clean_test_set_are_computed_from_stored_logits(name):
    """To a thousandth of each metric; the accuracy exactly."""
    rows = Results(Path(__file__).parents[1] / "results", "shift-cifar10").read()
    cells = [row for row in rows if (row.method, row.shift, row.seed, row.variant) == (name, "", 0, "")]
    committed = {row.metric: row.value for row in cells}
    bench, (method,) = StoredBench.of(embedded("cifar10")), find([name])
    trained = bench.trained(method, 0)
    outputs, labels = bench.logits(trained, TestSet("cifar10-test"))
    log_probs, fitted = mean_readout(method.head, outputs.logits).log_probs, calibration(method, bench, trained)
    log_probs = log_probs if fitted is None else fitted(log_probs)
    probs = np.exp(log_probs)
    assert accuracy(probs, labels) == pytest.approx(committed["accuracy"], abs=1e-9)
    for metric, value in (
        ("ece", ece(probs, labels)),
        ("nll", nll(log_probs, labels)),
        ("brier", brier(probs, labels)),
    ):
        assert value == pytest.approx(committed[metric], abs=1e-3), metric
