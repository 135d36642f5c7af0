"""How much is taken on at a time, and from whom."""

import json
import re
import socket
import threading
import time
from contextlib import closing, suppress
from urllib.parse import urljoin

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from slova.serve import Limits, Model, Tensor, application
from slova.serve.load import scorer_model

GOOD = {"inputs": [[4.0, -4.0, -5.0]]}
INFER = "/v2/models/map/infer"


def test_the_largest_requests_at_once_are_held_to_a_sum(scorer, serving):
    limits = Limits(body=20_000, held=30_000)
    with serving(scorer_model(scorer, name="map"), limits=limits) as client:
        connections = [socket.create_connection(("127.0.0.1", client.port), timeout=60) for _ in range(3)]
        for number, connection in enumerate(connections):
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 19000\r\n\r\n" + b" " * 14_000)
            while client.metrics()["slova_body_bytes"] < 14_000 * min(number + 1, 2):
                pass
        answer = connections[2].recv(4096)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in answer
        for connection in connections:
            connection.close()
        assert client.predict(GOOD)[0] == 200


def test_requests_over_the_limit_get_503_with_retry_after(serving):
    gate = threading.Event()
    with serving(slow(gate), limits=Limits(requests=3)) as client:
        found = []
        threads = [threading.Thread(target=lambda: found.append(client.predict(GOOD))) for _ in range(3)]
        for thread in threads:
            thread.start()
        while client.metrics()["slova_requests_in_flight"] < 3:
            time.sleep(0.01)
        status, headers, content = client.ask("POST", "/predict", json.dumps(GOOD))
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(content)["error"].startswith("3 requests are in progress, which is the limit")
        assert client.get("/v2/health/ready")[0] == 200
        gate.set()
        for thread in threads:
            thread.join()
        assert [status for status, _ in found] == [200] * 3


def slow(gate):
    """A model of three numbers that answers when the gate opens."""

    def run(inputs, wanted):
        gate.wait(60)
        rows = len(inputs["logits"])
        answers = {"label": np.zeros(rows, int), "log_probs": np.zeros((rows, 3))}
        return {name: answers.get(name, np.ones(rows, np.float32)) for name in wanted}

    return Model(name="map", platform="test", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=3, run=run)


def test_connections_over_the_limit_are_hung_up_on(scorer, serving):
    limits = Limits(connections=5)
    with serving(scorer_model(scorer), limits=limits) as client:
        kept = [socket.create_connection(("127.0.0.1", client.port), timeout=60) for _ in range(5)]
        with pytest.raises(OSError):
            client.predict(GOOD)
        for connection in kept:
            connection.close()
        assert once_there_is_room(client) == 200


def once_there_is_room(client):
    while True:
        with suppress(OSError):
            return client.predict(GOOD)[0]


def test_a_response_that_is_not_read_times_out(serving):
    def run(inputs, wanted):
        rows = len(inputs["logits"])
        answers = {"label": np.zeros(rows, int), "log_probs": np.zeros((rows, 1_000_000), np.float32)}
        return {name: answers.get(name, np.ones(rows, np.float32)) for name in wanted}

    model = Model(name="map", platform="", inputs=(Tensor("logits", "FP32", (-1, 3)),), classes=1_000_000, run=run)
    with serving(model, limits=Limits(answer_seconds=0.5, connections=1)) as client:
        body = {"inputs": [{"name": "logits", "shape": [2, 3], "datatype": "FP32", "data": [0] * 6}]}
        body = json.dumps(body | {"parameters": {"binary_data_output": True}}).encode()
        with closing(socket.socket()) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", client.port))
            connection.sendall(
                b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (INFER.encode(), len(body))
            )
            connection.sendall(body)
            assert once_there_is_room(client) == 200  # the connection was given up
            connection.settimeout(60)
            received = 0
            with suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    received += len(part)
            assert received < 8_000_000


def test_the_scheme_of_the_token_is_case_insensitive(scorer, serving):
    with serving(scorer_model(scorer), token="s3cret") as client:
        assert client.predict(GOOD, {"Authorization": "bearer s3cret"})[0] == 200


def test_the_token_is_required_except_for_health_and_pages(scorer, serving):
    with serving(scorer_model(scorer, name="map"), token="s3cret") as client:
        for path in ("/v2/health/live", "/v2/health/ready", "/", "/docs", "/openapi.json", "/pages/try.js"):
            assert client.ask("GET", path)[0] == 200
        wrong = ["Bearer wrong", "s3cret", "Bearer s3cretx", "Bearer s3cre", "Bearer ", b"Bearer \xff", "Basic s3cret"]
        for headers in [{}, *({"Authorization": each} for each in wrong)]:
            for path in ("/predict", "/metrics", "/v2", "/v2/models/map", "/nothing", "/v2/healthy"):
                status, found, content = client.ask("GET", path, None, headers)
                assert (status, found["www-authenticate"]) == (401, "Bearer")
                assert "s3cret" not in content.decode()
            assert client.predict(GOOD, headers)[0] == 401
        right = {"Authorization": "Bearer s3cret"}
        assert client.predict(GOOD, right)[0] == 200
        assert client.metrics(right)["slova_rows_total"] == 1


def test_two_tokens_are_none(scorer, serving):
    with serving(scorer_model(scorer), token="s3cret") as client:
        head, token = b"GET /predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", b"Authorization: Bearer s3cret\r\n"
        assert client.raw(head, token, b"\r\n").startswith(b"HTTP/1.1 200")
        assert client.raw(head, token, token, b"\r\n").startswith(b"HTTP/1.1 401")


def test_under_a_prefix_health_and_pages_need_no_token_and_pages_load_what_is_under_it(scorer, running_server):
    app = Starlette(routes=[Mount("/digits", application(scorer_model(scorer), token="s3cret"))])
    app.router.lifespan_context = app.routes[0].app.router.lifespan_context
    with running_server(app) as client:
        assert client.get("/digits/v2/health/live")[0] == 200
        assert client.get("/digits/predict")[0] == 401
        for page in ("", "docs"):
            links = re.findall(rb'(?:src|href)="([^":]+)"', client.ask("GET", f"/digits/{page}")[2])
            assert len(links) >= 3
            found = {client.ask("GET", urljoin(f"/digits/{page}", link.decode()))[0] for link in links}
            assert found == {200}
