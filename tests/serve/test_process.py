"""`slova serve` as a process: it prints its address and shuts down gracefully; errors at start are one sentence."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing, contextmanager, suppress

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

from slova.cli import main
from slova.cli.serve import _announce as announce

GOOD = json.dumps({"inputs": [[4.0, -4.0, -5.0]]})


@pytest.fixture
def saved(scorer, tmp_path):
    scorer.save(tmp_path / "map.slova")
    return tmp_path / "map.slova"


@contextmanager
def started(*words, env=None):
    """A process and its port; killed if the test forgets it."""
    command = [sys.executable, "-m", "slova", "serve", *map(str, words), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    try:
        line = process.stderr.readline()
        yield process, int(re.search(r"on http://127.0.0.1:(\d+)", line)[1])
    finally:
        process.kill()
        process.communicate()


def ask(port, method="POST", path="/predict", body=GOOD, headers=None):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def read(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read()


def test_a_request_in_flight_is_answered_and_no_new_one_is_taken(saved, scorer):
    found, seen = [], threading.Event()

    def keep_asking(port):  # on a busy machine the first request may be over before it is seen
        while not seen.is_set():
            found.append(ask(port))

    with started(saved, "--batch-wait", "1000") as (process, port):
        idle = socket.create_connection(("127.0.0.1", port))
        asking = threading.Thread(target=keep_asking, args=(port,))
        asking.start()
        while b"slova_requests_in_flight 1" not in read(port, "/metrics"):
            pass
        seen.set()
        process.send_signal(signal.SIGTERM)
        with suppress(ConnectionError):  # refused, or reset where it was in the queue of the closing socket
            while True:
                socket.create_connection(("127.0.0.1", port)).close()
        asking.join(60)
        assert process.wait(60) == 0
        assert process.stderr.read() == "stopped\n"
        idle.close()
    expected = scorer.predict(np.array([[4.0, -4.0, -5.0]], np.float32))
    assert found
    for status, answers in found:
        assert status == 200
        assert answers[0]["confidence"] == pytest.approx(float(expected.confidence[0]), abs=1e-5)


def test_an_error_inside_the_server_is_in_its_log(saved):
    code = """
