"""Messages of the command line name options and files, not arguments of Python."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.cli.terminal import in_options
from slova.scorer import Scorer

PYTHON = ("head=", "calibration=", "names=", "delta=", ".fit(", "scorer", "codec", "<U", "(...,")


def run(*words):
    """Standard output and standard error of a command."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert not [word for word in PYTHON if word in result.stdout.replace("scorer file", "") + result.stderr]
    return result.stdout, result.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files of logits whose head is a guess (weak), with labels in text, and of one column; a model without a fit."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 2000)
    weak = generator.normal(-2, 3, (2000, 3)) + 3 * np.eye(3)[labels]
    np.savez("weak.npz", logits=weak, labels=np.where(labels == 0, -1, labels))
    np.savez("text.npz", logits=weak, labels=np.array(["a", "b", "c"])[labels])
    np.savez("binary.npz", logits=weak[:, :1], labels=1 * (labels == 0))
    Scorer(classes=3).save("bare.slova")
    return tmp_path


def test_a_guess_of_the_head_names_the_option():
    guess = "a guess: pass --head slova or --head softmax to be sure"
    out, err = run("fit", "weak.npz", "-o", "m.slova", "--calibration", "none")
    assert guess in out
    assert f"{guess}; the confidences of the two readings differ" in err
    assert guess in json.loads(run("fit", "weak.npz", "-o", "m.slova", "--json")[0])["found"]
    for command in ("fit weak.npz -o m.slova --stream", "metrics weak.npz", "report weak.npz -o page.html"):
        assert guess in "".join(run(*command.split()))


def test_a_calibration_that_is_not_good_names_the_options():
    """Half of the rows are confident and often wrong, the others are not and always right: no temperature helps."""
    generator, labels = np.random.default_rng(0), np.arange(3000) % 3
    top = np.where((np.arange(3000) < 1500) & (generator.random(3000) < 0.5), (labels + 1) % 3, labels)
    np.savez("odd.npz", logits=np.where(np.arange(3000) < 1500, 6.0, 1.0)[:, None] * np.eye(3)[top], labels=labels)
    _, err = run("fit", "odd.npz", "-o", "m.slova", "--calibration", "temperature")
    expected = "use the default, --calibration posterior, or give --head if the kind of the logits is another one\n"
    assert err.endswith(expected)


@pytest.mark.parametrize("path", ["head=1/val.npz", "runs/head='a'/x.npz", 'calibration="b".csv', "ahead='x' y"])
def test_files_keep_their_names(path):
    assert in_options(f"{path} cannot be read") == f"{path} cannot be read"


COMMANDS = {
    "fit weak.npz -o m.slova --head binary": "the head binary takes one column, got 3",
    "fit weak.npz -o m.slova --head binary --stream": "the head binary takes one column, got 3",
    "metrics weak.npz --head binary": "the head binary takes one column, got 3",
    "report weak.npz --head binary": "the head binary takes one column, got 3",
    "fit binary.npz -o m.slova --head softmax": "the head softmax takes one column per class, got one column: the heads"
    " of one are binary, binary_probabilities",
    "fit text.npz -o m.slova": "text.npz has labels of type text; expected integers, the numbers of the columns",
    "score weak.npz --model bare.slova --risk 0.1": "--risk requires a model that was fitted to validation rows: give"
    " --reject instead",
    "export bare.slova -o m.onnx --coverage 0.9": "--coverage requires a model that was fitted to validation rows: give"
    " --reject instead",
    "score binary.npz --model bare.slova": "binary.npz has 1 logits per row, expected 3, one per class",
    "report weak.npz --groups weak.npz": "weak.npz is not a readable csv file: it is not text in UTF-8",
    "serve bare.slova --host 192.0.2.1": "192.0.2.1 port 8000 cannot be listened on: Cannot assign requested address",
    "serve bare.slova --examples bare.slova": "bare.slova is not JSON",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_errors_are_worded_for_the_command_line(command):
    assert run(*command.split())[1].splitlines()[-1] == f"slova: error: {COMMANDS[command]}"


def test_a_model_of_one_column_says_what_it_takes():
    run("fit", "binary.npz", "-o", "m.slova")
    expected = "slova: error: weak.npz has 3 logits per row, expected 1, of class 1 against class 0\n"
    assert run("score", "weak.npz", "--model", "m.slova")[1] == expected


def test_a_distance_aware_model_says_why_logits_do_not_suffice():
    generator = np.random.default_rng(0)
    labels = np.arange(300) % 3
    logits = generator.normal(-2, 1, (300, 3)) + 4 * np.eye(3)[labels]
    Scorer.fit(logits, labels, distances=generator.random((300, 1))).save("aware.slova")
    for command in ("score weak.npz", "metrics weak.npz", "report weak.npz"):
        said = run(*command.split(), "--model", "aware.slova")[1]
        assert said.startswith("slova: error: aware.slova is distance-aware and takes more than logits: export the")
    assert "distance-aware and takes more than logits" in run("export", "aware.slova", "-o", "m.onnx")[1]
