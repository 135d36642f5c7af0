"""Malformed, oversized, slow and hostile requests get an answer in the 400s, and change nothing."""

import json
import socket
import time
from contextlib import closing

import pytest

GOOD = {"inputs": [[4.0, -4.0, -5.0]]}
INFER = "/v2/models/map/infer"
KEPT = ("slova_rows_total", "slova_none_total", "slova_confidence_sum", "slova_window_rows")


@pytest.fixture(autouse=True)
def unchanged(request):
    """After a test with the shared client a good request is answered as ever, and the metrics count nothing else."""
    if "client" not in request.fixturenames:
        yield
        return
    client = request.getfixturevalue("client")
    good, before = client.predict(GOOD), client.metrics()
    yield
    after = client.metrics()
    assert {name: after[name] for name in KEPT} == {name: before[name] for name in KEPT}
    assert (after["slova_requests_in_flight"], after["slova_body_bytes"]) == (0, 0)
    assert not [name for name in after if 'code="5' in name]
    assert client.predict(GOOD) == good
    assert good[0] == 200


BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "a word": b"hello",
    "a list": b"[1, 2, 3]",
    "a number": b"7",
    "no inputs": b"{}",
    "no rows": b'{"inputs": []}',
    "empty rows": b'{"inputs": [[], []]}',
    "a flat row": b'{"inputs": [1, 2, 3]}',
    "ragged rows": b'{"inputs": [[1, 2, 3], [1, 2]]}',
    "wide rows": b'{"inputs": [[1, 2, 3, 4]]}',
    "too many rows": json.dumps({"inputs": [[1, 2, 3]] * 65}).encode(),
    "words": b'{"inputs": [["a", "b", "c"]]}',
    "null": b'{"inputs": [[1, null, 3]]}',
    "objects": b'{"inputs": [[1, {}, 3]]}',
    "another input": b'{"inputs": {"x": [[1, 2, 3]]}}',
    "NaN": b'{"inputs": [[1, NaN, 3]]}',
    "Infinity": b'{"inputs": [[1, Infinity, 3]]}',
    "-Infinity": b'{"inputs": [[1, -Infinity, 3]]}',
    "NaN elsewhere": b'{"inputs": [[1, 2, 3]], "note": NaN}',
    "1e999": b'{"inputs": [[1, 1e999, 3]]}',
    "1e300": b'{"inputs": [[1, 1e300, 3]]}',
    "long integer": b'{"inputs": [[1, ' + b"9" * 10_000 + b", 3]]}",
    "deep lists": b'{"inputs": ' + b"[" * 9_000 + b"]" * 9_000 + b"}",
    "deep objects": b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    "deep and open": b"[" * 19_000,
    "deep enough for numpy": b'{"inputs": ' + b"[" * 70 + b"1" + b"]" * 70 + b"}",
    "not UTF-8": b'{"inputs": "\xff\xfe"}',
    "UTF-16": '{"inputs": [[1, 2, 3]]}'.encode("utf-16"),
    "a NUL": b'{"inputs": [[1, 2, 3]]}\0',
    "a pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94",
    "reject 2": b'{"inputs": [[1, 2, 3]], "reject": 2}',
    "reject null": b'{"inputs": [[1, 2, 3]], "reject": null}',
    "reject word": b'{"inputs": [[1, 2, 3]], "reject": "0.5"}',
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_malformed_body_is_refused_with_a_sentence(client, path, body):
    status, said = client.predict(body, path=path)
    assert status == 400
    assert list(said) == ["error"]
    assert 10 < len(said["error"]) < 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("DELETE", "/predict", 405),
        ("GET", INFER, 405),
        ("POST", "/metrics", 405),
        ("POST", "/v2/models/other/infer", 404),
        ("POST", "/v2/models/map/versions/9/infer", 404),
        ("GET", "/pages/..%2f__init__.py", 404),
        ("GET", "/pages/__init__.py", 404),
        ("GET", "/v2/models/" + "x" * 5000, 404),
        ("GET", "/%ff%00", 404),
        ("OPTIONS", "/predict", 405),
    ],
)
def test_what_there_is_not_is_said_to_be_missing(client, method, path, status):
    found, _, content = client.ask(method, path)
    assert found == status
    assert len(json.loads(content)["error"]) < 400


@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_body_over_the_limit_is_refused_by_what_it_says_and_by_what_it_is(client, path):
    large = b" " * 30_000
    status, said = client.predict(large, path=path)
    assert (status, said["error"]) == (413, "the body has 30000 bytes, and the limit is 20000")
    chunked = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % path.encode()
    answer = client.raw(chunked, *[b"1000\r\n" + b" " * 4096 + b"\r\n"] * 6, b"0\r\n\r\n", wait=1)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the body is larger than 20000 bytes" in answer


def test_a_promise_of_a_huge_body_is_refused_before_it_comes(client):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\nConnection: close\r\n\r\n"
    start = time.perf_counter()
    assert client.raw(head).startswith(b"HTTP/1.1 413")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        bytes(range(256)) * 20,
    ],
)
def test_what_is_not_http_is_refused_and_hung_up_on(client, head):
    answer = client.raw(head, wait=5)
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 408", b"HTTP/1.1 431", b"HTTP/1.1 501")


def test_a_head_that_trickles_is_given_up(client):
    start = time.perf_counter()
    with closing(socket.create_connection(("127.0.0.1", client.port), timeout=10)) as connection:
        for byte in b"GET /predict HTTP/1.1\r\nX-Slow: 1\r\n"[:40]:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                break
            time.sleep(0.05)
        assert connection.recv(100).startswith(b"HTTP/1.1 408")
    assert time.perf_counter() - start < 4


def test_a_connection_that_says_nothing_is_given_up(client):
    start = time.perf_counter()
    assert client.raw(wait=5).startswith(b"HTTP/1.1 408")
    assert 0.5 < time.perf_counter() - start < 4


def test_a_body_that_trickles_is_given_up_and_so_is_its_connection(client):
    start = time.perf_counter()
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    with closing(socket.create_connection(("127.0.0.1", client.port), timeout=10)) as connection:
        connection.sendall(head)
        received = b""
        while b"}" not in received:
            connection.sendall(b" ")
            connection.settimeout(0.1)
            try:
                received += connection.recv(4096)
            except TimeoutError:
                continue
        assert received.startswith(b"HTTP/1.1 408")
        assert b"the body did not come within 1 seconds" in received
        connection.settimeout(5)
        assert connection.recv(10) == b""  # the unread rest is not waited for
    assert time.perf_counter() - start < 5


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind(client):
    for _ in range(5):
        with closing(socket.create_connection(("127.0.0.1", client.port))) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            time.sleep(0.02)
    time.sleep(0.1)
    assert client.metrics()["slova_body_bytes"] == 0
