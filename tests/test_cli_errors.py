"""Errors of users are one sentence on stderr and exit code 2, and leave an existing output unchanged."""

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from slova import artifact
from slova.cli import main
from slova.scorer import Scorer

LOGITS = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.arange(30) % 4 - 1


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Scorer(classes=3).save("model.slova")
    np.savez("good.npz", logits=LOGITS, labels=LABELS)
    return tmp_path


def error(command: str) -> str:
    """The error message of a command."""
    result = CliRunner().invoke(main, command.split())
    lines = result.stderr.splitlines()
    assert (result.exit_code, result.stdout, len(lines)) == (2, "", 1), (result.output, result.exception)
    assert lines[0].startswith("slova: error: ")
    return lines[0].removeprefix("slova: error: ")


HEADER = "logit_0,logit_1,logit_2,label\n"
NAN = np.where(np.isin(np.arange(90).reshape(30, 3), [22, 28, 85]), np.nan, LOGITS)
ARRAYS = {
    "nan": lambda: {"logits": NAN, "labels": LABELS},
    "range": lambda: {"logits": LOGITS, "labels": np.where(np.arange(30) == 11, 3, LABELS)},
    "keys": lambda: {"scores": LOGITS, "classes": LABELS},
    "object": lambda: {"logits": np.array([[Bomb()]], object), "labels": LABELS},
    "empty": lambda: {"logits": LOGITS[:0], "labels": LABELS[:0]},
    "integers": lambda: {"logits": LOGITS.astype(np.int64), "labels": LABELS},
    "flat": lambda: {"logits": LOGITS[None], "labels": LABELS},
    "wide": lambda: {"logits": np.zeros((4, 5)), "labels": np.zeros(4, np.int64)},
}
TEXTS = {
    "half.csv": HEADER + "1,2,3,0\n1,2,3,0.5\n",
    "header.csv": HEADER,
    "ragged.csv": HEADER + "1,2,3,0\n1,2,3\n",
    "word.csv": HEADER + "1,2,3,0\n1,two,3,0\n",
    "comma.csv": HEADER + "1,5,2,3,0\n",
    "gap.csv": "logit_0,logit_2,label\n1,2,0\n",
    "twice.csv": "logit_0,logit_0,label\n1,2,0\n",
    "names.csv": "first,second\na,b\n",
    "text.parquet": "not parquet",
}


def table(name: str) -> str:
    """Writes a bad file of this name (missing: none, nothing: an empty one), and gives the name back."""
    path = Path(name)
    if path.suffix == ".npz" and path.stem in ARRAYS:
        np.savez(path, **ARRAYS[path.stem]())
    elif path.suffix == ".npy" and path.stem != "nothing":
        np.save(path, ARRAYS["object"]()["logits"] if path.stem == "object" else LOGITS)
    elif name in TEXTS:
        path.write_text(TEXTS[name])
    elif path.stem != "missing":
        path.write_bytes(
            {"binary": b"a,b\n\xff\xfe\x00", "cut": Path("good.npz").read_bytes()[:500]}.get(path.stem, b"")
        )
    if name == "cut.npy":
        path.write_bytes(path.read_bytes()[:300])
    return name


