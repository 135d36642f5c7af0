"""`slova fit | score | metrics --engine`: parquet in, parquet out, and errors of one sentence."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import slova
import slova.batch
from slova.batch import EngineError
from slova.batch import ray as ray_engine
from slova.cli import main
from slova.scorer import Scorer

pq = pytest.importorskip("pyarrow.parquet")
psutil = pytest.importorskip("psutil")


@pytest.fixture
def model_file(scorer, tmp_path):
    scorer.save(tmp_path / "model.slova")
    return tmp_path / "model.slova"


def said(*arguments: object) -> dict:
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def error(*arguments: object) -> str:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1), result.output
    return result.stderr.removeprefix("slova: error: ").strip()


@pytest.mark.parametrize("workers", [1, 2])
def test_scores_are_those_of_the_library(rows, scorer, model_file, tmp_path, workers):
    out = tmp_path / "out"
    command = ("score", rows.folder, "--model", model_file, "-o", out, "--engine", "local", "--workers", workers)
    report = said(*command, "--coverage", 0.7, "--batch-size", 111)
    reject = scorer.threshold(coverage=0.7)
    wanted = scorer.predict(rows.logits, reject=reject)
    found = pq.read_table(out)
    np.testing.assert_array_equal(found["id"].to_numpy(), rows.ids)
    np.testing.assert_array_equal(found["label"].to_numpy(), wanted.label)
    np.testing.assert_array_equal(found["confidence"].to_numpy(), wanted.confidence)
    rejected = int((wanted.label == -1).sum())
    assert report == {"output": str(out), "rows": 6000, "reject": reject, "rejected": rejected}


def test_the_labels_of_a_classifier_with_names_are_names(rows, scorer, tmp_path):
    torch = pytest.importorskip("torch")
    names, model, out = ("ash", "elm", "oak", "yew"), tmp_path / "model.slova", tmp_path / "out"
    slova.Classifier(torch.nn.Linear(2, 4), scorer, names=names, reject=0.5).save(model)
    report = said("score", rows.folder, "--model", model, "-o", out, "--engine", "local", "--workers", 1)
    labels = [(*names, "-1")[label] for label in scorer.predict(rows.logits, reject=0.5).label]
    assert pq.read_table(out)["label"].to_pylist() == labels
    assert report["rejected"] == labels.count("-1") > 0


def test_names_and_classes_must_have_the_same_length(rows, scorer, tmp_path):
    with pytest.raises(ValueError, match="got 2 names for 4 classes"):
        slova.batch.score(rows.folder, tmp_path / "out", scorer, names=("ash", "elm"))
    assert not (tmp_path / "out").exists()


def test_predictions_are_replaced_only_with_overwrite(rows, model_file, tmp_path):
    command = ("score", rows.folder, "--model", model_file, "-o", tmp_path / "out", "--engine", "local", "--workers", 1)
    said(*command)
    assert "out already exists: remove it or pass --overwrite" in error(*command)
    assert said(*command, "--overwrite")["rows"] == 6000


def test_a_fit_on_an_engine_is_a_streamed_fit(rows, tmp_path):
    pq.write_table(pq.read_table(rows.folder), tmp_path / "all.parquet")
    streamed = said("fit", tmp_path / "all.parquet", "-o", tmp_path / "a.slova", "--stream", "--pairs", "top")
    found = said("fit", rows.folder, "-o", tmp_path / "b.slova", "--engine", "local", "--workers", 2, "--pairs", "top")
    for name in ("rows", "none_rows", "classes"):
        assert found[name] == streamed[name]
    for name in ("ece_before", "ece_after", "error"):
        assert found[name] == pytest.approx(streamed[name], rel=1e-6)
    logits = rows.logits[:100]
    one, other = (Scorer.load(tmp_path / f"{name}.slova").predict(logits) for name in "ab")
    np.testing.assert_allclose(one.confidence, other.confidence, rtol=1e-5)


def test_metrics_on_an_engine_are_those_of_one_process(rows, model_file, tmp_path):
    pq.write_table(pq.read_table(rows.folder), tmp_path / "all.parquet")
    ood = rows.folder / "0.parquet"
    alone = said("metrics", tmp_path / "all.parquet", "--model", model_file, "--ood", ood)
    found = said("metrics", rows.folder, "--model", model_file, "--ood", ood, "--engine", "local", "--workers", 2)
    bounds, wanted = found.pop("bounds"), alone.pop("bounds")
    assert found.pop("head") == alone.pop("head") == "slova"
    assert found == pytest.approx(alone, rel=1e-9)
    assert bounds == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_a_command_on_an_engine_prints_one_line(request, rows, scorer, model_file, tmp_path, engine):
    """In a separate process, which starts and stops the engine without any other output."""
    request.getfixturevalue(engine)
    words = ["score", rows.folder, "--model", model_file, "-o", "out", "--engine", engine, "--workers", 2]
    command = [sys.executable, "-m", "slova", *map(str, words)]
    kept = ("RAY_worker_niceness", "SPARK_CONF_DIR")  # see conftest.py
    engines = [name for name in os.environ if name.startswith(("PYSPARK", "SPARK", "RAY")) and name not in kept]
    alone = {name: value for name, value in os.environ.items() if name not in engines}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=alone)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "6,000 rows, 0 of them rejected (confidence below 0)\n"
    np.testing.assert_array_equal(
        pq.read_table(tmp_path / "out")["confidence"].to_numpy(), scorer.predict(rows.logits).confidence
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.slova", "out"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_killed_command_leaves_no_output_and_no_process(rows, model_file, tmp_path, number, code):
    words = ["score", rows.folder, "--model", model_file, "-o", "out", "--engine", "local", "--batch-size", 3]
    command = [sys.executable, "-m", "slova", *map(str, words)]
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # which a test run in the background ignores
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heeded
    ) as process:
        while not (writing := [path.name.split("-")[2] for path in tmp_path.glob(".out.*.part/.part-*.parquet.*")]):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == code
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
    while any(psutil.pid_exists(int(process)) for process in writing):
        time.sleep(0.01)
    if number != signal.SIGKILL:  # which gives nobody a chance to tidy up
        assert [path.name for path in tmp_path.iterdir()] == ["model.slova"]


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("spark", "pyspark.sql")])
def test_an_engine_that_is_not_installed_is_named(rows, model_file, tmp_path, monkeypatch, engine, package):
    monkeypatch.setitem(sys.modules, package, None)
    command = ("score", rows.folder, "--model", model_file, "-o", tmp_path / "out", "--engine", engine)
    assert error(*command) == f'the engine {engine} is not installed: pip install "slova[{engine}]"'
    assert [path.name for path in tmp_path.iterdir()] == ["model.slova"]


def test_spark_without_java_is_an_error(rows, model_file, tmp_path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ("score", rows.folder, "--model", model_file, "-o", tmp_path / "out", "--engine", "spark")
    assert error(*command).startswith("the engine spark needs Java 17 or later: java is not on the path")


@pytest.mark.slow
def test_a_java_that_does_not_start_is_an_error(rows, model_file, tmp_path):
    pytest.importorskip("pyspark")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho This is Java 8 >&2\nexit 1\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    command = ["score", rows.folder, "--model", model_file, "-o", tmp_path / "out", "--engine", "spark"]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "slova", *map(str, command)], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (2, "slova: error: Spark could not be started: This is Java 8\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("score {rows} --model {map} --engine local", "--engine writes a folder of parquet files: give it with -o"),
        ("score {rows} --model {map} -o out --workers 2", "--workers requires --engine"),
        ("score {rows}/0.parquet --model {map} -o out.csv --overwrite", "--overwrite requires --engine"),
        ("metrics {rows}/0.parquet --workers 2", "--workers requires --engine"),
        ("fit {rows}/0.parquet -o m.slova --workers 2", "--workers requires --engine"),
        ("fit {rows} -o m.slova --engine local --calibration beta", "--engine supports exponential calibration only"),
        ("fit {rows} -o m.slova --engine local --stream", "--stream has no effect with --engine"),
        ("fit {rows} -o m.slova --engine local --rescale", "--rescale needs all rows in memory"),
        ("fit {rows} -o m.slova --engine local --labels l.npy", "with --engine, labels must be in the same files"),
        ("fit {map} -o m.slova --engine local", "an engine reads .parquet files and folders of them"),
        ("fit missing.parquet -o m.slova --engine local", "missing.parquet: No such file or directory"),
    ],
)
def test_invalid_options_are_errors(rows, model_file, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in error(*words.format(rows=rows.folder, map=model_file).split())
    assert [path.name for path in tmp_path.iterdir()] == ["model.slova"]


@pytest.mark.parametrize(
    "error", [ConnectionError("no cluster"), OSError(28, "No space left"), ValueError(), KeyError("x")]
)
def test_ray_that_cannot_start_is_one_sentence(monkeypatch, error):
    def init(**_):
        raise error

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(EngineError, match=r"^Ray could not be started: .+$"):
        ray_engine._init(SimpleNamespace(init=init), 2)


def test_a_ray_cluster_that_is_not_there_is_known_at_once(monkeypatch):
    """Ray itself tries for minutes."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(EngineError, match=f"there is no cluster at RAY_ADDRESS {address}"):
            ray_engine._init(SimpleNamespace(init=pytest.fail), 2)
