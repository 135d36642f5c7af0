"""A body that is parsed in pieces gives the same arrays, or the same error, as one that is parsed at once."""

import json
import re

import pytest

pytest.importorskip("fastapi")

from slova.serve import Limits, Model, Tensor, bodies, pieces
from slova.serve.limits import RequestError
from slova.serve.requests import most_marks, parse_infer, parse_predict

LIMITS = Limits(rows=64)
SHAPES = [(-1, 3), (-1,), (-1, -1), (-1, 2, 2), (-1, -1, 2, 1), (-1, 1)]
TOKENS = [
    b"[",
    b"]",
    b",",
    b"[]",
    b"[],",
    b"[[],[]]",
    b" ",
    b"\n",
    b"\t\r\n ",
    b"{}",
    b"{",
    b"}",
    b'"',
    b":",
    b"null",
    b"true",
]
TOKENS += [
    b"false",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"01",
    b"1.",
    b"1e5",
    b"9" * 19,
    b"-" + b"9" * 19,
    b"9" * 25,
]
TOKENS += [
    b"1.5",
    b"1,2",
    b"1],[2",
    b"]]",
    b"[[",
    b"\\",
    b'\\"',
    b'"a"',
    b'"a":',
    b'"data":[1,2],',
    b"\xff",
    b"\xc3\xa9",
    b"\0",
]
VALUES = [0, 1, -7, 2.5, -1e-7, 1e30, 1e300, True, False, 2**63, -(2**63), 12345678901234567890123, None, "x", {}, []]


def model(*shapes, datatype="FP32"):
    inputs = tuple(Tensor(f"x{number}", datatype, shape) for number, shape in enumerate(shapes))
    return Model(name="m", platform="", inputs=inputs, classes=2, run=lambda *_: {})


NUMBERS = [
    lambda chance: round(chance.gauss(0, 1), chance.choice([1, 4, 16])),
    lambda chance: chance.randrange(200),
    lambda chance: chance.choice([0, 1.5, True, 2**63, -5]),
    lambda chance: chance.random() < 0.5,
]


def nested(chance, shape, number):
    """Lists of this shape with such numbers, rarely with anything."""
    if not shape:
        return chance.choice(VALUES) if chance.random() < 0.002 else number(chance)
    return [nested(chance, shape[1:], number) for _ in range(shape[0])]


def request(chance, served):
    """A request of either route that is nearly always valid, as text."""
    shapes = {
        tensor.name: [chance.choice([1, 2, 5, 20]) if size == -1 else size for size in tensor.shape]
        for tensor in served.inputs
    }
    data = {name: nested(chance, shape, chance.choice(NUMBERS)) for name, shape in shapes.items()}
    plain = {"inputs": data if len(data) > 1 or chance.random() < 0.5 else data["x0"], "reject": 0.5}
    tensors = [
        {"name": name, "shape": shapes[name], "datatype": "FP32", "data": flat(each) if chance.random() < 0.5 else each}
        for name, each in data.items()
    ]
    content = chance.choice([plain, {"id": '"[1]\\', "inputs": tensors, "parameters": {"reject": 0.5}}])
    if chance.random() < 0.2:
        content = dict(reversed(content.items()))
    layout = chance.choice([{}, {"separators": (",", ":")}, {"indent": 1}, {"separators": (" ,\n", "\t: ")}])
    return json.dumps(content, **layout).encode()


def flat(values):
    return [number for each in values for number in flat(each)] if isinstance(values, list) else [values]


def damaged(text, chance, mutate):
    kind = chance.random()
    if kind < 0.2:
        return text
    if kind < 0.3:
        return re.sub(rb"\[[^][]*\]", b"[ ]", text, count=chance.choice([0, 1, 2]))  # empty lists
    if kind < 0.4:
        return mutate.bytes(text, chance)
    for _ in range(chance.choice([1, 1, 2, 4])):
        first = chance.randrange(len(text) + 1)
        text = text[:first] + chance.choice(TOKENS) + text[first + chance.choice([0, 0, 1, 2, 5]) :]
    return text


def outcome(parse, text, served):
    """What comes of a request: type, shape and bytes of its arrays and what else is in it, or the error."""
    try:
        inputs, *others = parse(text, served, LIMITS, most_marks(served, LIMITS.rows))
    except RequestError as error:
        return error.status, error.message
    return {name: (values.dtype, values.shape, values.tobytes()) for name, values in inputs.items()}, others


def test_a_request_in_pieces_is_the_request_as_a_whole(monkeypatch, cases, mutate):
    monkeypatch.setattr(pieces, "PAUSE", 0)
    monkeypatch.setattr(pieces, "LEAST", 4)
    valid = replaced = 0
    for chance in cases(0.5):
        shapes = [chance.choice(SHAPES) for _ in range(chance.choice([1, 1, 1, 2]))]
        served = model(*shapes, datatype=chance.choice(["FP32", "FP32", "FP64", "INT64", "UINT8", "BOOL"]))
        text = damaged(request(chance, served), chance, mutate)
        for parse in (parse_predict, parse_infer):
            monkeypatch.setattr(bodies, "SMALL", 1 << 20)
            expected = outcome(parse, text, served)
            for piece in (24, 64, 400):
                monkeypatch.setattr(bodies, "SMALL", piece)
                assert outcome(parse, text, served) == expected, (piece, text)
                replaced += bool(pieces.shorten(text, b"", piece).cuts)
            valid += isinstance(expected[0], dict)
    assert valid > 0
    assert replaced > 0
