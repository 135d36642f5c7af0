"""`slova bench` from the command line: options, one sentence per error, nothing half written."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from slova_bench.cli.summary import summary
from slova_bench.results import Cell, Results, Row

from slova import artifact
from slova.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bench(*words: object):
    return CliRunner().invoke(main, ["bench", *map(str, words)])


def fails(done) -> str:
    """The sentence of a command that ended with exit code 2 and printed nothing else."""
    assert done.exit_code == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("slova: error: ")]
    assert len(lines) == 1
    return lines[0].removeprefix("slova: error: ")


def seeds(folder) -> set[int]:
    return {row.seed for row in Results(folder / "results", "ood-digits-quick").read()}


@pytest.mark.parametrize(("text", "expected"), [("2", {0, 1}), ("0,2", {0, 2}), ("3,", {3}), ("1,1", {1})])
def test_seeds_are_a_count_or_a_list(folder, text, expected):
    assert bench("run", "ood", "--quick", "--methods", "softmax", "--seeds", text).exit_code == 0
    assert seeds(folder) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ood", "--seeds", "0"], "--seeds must be a count such as 5"),
        (["ood", "--seeds", "some"], "--seeds must be a count such as 5"),
        (["ood", "--seeds", "0,-1"], "--seeds must be a count such as 5"),
        (["ood", "--methods", ","], "--methods must be names such as softmax,slova; got ','"),
        (["ood", "--methods", "sofmax"], "unknown method sofmax; the methods are acet"),
        (["odd"], "experiment must be one of ablation"),
        (["ood", "--on", "imagenet"], "the training set must be one of digits"),
        (["ood", "--preset", "best"], "preset must be one of fair, paper, authors, searched, small_"),
        (
            ["shift", "--on", "cifar10", "--embedded", "--preset", "paper"],
            "the stored logits are of the fair preset: omit --embedded or --preset",
        ),
        (["ood", "--device", "tpu"], "device 'tpu' is not available; --device cpu runs everywhere"),
        (["ood", "--minutes", "0"], "Invalid value for '--minutes'"),
        (["ood", "--minutes", "nan"], "Invalid value for '--minutes': nan is not a number of minutes"),
    ],
)
def test_a_bad_option_is_one_sentence_and_leaves_nothing(folder, words, sentence):
    assert fails(bench("run", *words)).startswith(sentence)
    assert list(folder.iterdir()) == []


def test_a_missing_gpu_is_one_sentence(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert (
        fails(bench("run", "ood", "--device", "cuda")) == "device 'cuda' is not available; --device cpu runs everywhere"
    )


def test_a_repeated_method_is_run_once(folder):
    assert bench("run", "ood", "--quick", "--methods", "softmax, softmax").exit_code == 0
    rows = Results(folder / "results", "ood-digits-quick").read()
    assert len({row.key for row in rows}) == len(rows) == 2 + 4 * 4


def test_out_of_time_it_stops_and_reports_what_is_left_and_the_next_run_completes(folder):
    words = ("run", "ood", "--quick", "--methods", "softmax,slova")
    stopped = bench(*words, "--minutes", "0.00001")
    assert stopped.exit_code == 0
    assert "9 sets before the end: run it again" in stopped.stderr
    done = bench(*words)
    assert "run it again" not in done.stderr
    rows = Results(folder / "results", "ood-digits-quick").read()
    assert {row.method for row in rows} == {"softmax", "slova"}
    assert len(rows) == 2 * (2 + 4 * 4)
    assert not list((folder / "results").glob(".*"))


def test_progress_has_an_estimate_of_the_time_left(folder):
    output = bench("run", "ood", "--quick", "--methods", "softmax").stderr
    assert " s left  softmax, seed 0: digits-test" in output


def test_the_summary_has_one_line_per_method_and_one_column_per_metric(folder):
    lines = bench("run", "ood", "--quick", "--methods", "softmax,slova").stdout.splitlines()
    assert lines[0].startswith("mean over sets, quick  ")
    assert lines[0].split()[4:] == ["error", "aupr", "auroc", "fpr95", "mmc"]
    assert lines[1].startswith("sets and seeds that all have  ")
    assert lines[1].split()[6:] == ["1", "4", "4", "4", "4"], "the confidence on the test set itself is left out"
    assert [line.split()[0] for line in lines[2:]] == ["slova", "softmax"]


def test_the_summary_is_over_what_all_methods_have():
    cell = Cell("shift", "softmax", "", "digits-train", "digits-test", "", 0.0, 0, 100)
    more = [cell, cell._replace(seed=1), cell._replace(shift="fog", level=5.0)]
    rows = [Row.of(one, "ece", 0.1 + place) for place, one in enumerate(more)]
    rows += [Row.of(one._replace(method="slova", parameter="M", parameter_value=2.0), "ece", 0.2) for one in more[:2]]
    rows += [Row.of(cell._replace(method="slova", parameter="M", parameter_value=2.0), "nll", 0.3)]
    heads, counts, *lines = (line.split() for line in summary(rows, "").splitlines())
    assert heads == ["mean", "over", "sets", "ece", "nll"]
    assert counts[-2:] == ["2", "1"]
    assert lines == [["softmax", "0.6000", "–"], ["slova", "M=2", "0.2000", "0.3000"]]


def test_where_methods_have_nothing_in_common_there_is_no_mean():
    cell = Cell("maps", "softmax", "", "digits-train", "digits-val", "", 0.5, 0, 100)
    rows = [Row.of(one, "observed", 0.1) for one in (cell, cell._replace(method="slova", level=0.4))]
    assert [line.split()[-1] for line in summary(rows, "").splitlines()] == ["observed", "0", "–", "–"]


def test_interrupted_it_keeps_the_rows_and_states_how_to_resume(folder, monkeypatch):
    words, append, calls = ("run", "ood", "--quick", "--methods", "softmax,slova"), Results.append, []

    def interrupted(self, rows):
        append(self, rows)
        calls.append(rows)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Results, "append", interrupted)
        done = bench(*words)
    file = Path("results/ood-digits-quick.csv")
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"interrupted: {2 + 2 * 4} rows kept in {file}; the same command continues from there"
    )
    assert len(file.read_text().splitlines()) == 1 + 3, "a header and one line per cell"
    assert not list((folder / "results").glob(".*"))
    assert f"36 rows in {file}, 26 of them new" in bench(*words).stderr


def test_a_method_of_which_nothing_is_measured_is_named(folder):
    done = bench("run", "shift", "--quick", "--methods", "energy")
    assert done.exit_code == 0
    assert "shift measures nothing of energy" in done.stderr


def test_data_that_are_missing_are_named_with_their_file_and_folder(folder, monkeypatch):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("slova_bench.data.download._stream", offline)
    monkeypatch.setattr("slova_bench.data.download.RETRIES", 0)
    output = fails(bench("run", "shift", "--on", "cifar10", "--quick", "--methods", "softmax", "--data-dir", "data"))
    assert output.endswith(
        "cannot be downloaded (no network): try again, or put cifar-10-binary.tar.gz into data by hand"
    )
    assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["cifar10-train.npz", "cifar-10-binary.tar.gz"])
def test_data_that_are_not_what_they_should_be_are_refused(folder, name):
    if name.endswith("npz"):
        images, labels = np.zeros((50_000, 32, 32, 3), np.uint8), np.zeros(50_000, np.int64)
        np.savez(folder / name, images=images, labels=labels)
    else:
        (folder / name).write_bytes(b"something else")
    output = fails(bench("run", "shift", "--on", "cifar10", "--quick", "--methods", "softmax", "--data-dir", folder))
    assert name in output
    assert "match" in output
    assert "checksum" in output
    assert not [path for path in folder.rglob("*") if path.is_file() and path.name != name]


def test_a_full_disk_is_a_sentence_and_a_later_run_completes(folder, monkeypatch):
    """It fills up while weights are saved, while logits are, while rows are appended, and while the CSV is written."""
    words = ("run", "ood", "--quick", "--methods", "softmax")
    for healthy in (0, 1, 2, 8):
        left = [healthy]

        def fsync(number, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, "No space left on device", "the disk")

        with monkeypatch.context() as full:
            full.setattr(os, "fsync", fsync)
            assert fails(bench(*words)) == "the disk: No space left on device"
        assert not list(folder.rglob("*.part"))
        assert not (folder / "results" / "ood-digits-quick.csv").exists()
        for path in folder.rglob("*.safetensors"):
            artifact.load(path, "weights", "images", "logits")
    assert bench(*words).exit_code == 0
    assert len(Results(folder / "results", "ood-digits-quick").read()) == 2 + 4 * 4


@pytest.mark.parametrize("option", ["--results", "--store"])
def test_a_folder_that_cannot_be_written_to_is_an_error_before_the_training(folder, monkeypatch, option):
    (folder / "taken").write_text("a file")
    monkeypatch.setattr("slova_bench.pipeline.train", lambda *_: pytest.fail("trained in vain"))
    assert "taken" in fails(bench("run", "ood", "--quick", "--methods", "softmax", option, "taken"))
    assert (folder / "taken").read_text() == "a file"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "ood", "--results"),
        ("run", "ood", "--store"),
        ("run", "ood", "--data-dir"),
        ("paper", "--results"),
        ("report", "--results"),
        ("report", "--docs"),
        ("report", "--figures"),
        ("report", "--cards"),
        ("demo", "-o"),
    ],
)
def test_a_file_in_place_of_a_folder_is_refused_before_anything_is_done(folder, words):
    (folder / "taken").write_text("a file")
    assert fails(bench(*words, "taken")).endswith("Directory 'taken' is a file.")
    assert [path.name for path in folder.iterdir()] == ["taken"]


def test_a_results_file_that_was_edited_badly_is_refused_with_its_line(folder):
    words = ("run", "ood", "--quick", "--methods", "softmax")
    assert bench(*words).exit_code == 0
    path = folder / "results" / "ood-digits-quick.csv"
    path.write_text(path.read_text() + "and,so,on\n")
    before = path.read_bytes()
    assert fails(bench(*words)).endswith("ood-digits-quick.csv, line 7: there must be 16 columns, got 3")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["{cut", "3"])
def test_a_damaged_record_is_named_and_what_was_measured_is_kept(folder, content):
    record = folder / "results" / "ood-digits-quick.json"
    record.parent.mkdir()
    record.write_text(content)
    words = ("run", "ood", "--quick", "--methods", "softmax")
    assert fails(bench(*words)).startswith("results/ood-digits-quick.json is not a record: ")
    assert record.read_text() == content
    assert len(Results(folder / "results", "ood-digits-quick").read()) == 2, "the rows of the first set"
    record.unlink()
    assert bench(*words).exit_code == 0


def test_the_list_has_every_experiment_data_set_preset_and_method():
    from slova_bench.dataset_recipes import DATASET_RECIPES
    from slova_bench.experiments import experiments
    from slova_bench.methods import methods
    from slova_bench.presets import PRESETS

    listed = [line.partition(": ")[2].split(", ") for line in bench("list").stdout.splitlines()]
    assert listed == [list(experiments()), list(DATASET_RECIPES), list(PRESETS), list(methods())]


def test_the_list_imports_nothing_heavy():
    code = "import sys, slova.cli; slova.cli.main(['bench', 'list'], standalone_mode=False); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert {"torch", "scipy.optimize", "scipy.ndimage", "sklearn", "pandas", "pyarrow"} & set(loaded) == set()


def test_images_are_computed_in_advance_and_named(folder, monkeypatch):
    from slova_bench import test_sets

    made = test_sets.TestSet("digits-test", "contrast", 3)
    monkeypatch.setattr(test_sets, "prepare", lambda bench, workers: iter([made] * workers))
    done = bench("images", "--on", "digits", "--workers", "2")
    assert [line.split() for line in done.stderr.splitlines()] == [["1", "contrast", "3"], ["2", "contrast", "3"]]
