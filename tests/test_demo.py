"""The demo: every number is computed, the same for the same seed, and nothing global is left changed."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import torch

from slova.cli import main
from slova.demo import comparison, networks, run
from slova.demo.images import digits, image_sets


@pytest.fixture(scope="module")
def report():
    """A short run: the numbers are worse and the rules the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks, "EPOCHS", 4)
        yield run(3, risk=0.1)


def test_every_method_is_measured_on_every_set(report):
    methods, sets = {cell.method for cell in report.cells}, {cell.images for cell in report.cells}
    assert len(report.cells) == len(methods) * len(sets)
    assert len(methods) == 6
    assert report.images == {"train": 797, "validation": 500, "test": 500}


def test_the_same_seed_gives_the_same_numbers_and_leaves_nothing_changed(report, monkeypatch):
    monkeypatch.setattr(networks, "EPOCHS", 4)
    torch.rand(1)  # so that the state is not the one that the run itself would leave
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    assert run(3, risk=0.1) == report
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_networks_learn_digits(report):
    clean = {cell.method: cell.accuracy for cell in report.cells if cell.kind == "clean"}
    assert min(clean.values()) > 0.85
    assert clean["softmax"] == clean["temperature"]
    assert clean["OVA"] == clean["SLOVA raw"] == clean["SLOVA calibrated"]


def test_an_increasing_map_keeps_the_auroc(report):
    auroc = {(cell.method, cell.images): cell.auroc for cell in report.cells if cell.kind == "foreign"}
    for images in {images for _, images in auroc}:
        assert auroc["SLOVA raw", images] == pytest.approx(auroc["SLOVA calibrated", images], abs=1e-3)


def test_a_promise_counts_every_image_once(report):
    assert [promise.method for promise in report.promises] == ["temperature", "SLOVA calibrated"]
    for promise in report.promises:
        assert promise.images == {"clean": 500, "shifted": 4500, "foreign": 500 * 4}
        assert all(0 <= promise.answered[kind] <= promise.images[kind] for kind in promise.images)


def test_sets_are_grey_images_and_their_split_has_no_image_twice():
    parts = digits(0)
    sets = image_sets(parts.test, 0)
    assert all(images.images.shape == (500, 8, 8) and images.images.dtype == np.float32 for images in sets)
    assert all(images.images.min() >= 0 and images.images.max() <= 1 for images in sets)
    assert all((images.labels == -1).all() == (images.kind == "foreign") for images in sets)
    together = np.concatenate([part.images for part in parts])
    assert together.shape == (1797, 8, 8)
    assert len(np.unique(together.reshape(1797, -1), axis=0)) == 1797


def test_the_command_prints_the_numbers_as_tables_and_as_json(report, monkeypatch):
    monkeypatch.setattr("slova.demo.run", lambda seed, risk, tell: report)
    said = CliRunner().invoke(main, ["demo", "--risk", "0.1"]).stdout
    clean = next(cell for cell in report.cells if cell.method == "SLOVA calibrated" and cell.kind == "clean")
    line = next(line for line in said.splitlines() if line.startswith("SLOVA calibrated "))
    assert line.split()[2:6] == [f"{value:.3f}" for value in (clean.accuracy, clean.ece, clean.nll, clean.brier)]
    found = json.loads(CliRunner().invoke(main, ["demo", "--json"]).stdout)
    assert found["cells"][0] == {name: value for name, value in report.cells[0]._asdict().items() if value is not None}
    assert found["promises"][0]["threshold"] == report.promises[0].threshold


def test_a_promise_that_cannot_be_kept_is_not_made(report, monkeypatch):
    monkeypatch.setattr(networks, "EPOCHS", 1)
    hopeless = run(3, risk=0.0)
    assert hopeless.promises == []
    assert comparison.run is run
    monkeypatch.setattr("slova.demo.run", lambda seed, risk, tell: hopeless)
    assert "no method can" in CliRunner().invoke(main, ["demo", "--risk", "0"]).stdout