class Bomb:
    """Whoever unpickles it leaves a file behind."""

    def __reduce__(self):
        return open, ("exploded", "w")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.npz", "missing.npz cannot be read: No such file or directory"),
        ("missing.csv", "missing.csv cannot be read: No such file or directory"),
        ("missing.parquet", "missing.parquet cannot be read: No such file or directory"),
        ("nothing.npz", "nothing.npz is not an npz file, or is damaged"),
        ("nothing.csv", "nothing.csv is empty: expected a header with the names of the columns"),
        ("nothing.parquet", "nothing.parquet is not a readable parquet file"),
        ("nothing.txt", "nothing.txt has the suffix '.txt'; expected one of .csv, .npy, .npz, .parquet"),
        ("nan.npz", "nan.npz has NaN in 3 of 30 rows, the first in row 7 (counted from 0)"),
        ("range.npz", "range.npz has the label 3 in row 11 (counted from 0); expected -1 (NONE) to 2"),
        ("half.csv", "half.csv has the label 0.5 in row 1"),
        ("keys.npz", "keys.npz has no array 'logits' or 'probs': found 'scores', 'classes'"),
        ("object.npz", "object.npz: logits holds Python objects, which are never unpickled"),
        ("empty.npz", "empty.npz has no rows"),
        ("header.csv", "header.csv has no rows"),
        ("integers.npz", "integers.npz has logits of type int64; expected floating point"),
        ("flat.npz", "flat.npz: logits has shape (1, 30, 3); logits must have shape (rows, classes)"),
        ("cut.npz", "cut.npz is not an npz file, or is damaged"),
        ("ragged.csv", "ragged.csv has 3 cells in row 1 (counted from 0), and 4 columns"),
        ("comma.csv", "comma.csv has 5 cells in row 0 (counted from 0), and 4 columns"),
        ("word.csv", "word.csv has 'two' in row 1 (counted from 0), column 'logit_1'; expected a number"),
        ("binary.csv", "binary.csv is not a readable csv file"),
        ("gap.csv", "gap.csv has the columns 'logit_0', 'logit_2', 'label'; expected logit_0 to logit_1 without gaps"),
        ("twice.csv", "twice.csv has the column 'logit_0' twice"),
        ("names.csv", "names.csv has no column of logits or probabilities: expected logit_0, logit_1, ... or prob_0,"),
        ("text.parquet", "text.parquet is not a readable parquet file"),
    ],
)
@pytest.mark.parametrize("command", ["fit {} -o old.slova", "fit {} -o old.slova --stream", "metrics {}"])
def test_invalid_files_are_errors_with_the_reason(folder, name, sentence, command):
    (folder / "old.slova").write_text("before")
    assert error(command.format(table(name))).startswith(sentence)
    assert (folder / "old.slova").read_text() == "before"
    assert not (folder / "exploded").exists()
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("object.npy", "object.npy holds Python objects, which are never unpickled; expected an array of numbers"),
        ("cut.npy", "cut.npy is truncated: its header declares shape (30, 3), and the data end before that"),
        ("nothing.npy", "nothing.npy is not an npy array, or is damaged"),
        ("wide.npz", "wide.npz has 5 logits per row, expected 3, one per class"),
        ("nan.npz", "nan.npz has NaN in 3 of 30 rows"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "npz", "npy", "parquet"])
def test_a_failed_score_leaves_the_old_output(folder, name, sentence, suffix):
    (folder / f"old.{suffix}").write_text("before")
    assert error(f"score {table(name)} --model model.slova -o old.{suffix} --batch-size 5").startswith(sentence)
    assert (folder / f"old.{suffix}").read_text() == "before"
    assert {path.name for path in folder.iterdir()} - {name} == {f"old.{suffix}", "model.slova", "good.npz"}


def test_a_pickle_in_the_place_of_an_array_is_not_opened(folder):
    (folder / "evil.npy").write_bytes(pickle.dumps(Bomb()))
    assert error("score evil.npy --model model.slova -o out.csv") == "evil.npy is not an npy array, or is damaged"
    assert not (folder / "exploded").exists()


