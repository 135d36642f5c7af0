"""The page of a model shows what `slova metrics` prints, and keeps out-of-distribution rows apart."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from slova import metrics
from slova.cli import main
from slova.heads import NONE
from slova.scorer import Scorer

CLASSES = 4


def sample(rows: int, seed: int, *, none: bool):
    generator = np.random.default_rng(seed)
    labels = generator.integers(-1 if none else 0, CLASSES, rows)
    hits = (np.arange(CLASSES) == labels[:, None]) * 4.0
    return 2 * (generator.normal(-2.5, 1.5, (rows, CLASSES)) + hits), labels


def page(*arguments: object) -> dict:
    """The data of the page that a command prints."""
    result = CliRunner().invoke(main, ["report", *map(str, arguments), "-o", "-"])
    assert result.exit_code == 0, result.stderr
    return json.loads(re.search(r'id="data">(.*?)</script>', result.stdout, re.S)[1])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    for seed, (name, none) in enumerate([("val", True), ("mixed", True), ("plain", False)]):
        logits, labels = sample(2000, seed, none=none)
        np.savez(folder / f"{name}.npz", logits=logits, labels=labels)
    np.save(folder / "far.npy", np.random.default_rng(9).normal(-2, 2, (500, CLASSES)))
    result = CliRunner().invoke(main, ["fit", str(folder / "val.npz"), "-o", str(folder / "model.slova")])
    assert result.exit_code == 0
    return folder


def entries(table: dict, row: int = 0) -> dict[str, float]:
    return {
        column["name"]: entry.get("value") for column, entry in zip(table["columns"], table["rows"][row], strict=True)
    }


def test_the_first_table_is_what_metrics_says(files):
    summary = page(files / "mixed.npz", "--model", files / "model.slova")["panels"][0]["summary"][0]
    said = CliRunner().invoke(
        main, ["metrics", str(files / "mixed.npz"), "--model", str(files / "model.slova"), "--json"]
    )
    expected = json.loads(said.stdout)
    found = entries(summary, row=1)
    assert summary["rows"][1][0]["text"] == "Calibrated"
    assert any("±" in entry["text"] for entry in summary["rows"][1])
    assert summary["notes"][1].startswith("± is the largest error")
    names = {"Accuracy ↑": "accuracy", "ECE ↓": "ece", "NLL ↓": "nll", "Brier score ↓": "brier", "AURC ↓": "aurc"}
    assert {name: found[name] for name in names} == {
        name: pytest.approx(expected[key], rel=1e-5) for name, key in names.items()
    }


def test_accuracy_has_its_exact_interval(files):
    logits, labels = sample(2000, 2, none=False)
    right = int((logits.argmax(1) == labels).sum())
    curve = metrics.reliability(np.tile([[1.0, 0.0]], (2000, 1)), np.where(np.arange(2000) < right, 0, 1), bins=1)
    text = page(files / "plain.npz")["panels"][0]["summary"][0]["rows"][0][2]["text"]
    assert text == f"{right / 2000:.4f} ({curve.low[0]:.4f} to {curve.high[0]:.4f})"


def test_reliability_is_the_library_s(files):
    logits, labels = sample(2000, 2, none=False)
    found = Scorer(classes=CLASSES).predict(logits)
    curve = metrics.Reliability.of(metrics.Ece.binned(found.confidence, found.top == labels, 15, "width"))
    points = page(files / "plain.npz", "--head", "slova")["panels"][0]["reliability"]
    for name, column in (("accuracy", curve.accuracy), ("low", curve.low), ("high", curve.high)):
        assert [point[name] for point in points] == pytest.approx(column.tolist(), abs=1e-5)


def test_every_ood_file_is_distinguished_from_the_rows_of_a_class(files):
    table = page(files / "mixed.npz", "--ood", files / "far.npy")["panels"][0]["summary"][1]
    scorer = Scorer(classes=CLASSES)
    logits, labels = sample(2000, 1, none=True)
    confidence = scorer.predict(logits).confidence
    others = {"rows labelled -1": confidence[labels == NONE]}
    others["far.npy"] = scorer.predict(np.load(files / "far.npy")).confidence
    assert [row[0]["text"] for row in table["rows"]] == list(others)
    for place, outside in enumerate(others.values()):
        found = entries(table, place)
        assert found["Rows"] == len(outside)
        assert found["AUROC ↑"] == pytest.approx(metrics.auroc(confidence[labels != NONE], outside), abs=1e-3)
        assert found["MMC ↓"] == pytest.approx(outside.mean(), rel=1e-5)


def test_a_calibrated_model_is_shown_before_and_after(files):
    data = page(files / "plain.npz", "--model", files / "model.slova")
    assert [series["name"] for series in data["series"]] == ["Before calibration", "Calibrated"]
    assert [series["name"] for series in page(files / "plain.npz")["series"]] == ["This model"]


def test_blocks_change_nothing(files):
    whole, parts = (page(files / "mixed.npz", "--batch-size", size)["panels"][0] for size in (10_000, 77))
    for name, tolerance in (("count", 0), ("errors", 0), ("middle", 1)):  # where a mean confidence is rounded
        np.testing.assert_allclose(whole["histograms"][name], parts["histograms"][name], rtol=0, atol=tolerance)
    assert entries(whole["summary"][0]) == pytest.approx(entries(parts["summary"][0]), nan_ok=True)


def test_a_file_of_none_rows_only_still_has_a_page(files, tmp_path):
    np.savez(tmp_path / "none.npz", logits=sample(50, 3, none=True)[0], labels=np.full(50, NONE))
    table = page(tmp_path / "none.npz")["panels"][0]["summary"][1]
    assert [entry["text"] for entry in table["rows"][0]][2:] == ["50", "–", "–", "–", "–"]
