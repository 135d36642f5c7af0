"""Malformed, oversized, slow and hostile requests get an answer in the 400s, and change nothing."""

import json
import socket
import time
from contextlib import closing, suppress

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
    "a lone surrogate": b'{"inputs": [[1, 2, 3]], "\\ud800": 1}',
    "a lone surrogate as input": b'{"inputs": {"\\ud800": [[1, 2, 3]]}}',
    "reject 2": b'{"inputs": [[1, 2, 3]], "reject": 2}',
    "reject null": b'{"inputs": [[1, 2, 3]], "reject": null}',
    "reject word": b'{"inputs": [[1, 2, 3]], "reject": "0.5"}',
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_malformed_body_is_rejected_with_a_sentence(client, path, body):
    status, content = client.predict(body, path=path)
    assert status == 400
    assert list(content) == ["error"]
    assert 10 < len(content["error"]) < 400


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
def test_unknown_paths_and_methods_are_errors(client, method, path, status):
    found, _, content = client.ask(method, path)
    assert found == status
    assert len(json.loads(content)["error"]) < 400


@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_body_over_the_limit_is_rejected_by_its_declared_and_by_its_actual_size(client, path):
    large = b" " * 30_000
    status, content = client.predict(large, path=path)
    assert (status, content["error"]) == (413, "the body has 30000 bytes; the limit is 20000")
    chunked = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % path.encode()
    answer = client.raw(chunked, *[b"1000\r\n" + b" " * 4096 + b"\r\n"] * 6, b"0\r\n\r\n", until=b"}")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"the body is larger than 20000 bytes" in answer


def test_a_huge_content_length_is_rejected_before_the_body_is_sent(client):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\nConnection: close\r\n\r\n"
    assert client.raw(head).startswith(b"HTTP/1.1 413")  # no byte of the body was sent


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
def test_what_is_not_http_is_rejected_and_the_connection_closed(client, head):
    answer = client.raw(head)
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 408", b"HTTP/1.1 431", b"HTTP/1.1 501")


def test_slow_headers_time_out_while_they_are_sent(client):
    with closing(socket.create_connection(("127.0.0.1", client.port))) as connection:
        connection.sendall(b"GET /predict HTTP/1.1\r\nX-Slow: ")
        assert while_sending(connection, b"1").startswith(b"HTTP/1.1 408")


def while_sending(connection, byte):
    """What the server sends to a client that keeps sending single bytes."""
    connection.settimeout(0.05)
    for _ in range(2000):
        with suppress(ConnectionError):  # closed meanwhile; what the server sent before can still be read
            connection.sendall(byte)
        try:
            return connection.recv(4096)
        except TimeoutError:
            continue
    raise AssertionError("the server waits for more")


def test_a_connection_without_a_request_times_out(client):
    assert client.raw().startswith(b"HTTP/1.1 408")


def test_a_slow_body_times_out_and_its_connection_is_closed(client):
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    with closing(socket.create_connection(("127.0.0.1", client.port))) as connection:
        connection.sendall(head)
        received = while_sending(connection, b" ")
        connection.settimeout(60)
        while b"}" not in received:
            received += connection.recv(4096)
        assert received.startswith(b"HTTP/1.1 408")
        assert b"the body was not received within 1 seconds" in received
        with suppress(ConnectionResetError):  # where a byte was sent after the end
            assert connection.recv(10) == b""  # although the body is incomplete


def test_a_client_that_disconnects_within_its_body_releases_its_bytes(client):
    for _ in range(5):
        with closing(socket.create_connection(("127.0.0.1", client.port))) as connection:
            connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            time.sleep(0.02)
    while client.metrics()["slova_body_bytes"]:
        time.sleep(0.01)
