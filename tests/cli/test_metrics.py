"""`slova metrics`, from files to numbers."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from slova import metrics
from slova.calibration import TemperatureScaling
from slova.cli import main
from slova.heads import PROBABILITIES, SLOVA, log_softmax
from slova.scorer import Scorer

CLASSES = 4


@pytest.mark.parametrize("size", ["400", "5000"])
def test_metrics_are_those_of_the_library_within_their_bounds(files, size, sample, slova_cli):
    command = ("metrics", files / "test.npz", "--model", files / "model.slova", "--json", "--batch-size", size)
    found = json.loads(slova_cli(*command))
    (logits, labels), scorer = sample(3000, 1), Scorer.load(files / "model.slova")
    log_probs, log_none = scorer(logits)
    probs = np.exp(log_probs)
    inside, outside = (probs.max(axis=1)[rows] for rows in (labels >= 0, labels < 0))
    exact = {
        "accuracy": metrics.accuracy(probs, labels),
        "nll": metrics.nll(log_probs, labels, log_none=log_none),
        "brier": metrics.brier(np.exp(np.column_stack([log_probs, log_none])), np.where(labels < 0, CLASSES, labels)),
        "ece": metrics.ece(probs, labels),
        "ece_mass": metrics.ece(probs, labels, binning="mass"),
        "mmc": metrics.mmc(probs),
        "aurc": metrics.aurc(probs, labels),
        "auroc": metrics.auroc(inside, outside),
        "aupr": metrics.aupr(inside, outside),
        "fpr95": metrics.fpr95(inside, outside),
        "ood_mmc": outside.mean(),
    }
    assert exact.keys() == found.keys() - {"head", "rows", "ood_rows", "bounds"}
    for name, value in exact.items():
        assert found[name] == pytest.approx(value, abs=found["bounds"].get(name, 0.0) + 1e-6), name


def test_ood_metrics_compare_ood_rows_with_rows_of_a_class(files, slova_cli):
    alone, both = (
        json.loads(slova_cli("metrics", files / "test.npz", "--json", *more))
        for more in ((), ("--ood", files / "ood.npy"))
    )
    assert both["ood_rows"] == alone["ood_rows"] + 500
    assert both["auroc"] != alone["auroc"]
    assert both["accuracy"] == alone["accuracy"]


def test_without_a_model_the_bare_head_is_measured(files, sample, slova_cli):
    found = json.loads(slova_cli("metrics", files / "test.npz", "--json"))
    logits, labels = sample(3000, 1)
    assert found["ece"] == pytest.approx(metrics.ece(np.exp(SLOVA(logits).log_probs), labels), abs=1e-6)


def test_a_calibrator_that_ties_classes_does_not_change_the_accuracy(files, tmp_path, slova_cli):
    slova_cli("fit", files / "val.npz", "-o", tmp_path / "m.slova", "--calibration", "histogram")
    bare, tied = (json.loads(slova_cli("metrics", files / "test.npz", "--json", *more))["accuracy"]
                  for more in ((), ("--model", tmp_path / "m.slova")))  # fmt: skip
    assert bare == tied


def test_the_table_shows_bounds(files, slova_cli):
    said = slova_cli("metrics", files / "test.npz", "--ood", files / "ood.npy")
    assert any("AUROC" in line and "(within " in line for line in said.splitlines())
    assert any(line.startswith("accuracy ") and "within" not in line for line in said.splitlines())


def test_an_infinite_number_is_null_in_json(files, slova_cli):
    found = json.loads(slova_cli("metrics", files / "test.npz", "--head", "softmax", "--json"))
    assert found["nll"] is None


def kinds(rows: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Overconfident softmax logits, the same as log-probabilities and as probabilities, and labels."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(0, 2, (rows, CLASSES))
    chances = np.exp(log_softmax(truth)).cumsum(axis=1)
    labels = (generator.random((rows, 1)) > chances[:, :-1]).sum(axis=1)
    log_probs = log_softmax(2.5 * truth)
    return {"softmax": 2.5 * truth + 3, "log": log_probs, "probabilities": np.exp(log_probs)}, labels


@pytest.mark.parametrize("kind", ["softmax", "log", "probabilities"])
@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_any_kind_of_logits_ends_well_calibrated(tmp_path, kind, more, slova_cli):
    """Softmax logits taken for one-vs-all logits had an ECE of .5."""
    for name, seed, rows in (("val", 0, 2000), ("test", 1, 4000)):
        values, labels = kinds(rows, seed)
        np.savez(tmp_path / f"{name}.npz", logits=values[kind], labels=labels)
    fitted = json.loads(slova_cli("fit", tmp_path / "val.npz", "-o", tmp_path / "m.slova", *more, "--json"))
    found = json.loads(slova_cli("metrics", tmp_path / "test.npz", "--model", tmp_path / "m.slova", "--json"))
    assert fitted["head"] == found["head"] == ("probabilities" if kind == "probabilities" else "softmax")
    temperature = TemperatureScaling.fit(kinds(2000, 0)[0]["log"], kinds(2000, 0)[1])
    log_probs = temperature(kinds(4000, 1)[0]["log"])
    assert found["ece"] < metrics.ece(np.exp(log_probs), labels) + 0.01
    assert fitted["ece_before"] > 0.08 > fitted["ece_after"]
    if not more:
        assert found["nll"] < metrics.nll(log_probs, labels) + 0.01


def test_a_head_that_is_recognised_is_named(tmp_path):
    values, labels = kinds(500, 0)
    np.savez(tmp_path / "test.npz", logits=values["probabilities"], labels=labels)
    result = CliRunner().invoke(main, ["metrics", str(tmp_path / "test.npz"), "--json"])
    assert json.loads(result.stdout)["head"] == "probabilities"
    why = "the rows are probabilities that sum to one, by the first 500 rows"
    assert result.stderr == f"slova: probabilities head: {why}\n"
    given = CliRunner().invoke(main, ["metrics", str(tmp_path / "test.npz"), "--head", "probabilities"])
    assert given.stderr == ""


@pytest.mark.parametrize("command", ["metrics", "score", "report"])
def test_a_file_of_another_kind_than_that_of_the_fit_is_an_error(tmp_path, files, command):
    values, labels = kinds(500, 0)
    np.savez(tmp_path / "test.npz", logits=values["probabilities"], labels=labels)
    output = () if command == "metrics" else ("-o", str(tmp_path / "out.csv"))
    model = str(files / "model.slova")
    result = CliRunner().invoke(main, [command, str(tmp_path / "test.npz"), "--model", model, *output])
    assert result.exit_code == 2
    assert "fitted to logits, got rows of probabilities that sum to one" in result.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("command", ["metrics", "score", "score --engine local --workers 1"])
def test_one_late_row_that_is_no_row_of_probabilities_is_an_error(tmp_path, command):
    pyarrow = pytest.importorskip("pyarrow")
    rows = kinds(500, 0)[0]["probabilities"]
    rows[450, :2] = [-0.5, 1.2]
    table = pyarrow.table({"logits": rows.tolist(), "label": np.zeros(len(rows), int)})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "test.parquet")
    Scorer(classes=rows.shape[1], head=PROBABILITIES).save(tmp_path / "m.slova")
    name, *options = command.split()
    options += [] if name == "metrics" else ["-o", str(tmp_path / ("out" if options else "out.csv"))]
    words = [name, str(tmp_path / "test.parquet"), "--model", str(tmp_path / "m.slova"), *options]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "the model was fitted to probabilities, got values from -0.5 to 1.2" in result.stderr
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_column_is_a_binary_problem(tmp_path, shape, slova_cli):
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 3, 1000)
    labels = (generator.random(1000) < 1 / (1 + np.exp(-logits / 2))).astype(int)
    np.savez(tmp_path / "val.npz", logits=logits.reshape(shape), labels=labels)
    for more in ((), ("--stream",)):
        command = ("fit", tmp_path / "val.npz", "-o", tmp_path / "m.slova", *more, "--json")
        assert json.loads(slova_cli(*command))["head"] == "binary"
        found = json.loads(slova_cli("metrics", tmp_path / "val.npz", "--model", tmp_path / "m.slova", "--json"))
        assert found["ece"] < 0.05
        answers = slova_cli("score", tmp_path / "val.npz", "--model", tmp_path / "m.slova")
        assert len(answers.splitlines()) == 1001