def test_a_damaged_model_is_refused(folder):
    content = bytearray((folder / "model.slova").read_bytes())
    content[-30] ^= 1
    (folder / "bad.slova").write_bytes(content)
    assert error("score good.npz --model bad.slova").startswith("bad.slova is ")
    (folder / "bad.slova").write_bytes(content[:40])
    assert error("score good.npz --model bad.slova").startswith("bad.slova is not a slova file")
    assert error("score good.npz --model good.npz").startswith("good.npz is not a slova file")
    assert error("metrics good.npz --model missing.slova") == "missing.slova cannot be read: No such file or directory"
    artifact.save("bad.slova", "scorer", {}, {"head": "slova"})
    assert error("score good.npz --model bad.slova").startswith("bad.slova cannot be used")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("score good.npz --model model.slova -o no/out.csv", "no/out.csv cannot be written: there is no folder no"),
        ("fit good.npz -o no/model.slova", "no/model.slova cannot be written: there is no folder no"),
        (
            "score good.npz --model model.slova -o out.txt",
            "out.txt has the suffix '.txt'; expected one of .csv, .npy, .npz",
        ),
        ("score good.npz --model model.slova -o good.npz", "good.npz is also an input and would be replaced"),
        ("fit good.npz -o good.npz", "good.npz is also an input and would be replaced"),
        ("score good.npz --model model.slova --json", "--json and -o - both write to stdout"),
        (
            "score good.npz --model model.slova --reject 0.5 --risk 0.1",
            "give at most one of --reject, --risk and --coverage",
        ),
        ("score good.npz --model model.slova --reject 1.5", "Invalid value for '--reject'"),
        ("score good.npz --model model.slova --risk 0.1", "--risk requires a model that was fitted to validation rows"),
        ("metrics good.npz --model model.slova --head ova", "--head has no effect with --model"),
        (
            "fit good.npz -o m.slova --calibration temperature --stream",
            "--stream supports exponential calibration only: temperature needs all",
        ),
        ("fit good.npz -o m.slova --rescale --stream", "--rescale needs all rows in memory"),
        (
            "fit good.npz -o m.slova --calibration beta --at-most-one",
            "--at-most-one has no effect with --calibration beta",
        ),
        ("fit good.npz -o m.slova --calibration none --pairs top", "--pairs has no effect with --calibration none"),
        ("fit good.npz -o m.slova --calibration cubic", "Invalid value for '--calibration': 'cubic' is not one of"),
        (
            "fit good.npz -o m.slova --keep-order --calibration histogram",
            "--keep-order cannot be combined with --calibration histogram, which may change the top class",
        ),
        ("fit . -o m.slova", ". is a folder: for a folder of parquet files use --engine local"),
        ("fit . -o m.slova --stream", ". is a folder: for a folder of parquet files use --engine local"),
        ("score . --model model.slova -o out.csv", ". is a folder: for a folder of parquet files use --engine local"),
        ("metrics . --model model.slova", ". is a folder: for a folder of parquet files use --engine local"),
        ("report . --model model.slova -o page.html", ". is a folder; expected a file, one of .csv, .npy, .npz"),
        ("export model.slova -o m.onnx --names a,b,b", "names must differ, 'b' occurs twice"),
        ("fit good.npz", "Missing option '-o'"),
        ("bake", "No such command 'bake'"),
        ("fit --fast", "No such option"),
    ],
)
def test_invalid_options_are_errors(folder, command, sentence):
    assert error(command).startswith(sentence)
    assert {path.name for path in folder.iterdir()} == {"model.slova", "good.npz"}


@pytest.mark.parametrize("command", ["fit good.npz -o m.slova", "fit good.npz -o m.slova --stream", "metrics good.npz"])
def test_a_head_that_does_not_fit_the_values_is_said_to(folder, command):
    found = f"values from {LOGITS.min():.3g} to {LOGITS.max():.3g}"
    for head in ("probabilities", "ova_probabilities"):
        wrong = f"the head {head} takes probabilities, got {found}: give probabilities, not logits"
        assert error(f"{command} --head {head}") == wrong
    assert not (folder / "m.slova").exists()


def test_a_folder_of_predictions_is_replaced_only_with_the_option(folder):
    (folder / "rows").mkdir()
    columns = {f"logit_{k}": LOGITS[:, k] for k in range(3)}
    pytest.importorskip("pyarrow.parquet").write_table(sys.modules["pyarrow"].table(columns), "rows/a.parquet")
    (folder / "out").mkdir()
    command = "score rows --model model.slova -o out --engine local --workers 1"
    assert error(command) == "out already exists: remove it or pass --overwrite"


def test_logits_in_an_npy_file_need_a_file_of_labels(folder):
    np.save("logits.npy", LOGITS)
    expected = "logits.npy holds no labels: give the file of the labels with --labels"
    assert error("fit logits.npy -o m.slova") == expected
    assert error("fit logits.npy --labels logits.npy -o m.slova").startswith(
        "logits.npy has shape (30, 3); labels must have"
    )


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert error("score good.npz --model model.slova -o out.parquet").endswith(
        'needs pyarrow: pip install "slova[parquet]"'
    )


@pytest.mark.parametrize("target", ["read-only/out.csv", "folder.csv"])
def test_an_output_that_cannot_be_written_is_said_before_the_work(folder, monkeypatch, target):
    (folder / "read-only").mkdir()
    (folder / "folder.csv").mkdir()
    monkeypatch.setattr("os.access", lambda *_: False)  # whoever runs this may be root, who can write anywhere
    assert error(f"score missing.npz --model model.slova -o {target}").startswith(f"{target} cannot be written: it")


def test_json_is_nothing_but_json(folder):
    result = CliRunner().invoke(main, ["fit", "good.npz", "-o", "m.slova", "--json"])
    assert json.loads(result.stdout)["rows"] == 30