import sys
from dataclasses import replace
import slova.serve
load = slova.serve.load_model
slova.serve.load_model = lambda *words, **more: replace(load(*words, **more), run=lambda *_: 1 / 0)
from slova.cli import main
main(sys.argv[1:])
"""
    command = [sys.executable, "-c", code, "serve", str(saved), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        port = int(re.search(r"on http://127.0.0.1:(\d+)", process.stderr.readline())[1])
        assert ask(port)[0] == 500
        process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=60)[1]
    assert "ERROR slova.serve: a request failed" in log
    assert "ZeroDivisionError: division by zero" in log


@pytest.mark.parametrize("source", ["file", "environment"])
def test_the_token_comes_from_a_file_or_the_environment(saved, tmp_path, source):
    (tmp_path / "token").write_text("s3cret\n")
    words = ["--token-file", tmp_path / "token"] if source == "file" else []
    with started(saved, *words, "--name", "trees", env={"SLOVA_TOKEN": "s3cret"}) as (_, port):
        assert ask(port)[0] == 401
        token = {"Authorization": "Bearer s3cret"}
        assert ask(port, headers=token)[0] == 200
        assert ask(port, "GET", "/v2/models/trees", None, token)[1]["platform"] == "slova"
        assert ask(port, "GET", "/v2/health/live", None)[0] == 200


def test_an_exported_model_is_served_with_its_names_and_threshold(graph):
    path = graph(metadata={"names": json.dumps(["ash", "elm", "oak"])}, reject=0.5)
    with started(path) as (process, port):
        status, answers = ask(port, body=json.dumps({"inputs": [[9, 0, 0, 0], [0, 0, 0, 0]]}))
        assert status == 200
        assert [row["label"] in ("ash", "elm", "oak", None) for row in answers] == [True, True]
        assert answers[1]["label"] is None
        describe = ask(port, "GET", "/predict", None)[1]
        assert (describe["names"], describe["reject"]) == (["ash", "elm", "oak"], 0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def error(*words) -> str:
    """The error message of the command."""
    result = CliRunner().invoke(main, ["serve", *map(str, words), "--port", "0"])
    lines = result.stderr.splitlines()
    assert (result.exit_code, result.stdout, len(lines)) == (2, "", 1), (result.output, result.exception)
    return lines[0].removeprefix("slova: error: ")


def test_a_port_in_use_is_an_error(saved):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["serve", str(saved), "--port", str(port)])
    assert result.exit_code == 2
    sentence = f"slova: error: port {port} of 127.0.0.1 is in use: choose another one with --port\n"
    assert result.stderr == sentence


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_named(saved, host):
    assert error(saved, "--host", host).startswith(f"{host} port 0 cannot be listened on: ")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.onnx", None, "missing.onnx cannot be read: No such file or directory"),
        ("missing.slova", None, "missing.slova cannot be read: No such file or directory"),
        ("empty.onnx", b"", "empty.onnx is not a readable ONNX model: "),
        ("text.onnx", b"hello", "text.onnx is not a readable ONNX model: "),
        ("text.txt", b"hello", "text.txt: a model file must end in .onnx or .slova, got .txt"),
        ("val.npz", b"hello", "val.npz: a model file must end in .onnx or .slova, got .npz"),
        ("model", None, "model: a model file must end in .onnx or .slova, got no suffix"),
        ("model.pt2", None, "model.pt2: a .pt2 file cannot be served: export to .onnx"),
        ("text.slova", b"hello, this is no scorer", "text.slova is not a slova file"),
    ],
)
def test_invalid_model_files_are_errors(tmp_path, monkeypatch, name, content, sentence):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert error(name).startswith(sentence)


def other(outputs):
    names = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in outputs]
    nodes = [helper.make_node("Identity", ["x"], [name]) for name in outputs]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, names), ir_version=10)
    model.opset_import[0].version = 18
    return model


def test_other_onnx_models_are_rejected(tmp_path, graph):
    onnx.save(other(["y"]), tmp_path / "theirs.onnx")
    assert "theirs.onnx was not exported by slova" in error(tmp_path / "theirs.onnx")
    model = other(["label", "confidence"])
    for key, value in {"version": "1", "classes": "4", "head": "slova", "reject": "0"}.items():
        model.metadata_props.add(key=f"slova.{key}", value=value)
    onnx.save(model, tmp_path / "half.onnx")
    assert error(tmp_path / "half.onnx").endswith(
        "has the outputs label, confidence; expected label, confidence, none, ambiguous, log_probs"
    )
    sentence = error(graph("fixed.onnx", rows=5))
    assert sentence.endswith("takes features of shape [5, 4]; its first axis must be dynamic")
    assert "takes features as tensor(string); only numeric inputs" in error(graph("text.onnx", kind=TensorProto.STRING))
    assert "returns log_probs (2, 3) for 2 rows, but its metadata has 5 classes" in error(
        graph(metadata={"classes": 5})
    )
    assert "3 classes" in error(graph(metadata={"names": '["a", "b"]'}))
    assert "is damaged" in error(graph(metadata={"classes": "many"}))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: No such file or directory"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"two words", "the token must be printable ASCII without spaces"),
    ],
)  # fmt: skip
def test_an_invalid_token_file_is_an_error(saved, tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    assert error(saved, "--token-file", tmp_path / "token").endswith(sentence)


def test_the_missing_extra_is_named(saved, graph):
    code = "import sys; sys.modules[{!r}] = None; from slova.cli import main; main(['serve', {!r}])"
    for module, path in (("fastapi", saved), ("prometheus_client", saved), ("onnxruntime", graph())):
        done = subprocess.run([sys.executable, "-c", code.format(module, str(path))], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.endswith('pip install "slova[serve]"\n')
        assert len(done.stderr.splitlines()) == 1


def test_a_scorer_needs_no_onnx_runtime_and_no_torch(saved):
    code = (
        "import sys; sys.modules['onnxruntime'] = sys.modules['torch'] = None; from pathlib import Path;"
        "from slova.serve import application, load_model; application(load_model(Path({!r}))); print('served')"
    )
    done = subprocess.run([sys.executable, "-c", code.format(str(saved))], capture_output=True, text=True)
    assert done.stdout == "served\n", done.stderr


@pytest.mark.parametrize(
    ("host", "token", "warned"),
    [("127.0.0.1", None, False), ("::1", None, False), ("0.0.0.0", None, True), ("0.0.0.0", "s3cret", False)],
)
def test_serving_other_hosts_without_a_token_is_warned_about(capsys, host, token, warned):
    announce("map", host, 8000, token)
    content = capsys.readouterr().err
    assert content.startswith(f"slova: warning: everybody who can reach {host} can use the model") == warned
    assert f"serving map on http://{'[::1]' if host == '::1' else host}:8000, press Ctrl+C" in content
