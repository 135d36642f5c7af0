"""Example rows for the page: given on purpose in a file of their own, few, and checked like a request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from slova.serve.json_input import most_marks
from slova.serve.limits import Limits, RequestError
from slova.serve.model import Model, ModelError
from slova.serve.routes import parse_plain

__all__ = ["with_examples"]

ROWS, BYTES = 16, 1 << 20


def with_examples(model: Model, path: Path | None) -> Model:
    """The model with the rows of a JSON file, in the form of `inputs` of /predict; all who may use the
    model can read them. None changes nothing."""
    if path is None:
        return model
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > BYTES:
        raise ModelError(f"{path} has {len(text)} bytes; examples have at most {BYTES}")
    try:
        parse_plain(b'{"inputs":' + text + b"}", model, Limits(rows=ROWS), most_marks(model, ROWS))
    except RequestError as error:
        raise ModelError(f"{path}: {error.message}") from error
    return replace(model, examples=json.loads(text))
