"""Models to serve, and real servers to serve them."""

import asyncio
import http.client
import json
import re
import socket
import threading
from contextlib import closing, contextmanager, suppress

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import slova
from slova.scorer import Scorer
from slova.serve import Limits, application, listen
from slova.serve.load import scorer_model
from slova.serve.server import server

CLASSES, FEATURES = 3, 4
WEIGHTS = np.random.default_rng(1).normal(size=(FEATURES, CLASSES)).astype(np.float32)


@pytest.fixture(scope="session")
def logits():
    return validation(200, seed=8)[0]


@pytest.fixture(scope="session")
def scorer():
    """Calibrated, with NONE rows and a validation set."""
    return Scorer.fit(*validation(2000))


def validation(rows: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(-1, CLASSES, rows)
    logits = generator.normal(-3, 1, (rows, CLASSES))
    known = labels >= 0
    logits[known, labels[known]] += generator.normal(5, 3, known.sum())
    return logits.astype(np.float32), labels


@pytest.fixture
def graph(tmp_path):
    """Writes a linear network with a softmax head as slova exports it: the contract, in plain ONNX operators."""

    def write(name="model.onnx", *, metadata=None, reject=0.0, rows="batch", kind=TensorProto.FLOAT):
        content = {"version": slova.__version__, "classes": CLASSES, "head": "softmax", "reject": reject} | (
            metadata or {}
        )
        model = helper.make_model(
            linear(reject, rows, kind), opset_imports=[helper.make_opsetid("", 18)], ir_version=10
        )
        for key, value in content.items():
            if value is not None:
                model.metadata_props.add(key=f"slova.{key}", value=str(value))
        onnx.save(model, tmp_path / name)
        return tmp_path / name

    return write


def linear(reject: float, rows, kind: int):
    nodes = [
        helper.make_node("Cast", ["features"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["numbers", "weights"], ["logits"]),
        helper.make_node("LogSoftmax", ["logits"], ["log_probs"], axis=-1),
        helper.make_node("ReduceMax", ["log_probs", "last"], ["top"], keepdims=0),
        helper.make_node("Exp", ["top"], ["confidence"]),
        helper.make_node("ArgMax", ["log_probs"], ["best"], axis=-1, keepdims=0),
        helper.make_node("GreaterOrEqual", ["confidence", "reject"], ["sure"]),
        helper.make_node("Where", ["sure", "best", "nobody"], ["label"]),
        helper.make_node("Mul", ["confidence", "zero"], ["none"]),
        helper.make_node("Mul", ["confidence", "zero"], ["ambiguous"]),
    ]
    constants = {
        "weights": WEIGHTS,
        "last": np.array([-1]),
        "reject": np.float32(reject),
        "nobody": np.int64(-1),
        "zero": np.float32(0),
    }
    number = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows]) for n in ("confidence", "none", "ambiguous")]
    return helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("features", kind, [rows, FEATURES])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [rows]),
            *number,
            helper.make_tensor_value_info("log_probs", TensorProto.FLOAT, [rows, CLASSES]),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )


@pytest.fixture
def weights():
    return WEIGHTS


class Client:
    """A server's address, and the few ways to talk to it."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and content."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, headers=None):
        status, _, content = self.ask("GET", path, None, headers)
        return status, json.loads(content)

    def predict(self, content, headers=None, path="/predict"):
        body = content if isinstance(content, bytes | str) else json.dumps(content)
        status, _, content = self.ask("POST", path, body, headers)
        return status, json.loads(content)

    def raw(self, *parts, until=None):
        """What comes back for these bytes, until the server closes, or these bytes have come."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=60)) as connection:
            for part in parts:
                connection.sendall(part)
            received = b""
            with suppress(ConnectionResetError):  # the end of a connection whose request was not read to its end
                while (until is None or until not in received) and (chunk := connection.recv(65536)):
                    received += chunk
            return received

    def metrics(self, headers=None):
        """Numbers by name and labels."""
        text = self.ask("GET", "/metrics", None, headers)[2].decode()
        return {name: float(value) for name, value in re.findall(r"^([^#\s]+) (\S+)$", text, re.MULTILINE)}


@contextmanager
def running(app, limits=None):
    """A real server in a thread, on a port of its own."""
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    made = server(app, limits or Limits(), grace=5)
    thread = threading.Thread(target=lambda: asyncio.run(made.serve([listener])))
    thread.start()
    while not made.started and thread.is_alive():
        threading.Event().wait(0.01)
    try:
        yield Client(port)
    finally:
        made.should_exit = True
        thread.join(60)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def running_server():
    """`with running_server(app, limits) as client`."""
    return running


@pytest.fixture(scope="session")
def client_of():
    """`client_of(port)`, for a server of another kind."""
    return Client


@pytest.fixture
def serving():
    """`with serving(model, limits=..., ...) as client`."""

    def start(model, **options):
        return running(application(model, **options), options.get("limits"))

    return start


@pytest.fixture(scope="module")
def client(scorer):
    """The scorer, served with small limits, under a name."""
    limits = Limits(body=20_000, rows=64, head_seconds=1.0, body_seconds=1.0, requests=8, held=100_000)
    with running(application(scorer_model(scorer, name="map"), limits=limits), limits) as client:
        yield client
