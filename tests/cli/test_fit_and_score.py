"""`slova fit` and `slova score`, from files to files."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

import slova
from slova import metrics
from slova.cli import main
from slova.scorer import Scorer

CLASSES = 4


def columns(path) -> dict[str, np.ndarray]:
    if path.suffix == ".csv":
        found = np.genfromtxt(path, delimiter=",", names=True)
        return {name: found[name] for name in found.dtype.names}
    if path.suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        return {name: table[name].to_numpy() for name in table.column_names}
    found = np.load(path)
    return {name: found[name] for name in (found.files if path.suffix == ".npz" else found.dtype.names)}


def test_a_fitted_file_is_the_scorer_that_the_library_fits(files, sample):
    expected, found = Scorer.fit(*sample(3000, 0)), Scorer.load(files / "model.slova")
    logits, _ = sample(50, 5)
    np.testing.assert_array_equal(found(logits).log_probs, expected(logits).log_probs)
    assert found.none == "calibrated"
    assert found.threshold(coverage=0.5) == expected.threshold(coverage=0.5)


@pytest.mark.parametrize("name", ["posterior", "exponential", "temperature", "isotonic", "beta", "histogram", "none"])
@pytest.mark.parametrize("head", ["slova", "ova", "softmax"])
def test_every_calibration_fits_every_head(files, tmp_path, name, head, slova_cli):
    said = slova_cli(
        "fit", files / "val.npz", "-o", tmp_path / "m.slova", "--calibration", name, "--head", head, "--json"
    )
    report = json.loads(said)
    assert (report["calibration"], report["head"], report["rows"], report["classes"]) == (name, head, 3000, CLASSES)
    assert type(Scorer.load(tmp_path / "m.slova").calibrator).__name__.lower().startswith(name)


def test_the_order_of_classes_is_kept_on_demand(files, tmp_path, sample, slova_cli):
    model, logits = tmp_path / "m.slova", sample(3000, 5)[0]
    slova_cli("fit", files / "val.npz", "-o", model, "--keep-order")
    assert (Scorer.load(model).predict(logits).top == logits.argmax(axis=1)).all()
    command = ["fit", str(files / "val.npz"), "-o", str(model), "--keep-order", "--calibration", "isotonic"]
    result = CliRunner().invoke(main, command)
    message = "--keep-order cannot be combined with --calibration isotonic, which may change the top class"
    assert (result.exit_code, message in result.stderr) == (2, True)
    slova_cli("fit", files / "val.npz", "-o", model, "--keep-order", "--calibration", "exponential", "--pairs", "top")
    assert (Scorer.load(model).predict(logits).top == logits.argmax(axis=1)).all()


def test_the_calibration_that_fit_reports_holds_on_new_rows(files, tmp_path, sample, slova_cli):
    logits, labels = sample(200_000, 77)
    report = json.loads(slova_cli("fit", files / "val.npz", "-o", tmp_path / "m.slova", "--json"))
    truth = metrics.ece(np.exp(Scorer.load(tmp_path / "m.slova")(logits).log_probs), labels)
    assert report["ece_after"] == pytest.approx(truth, abs=0.02)
    assert report["ece_after"] < report["ece_before"] / 2


def test_the_calibration_that_fit_reports_is_cross_fitted(tmp_path, slova_cli):
    """On labels that are pure chance isotonic calibration looks well calibrated only to the rows that it has seen."""
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "v.npz", logits=generator.normal(size=(60, 2)), labels=generator.integers(0, 2, 60))
    options = ("--calibration", "isotonic", "--pairs", "top", "--json")
    report = json.loads(slova_cli("fit", tmp_path / "v.npz", "-o", tmp_path / "m.slova", *options))
    assert report["ece_after"] > 0.05


@pytest.mark.parametrize("options", [(), ("--pairs", "top"), ("--at-most-one",)])
def test_a_streamed_fit_agrees_with_one_in_memory(files, tmp_path, options, sample, slova_cli):
    def fitted(*more):
        command = ("fit", files / "val.npz", "-o", tmp_path / "m.slova", "--json", "--calibration", "exponential")
        said = slova_cli(*command, *options, *more)
        return json.loads(said), Scorer.load(tmp_path / "m.slova")

    (report, scorer), (streamed_report, streamed) = fitted(), fitted("--stream", "--batch-size", "700")
    logits, _ = sample(500, 6)
    for ours, theirs in zip(streamed.predict(logits), scorer.predict(logits), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.01)
    assert streamed_report["none_rows"] == report["none_rows"] > 0
    for name in ("ece_before", "nll_before"):
        assert streamed_report[name] == pytest.approx(report[name], abs=1e-6)
    assert streamed_report["nll_after"] == pytest.approx(report["nll_after"], abs=0.02)
    assert streamed_report["ece_after"] == pytest.approx(report["ece_after"], abs=0.01)
    assert streamed.threshold(coverage=0.7) == pytest.approx(scorer.threshold(coverage=0.7), abs=0.01)


def test_a_streamed_fit_does_not_depend_on_the_batch_size(files, tmp_path, slova_cli):
    command = ("fit", files / "val.npz", "-o", tmp_path / "m.slova", "--stream", "--json", "--batch-size")
    one, other = (json.loads(slova_cli(*command, size)) for size in ("100", "3000"))
    assert one["numbers"]["weights"] == pytest.approx(other["numbers"]["weights"], rel=1e-6)
    assert one["ece_after"] == pytest.approx(other["ece_after"], abs=1e-6)


def test_the_summary_has_what_was_found_and_errors_before_and_after(files, tmp_path, slova_cli):
    command = ("fit", files / "val.npz", "-o", tmp_path / "m.slova")
    first, *said = slova_cli(*command).splitlines()
    assert first.endswith("m.slova: slova head, posterior calibration, 4 classes")
    report = Scorer.load(tmp_path / "m.slova").report
    assert said[0] == f"head: {report.found}"
    assert said[1].startswith("fitted on 3,000 rows, ")
    after = f"{report.ece_after:.4f} ± {report.error:.4f}"
    assert said[2] == f"ECE before {report.ece_before:.4f}, after {after}, cross-fitted"
    assert said[3] == f"NLL before {report.nll_before:.4f}, after {report.nll_after:.4f}, cross-fitted"
    found = json.loads(slova_cli(*command, "--json"))
    assert {name: found[name] for name in report.to_dict()} == json.loads(json.dumps(report.to_dict()))
    assert "exponential calibration of " in slova_cli(*command, "--stream")


@pytest.mark.parametrize("suffix", ["csv", "npz", "npy", "parquet"])
def test_a_scored_file_holds_what_the_library_predicts(files, tmp_path, suffix, sample, slova_cli):
    out = tmp_path / f"out.{suffix}"
    slova_cli(
        "score", files / "test.npz", "--model", files / "model.slova", "-o", out, "--reject", "0.5", "--batch-size", 999
    )
    expected = Scorer.load(files / "model.slova").predict(sample(3000, 1)[0], reject=0.5).to_dict()
    found = columns(out)
    assert list(found) == ["label", "confidence", "none", "ambiguous"]
    for name, column in found.items():
        np.testing.assert_array_equal(column.astype(expected[name].dtype), expected[name])
    assert (found["label"] == slova.heads.NONE).any()


def test_without_an_output_csv_goes_to_stdout_and_the_log_to_stderr(files):
    result = CliRunner().invoke(main, ["score", str(files / "ood.npy"), "--model", str(files / "model.slova")])
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["label", "confidence", "none", "ambiguous"]
    assert len(rows) == 501
    assert result.stderr == "500 rows, 0 of them rejected (confidence below 0)\n"


@pytest.mark.parametrize("guarantee", [("risk", 0.1), ("coverage", 0.7)])
def test_a_guarantee_sets_the_threshold(files, tmp_path, guarantee, slova_cli):
    name, value = guarantee
    command = (
        "score",
        files / "test.npz",
        "--model",
        files / "model.slova",
        "-o",
        tmp_path / "o.npy",
        f"--{name}",
        value,
    )
    report = json.loads(slova_cli(*command, "--json"))
    assert report["reject"] == Scorer.load(files / "model.slova").threshold(**{name: value})
    assert report["rejected"] == (np.load(tmp_path / "o.npy")["label"] == -1).sum() > 0


def test_a_saved_classifier_scores_with_its_own_threshold_by_default(files, tmp_path, sample, slova_cli):
    torch = pytest.importorskip("torch")
    scorer = Scorer.load(files / "model.slova")
    slova.Classifier(torch.nn.Linear(2, CLASSES), scorer, reject=0.7).save(tmp_path / "model.slova")
    command = ("score", files / "test.npz", "--model", tmp_path / "model.slova", "-o", tmp_path / "o.npy", "--json")
    confidence = scorer.predict(sample(3000, 1)[0]).confidence
    for more, reject in (
        ((), 0.7), (("--reject", "0.2"), 0.2), (("--reject", "0"), 0.0),
        (("--coverage", "0.5"), scorer.threshold(coverage=0.5)),
    ):  # fmt: skip
        report = json.loads(slova_cli(*command, *more))
        assert (report["reject"], report["rejected"]) == (reject, (confidence < reject).sum())
    assert "a saved classifier's" in " ".join(slova_cli("score", "--help").split())


NAMES = ("ash", 'elm, "wych"', "Eiche ö", "100 %")


@pytest.fixture
def named(files, tmp_path):
    """A saved classifier with names and a threshold."""
    torch = pytest.importorskip("torch")
    scorer = Scorer.load(files / "model.slova")
    slova.Classifier(torch.nn.Linear(2, CLASSES), scorer, names=NAMES, reject=0.5).save(tmp_path / "model.slova")
    return tmp_path / "model.slova"


@pytest.mark.parametrize("suffix", ["csv", "npz", "npy", "parquet"])
def test_the_labels_of_a_classifier_with_names_are_names(files, named, tmp_path, suffix, sample, slova_cli):
    out = tmp_path / f"out.{suffix}"
    report = json.loads(
        slova_cli("score", files / "test.npz", "--model", named, "-o", out, "--batch-size", 999, "--json")
    )
    expected = Scorer.load(named).predict(sample(3000, 1)[0], reject=0.5)
    if suffix == "csv":
        with open(out, newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        found = {name: np.array([row[name] for row in found]) for name in found[0]}
    else:
        found = columns(out)
    labels = [(*NAMES, "-1")[label] for label in expected.label]  # -1 finds the last one
    assert found["label"].tolist() == labels
    assert report["rejected"] == labels.count("-1") > 0
    np.testing.assert_array_equal(found["confidence"].astype(np.float32), expected.confidence)


def test_a_class_that_is_called_as_none_is_written_is_refused(files, tmp_path):
    torch = pytest.importorskip("torch")
    scorer, model, out = Scorer.load(files / "model.slova"), tmp_path / "model.slova", tmp_path / "out.csv"
    slova.Classifier(torch.nn.Linear(2, CLASSES), scorer, names=["-1", "0", "1", "2"]).save(model)
    result = CliRunner().invoke(main, ["score", str(files / "test.npz"), "--model", str(model), "-o", str(out)])
    assert (result.exit_code, out.exists()) == (2, False)
    assert "a class is named '-1', which is NONE in a file" in result.stderr


def test_a_small_validation_set_gives_a_warning_in_a_line(tmp_path, sample):
    np.savez(tmp_path / "v.npz", logits=sample(12, 0)[0], labels=sample(12, 0)[1])
    command = ["fit", str(tmp_path / "v.npz"), "-o", str(tmp_path / "m.slova"), "--calibration", "exponential"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0
    assert result.stderr.startswith("slova: warning: ")


@pytest.mark.parametrize("command", ["fit", "score", "metrics", "report", "export", "serve"])
def test_the_help_of_every_command_has_an_example_that_parses(command, slova_cli):
    line = next(line for line in slova_cli(command, "--help").splitlines() if "Example: slova" in line)
    arguments = line.split("Example: slova ")[1].split()
    assert main.get_command(None, arguments[0]).make_context("slova", arguments[1:]).params
