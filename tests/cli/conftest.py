"""Logits in files, and the command line that reads them."""

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main

CLASSES = 4


def _sample(rows: int, seed: int, *, scale: float = 2.0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(-1, CLASSES, rows)
    hits = (np.arange(CLASSES) == labels[:, None]) * 4.0
    return (scale * (generator.normal(-2.5, 1.5, (rows, CLASSES)) + hits)).astype(np.float32), labels


def _slova_cli(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert (result.exit_code, result.stderr.count("error")) == (0, 0), result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def sample():
    """A function to overconfident logits of a number of rows and a seed, and labels, some of them NONE."""
    return _sample


@pytest.fixture(scope="session")
def slova_cli():
    """A function to the standard output of a command, which must succeed."""
    return _slova_cli


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with validation, test and out-of-distribution logits, and a fitted scorer."""
    folder = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(["val", "test"]):
        logits, labels = _sample(3000, seed)
        np.savez(folder / f"{name}.npz", logits=logits, labels=labels)
    np.save(folder / "ood.npy", np.random.default_rng(9).normal(-2, 2, (500, CLASSES)))
    _slova_cli("fit", folder / "val.npz", "-o", folder / "model.slova")
    return folder
