"""`slova metrics`, from files to numbers."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from slova import metrics
from slova.cli import main
from slova.heads import SLOVA
from slova.scorer import Scorer

CLASSES = 4


def sample(rows: int, seed: int, *, scale: float = 2.0):
    """Overconfident logits, and labels, some of them NONE."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(-1, CLASSES, rows)
    hits = (np.arange(CLASSES) == labels[:, None]) * 4.0
    return (scale * (generator.normal(-2, 1.5, (rows, CLASSES)) + hits)).astype(np.float32), labels


def slova_cli(*arguments: object) -> str:
    """The standard output of a command, which must succeed."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert (result.exit_code, result.stderr.count("error")) == (0, 0), result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with validation, test and out-of-distribution logits, and a fitted scorer."""
    folder = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(["val", "test"]):
        logits, labels = sample(3000, seed)
        np.savez(folder / f"{name}.npz", logits=logits, labels=labels)
    np.save(folder / "ood.npy", np.random.default_rng(9).normal(-2, 2, (500, CLASSES)))
    slova_cli("fit", folder / "val.npz", "-o", folder / "model.slova")
    return folder


@pytest.mark.parametrize("size", ["400", "5000"])
def test_metrics_are_those_of_the_library_within_their_bounds(files, size):
    command = ("metrics", files / "test.npz", "--model", files / "model.slova", "--json", "--batch-size", size)
    found = json.loads(slova_cli(*command))
    (logits, labels), scorer = sample(3000, 1), Scorer.load(files / "model.slova")
    log_probs, log_none = scorer(logits)
    probs = np.exp(log_probs)
    inside, outside = (probs.max(axis=1)[rows] for rows in (labels >= 0, labels < 0))
    exact = {
        "accuracy": metrics.accuracy(probs, labels),
        "nll": metrics.nll(log_probs, labels, log_none=log_none),
        "brier": metrics.brier(probs, labels),
        "ece": metrics.ece(probs, labels),
        "ece_mass": metrics.ece(probs, labels, binning="mass"),
        "mmc": metrics.mmc(probs),
        "aurc": metrics.aurc(probs, labels),
        "auroc": metrics.auroc(inside, outside),
        "aupr": metrics.aupr(inside, outside),
        "fpr95": metrics.fpr95(inside, outside),
        "ood_mmc": outside.mean(),
    }
    assert exact.keys() == found.keys() - {"rows", "ood_rows", "bounds"}
    for name, value in exact.items():
        assert found[name] == pytest.approx(value, abs=found["bounds"].get(name, 0.0) + 1e-6), name


def test_ood_metrics_compare_ood_rows_with_rows_of_a_class(files):
    alone, both = (
        json.loads(slova_cli("metrics", files / "test.npz", "--json", *more))
        for more in ((), ("--ood", files / "ood.npy"))
    )
    assert both["ood_rows"] == alone["ood_rows"] + 500
    assert both["auroc"] != alone["auroc"]
    assert both["accuracy"] == alone["accuracy"]


def test_without_a_model_the_bare_head_is_measured(files):
    found = json.loads(slova_cli("metrics", files / "test.npz", "--json"))
    logits, labels = sample(3000, 1)
    assert found["ece"] == pytest.approx(metrics.ece(np.exp(SLOVA(logits).log_probs), labels), abs=1e-6)


def test_a_calibrator_that_ties_classes_does_not_change_the_accuracy(files, tmp_path):
    slova_cli("fit", files / "val.npz", "-o", tmp_path / "m.slova", "--calibration", "histogram")
    bare, tied = (json.loads(slova_cli("metrics", files / "test.npz", "--json", *more))["accuracy"]
                  for more in ((), ("--model", tmp_path / "m.slova")))  # fmt: skip
    assert bare == tied


def test_the_table_shows_bounds(files):
    said = slova_cli("metrics", files / "test.npz", "--ood", files / "ood.npy")
    assert any("AUROC" in line and "±" in line for line in said.splitlines())
    assert any(line.startswith("accuracy ") and "±" not in line for line in said.splitlines())


def test_an_infinite_number_is_null_in_json(files):
    found = json.loads(slova_cli("metrics", files / "test.npz", "--head", "softmax", "--json"))
    assert found["nll"] is None
