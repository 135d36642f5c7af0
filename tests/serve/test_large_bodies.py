"""Large JSON bodies: no call of the parser takes more than a piece of one, and little memory is used."""

import json
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from slova.serve import Limits, Model, Tensor, bodies, pieces
from slova.serve.limits import SMALL, RequestError
from slova.serve.requests import most_marks, parse_infer, parse_predict

MIB = 1 << 20
ROWS = np.arange(24 * 16 * 16 * 32).reshape(24, 16, 16, 32) / 16
LARGE = json.dumps(ROWS.tolist()).encode()


def model(*shape):
    return Model(name="m", platform="", inputs=(Tensor("x", "FP32", shape),), classes=2, run=lambda *_: {})


def tensor(shape, data):
    return b'{"inputs":[{"name":"x","shape":%b,"datatype":"FP32","data":%b}]}' % (json.dumps(shape).encode(), data)


def parsed(parse, body, served):
    limits = Limits()
    return parse(body, served, limits, most_marks(served, limits.rows))


@pytest.fixture
def sizes(monkeypatch):
    """The bytes that each call of the parser is given."""
    found = []

    def recorded(text, **options):
        found.append(len(text))
        return parse(text, **options)

    parse = pieces.from_json
    monkeypatch.setattr(pieces, "PAUSE", 0)
    for module in (pieces, bodies):
        monkeypatch.setattr(module, "from_json", recorded)
    return found


FLAT = b"[" + LARGE.replace(b"[", b"").replace(b"]", b"") + b"]"
VALID = {
    "images": (parse_predict, b'{"inputs":%b,"reject":0.5}' % LARGE, (-1, 16, 16, 32)),
    "an object": (parse_predict, b'{"reject":0.5,"inputs":{"x":\n%b}}' % LARGE, (-1, 16, -1, -1)),
    "numbers": (parse_predict, b'{"inputs":%b}' % FLAT.replace(b"[", b"[[").replace(b"]", b"]]"), (-1, ROWS.size)),
    "a tensor": (parse_infer, tensor(ROWS.shape, LARGE), (-1, 16, 16, 32)),
    "a flat tensor": (parse_infer, tensor(ROWS.shape, FLAT), (-1, 16, 16, 32)),
    "spaced": (parse_predict, b'{"inputs":%b}' % LARGE.replace(b"[", b"\n[  ").replace(b"]", b"\t]"), (-1, 16, 16, 32)),
}


@pytest.mark.parametrize(("parse", "body", "shape"), VALID.values(), ids=VALID.keys())
def test_the_arrays_of_a_large_body_are_parsed_in_pieces(sizes, parse, body, shape):
    inputs = parsed(parse, body, model(*shape))[0]
    np.testing.assert_array_equal(inputs["x"].reshape(ROWS.shape), ROWS.astype(np.float32))
    assert sum(sizes) > 0.8 * len(LARGE)
    assert max(sizes) <= SMALL + 2


def test_other_threads_run_between_two_pieces(monkeypatch):
    order, parse = [], pieces.from_json
    monkeypatch.setattr(pieces, "from_json", lambda text, **options: order.append("piece") or parse(text, **options))
    clock = SimpleNamespace(sleep=lambda seconds: order.append("pause" if seconds else "nothing"))
    monkeypatch.setattr(pieces, "time", clock)  # and not that of other threads
    parsed(parse_predict, b'{"inputs":%b}' % LARGE, model(-1, 16, 16, 32))
    count = len(LARGE) // SMALL + 1
    assert order == ["piece", "pause"] * (count - 1) + ["piece"]


MORE = b"," + LARGE[1:-1]
DEEP = b"," + b"[" * 70 + b"0" + b"]" * 71
INVALID = {
    "an empty row at the end": (b"[" + b"[1]," * MIB + b"[]]", "the input x has lists of different lengths"),
    "deep lists": (LARGE[:-1] + DEEP, "the input x has lists of different lengths"),
    "a null and deep lists": (b"[null" + MORE + DEEP, "the input x must contain numbers only"),
    "a short row at the end": (LARGE[:-2] + b",[1]]]", "the input x has lists of different lengths"),
    "a text at the end": (LARGE[:-4] + b',"text"]]]]', "the input x must contain numbers only"),
    "a null": (b"[null" + MORE + b"]", "the input x must contain numbers only"),
    "an object": (b"[{}" + MORE + b"]", "the input x must contain numbers only"),
    "a long integer": (LARGE[:-4] + b"," + b"9" * 30 + b"]]]]", "the input x has lists of different lengths"),
    "an infinite number": (LARGE[:-7] + b"1e999]]]]", "the input x has an infinite number"),
    "empty lists": (
        b"[" + b"[]," * MIB + b"[]]",
        f"the input x has the shape [{MIB + 1}, 0]; expected [-1, -1, -1, -1]",
    ),
    "no end": (LARGE[:-1], f"the body is not JSON: expected `,` or `]` at line 1 column {10 + len(LARGE)}"),
    "no number": (
        LARGE[:-7] + b"x]]]]",
        f"the body is not JSON: expected `,` or `]` at line 1 column {10 + len(LARGE) - 6}",
    ),
    "NaN in another line": (LARGE[:-7] + b"\nNaN]]]]", "the body is not JSON: expected `,` or `]` at line 2 column 1"),
    "two commas": (b"[0," + MORE + b"]", "the body is not JSON: expected value at line 1 column 14"),
    "spaces": (
        b"[" + b" " * MIB + b"]",
        f"the body has {MIB + 13} bytes beside its arrays of numbers; the limit is {256 << 10}",
    ),
    "a text at the start": (
        b'["text"' + MORE + b"]",
        f"the body has {len(MORE) + 19} bytes beside its arrays of numbers",
    ),
}


@pytest.mark.parametrize(("data", "sentence"), INVALID.values(), ids=INVALID.keys())
def test_a_large_body_is_refused_with_the_reason_by_calls_of_limited_size(sizes, data, sentence):
    with pytest.raises(RequestError) as failed:
        parsed(parse_predict, b'{"inputs":%b}' % data, model(-1, -1, -1, -1))
    assert failed.value.message.startswith(sentence)
    assert max(sizes, default=0) <= bodies.REST


@pytest.mark.parametrize("unit", [b"0.1234,", b"1,", b"[],", b"[1],"])
def test_a_large_body_takes_as_much_memory_as_its_numbers(monkeypatch, unit):
    """Lists of 24 and more bytes per number, and of 56 and more per list, would take several times as much."""
    monkeypatch.setattr(pieces, "PAUSE", 0)
    body = b'{"inputs":[[' + unit * (4 * MIB // len(unit)) + unit[:-1] + b"]]}"
    tracemalloc.start()
    found = parsed(parse_predict, body, model(*[-1] * (2 + unit.count(b"["))))[0]["x"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape[:2] == (1, count := body.count(b",") + 1)
    assert peak < 24 * count + 4 * len(body)
