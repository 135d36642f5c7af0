"""Large JSON, parsed in pieces: the parser holds the interpreter lock for a whole text, and nobody else is answered
meanwhile.

The arrays of numbers are cut out of the text, parsed a piece at a time, and replaced by short lists. What is left is
short, and the parser of whole texts reads it; it also words every error, and is shown the piece in which one is.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from pydantic_core import from_json

from slova.serve.limits import SMALL
from slova.serve.model import Arrays, Values

__all__ = ["Short", "shorten"]

LEAST = 256  # bytes of an array that is worth replacing
DEEPEST = 64  # axes of a numpy array
PAUSE = 1e-4  # seconds: a thread that waits for the lock takes it only if this one is away for a moment
SPACE = b" \t\r\n"
COLON = re.compile(rb"[ \t\r\n]{0,64}:[ \t\r\n]{0,64}(?=\[)")
FORM = bytes(byte if byte in b"[]," else ord("0") for byte in range(256))
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]")
UNNESTED = bytes.maketrans(b"[]", b"  ")
STEPS = np.array([(byte == ord("[")) - (byte == ord("]")) for byte in range(256)], np.int32)
RAGGED, OTHER = b"[[],0]", b"[{}]"  # what is refused as lists of different lengths, and as more than numbers


@dataclass
class Short:
    """A text without its arrays: each is a list of one name, which `arrays` has. The names cannot be guessed."""

    text: bytes | bytearray
    parts: list[bytes | bytearray | memoryview] = field(default_factory=list)
    arrays: Arrays = field(default_factory=dict)
    cuts: list[tuple[int, int]] = field(default_factory=list)  # a place in the short text, and the bytes missing there
    end: int = 0  # of what has been taken of the text

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    def rest(self) -> bytes:
        return b"".join(self.parts)

    def keep(self, end: int) -> None:
        self.parts.append(memoryview(self.text)[self.end : end])
        self.end = end

    def replace(self, end: int, other: bytes) -> None:
        """Put something else in the place of the text up to `end`."""
        self.cuts.append((self.size, end - self.end - len(other)))
        self.parts.append(other)
        self.end = end

    def located(self, message: str) -> str:
        """An error of the parser, with the line and the column that its place has in the text."""
        found = re.fullmatch(r"(.*) at line (\d+) column (\d+)", message, re.DOTALL)
        if not found:
            return message
        line, column = int(found[2]), int(found[3])
        earlier = self.rest().split(b"\n", line - 1)[: line - 1]
        place = sum(map(len, earlier)) + len(earlier) + column - 1
        place += sum(missing for start, missing in self.cuts if start <= place)
        line, before = self.text.count(b"\n", 0, place + 1) + 1, self.text.rfind(b"\n", 0, place + 1)
        return f"{found[1]} at line {line} column {place - before}"


def shorten(text: bytes | bytearray, key: bytes = b"", piece: int = SMALL) -> Short:
    """The text with short lists in the place of the arrays of numbers that are the value of a key, or of this key. It
    ends after a piece in which an array is no JSON. Other numbers are left in it."""
    short = Short(text)
    for start, name in _lists(text):
        stop = text.find(b'"', start)
        stop = len(text) if stop < 0 else stop
        if stop - start >= LEAST and key in (b"", name):
            found = _Array()
            if (end := found.read(text, start, stop, piece)) > start:
                short.keep(start)
                short.replace(end, found.replacement(short.arrays))
            if found.broken:
                short.keep(end + piece)
                return short
    short.keep(len(text))
    return short


def _lists(text: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """Where a list begins that is the value of a key, and the key."""
    end = 0
    while (start := text.find(b'"', end)) >= 0 and (end := _string_end(text, start)):
        if colon := COLON.match(text, end):
            yield colon.end(), bytes(text[start:end])


def _string_end(text: bytes | bytearray, start: int) -> int:
    """The end of the string that begins at a place, 0 without one: a quotation mark that is not escaped."""
    while (mark := text.find(b'"', start + 1)) >= 0:
        inside = text[start + 1 : mark]
        if (len(inside) - len(inside.rstrip(b"\\"))) % 2 == 0:
            return mark + 1
        start = mark
    return 0


@dataclass
class _Array:
    """Nested lists of numbers, read in pieces."""

    depth: int = 0  # lists that are still open
    values: int = 0  # numbers and empty lists
    empty: int = 0  # empty lists
    other: bool = False  # whether something else is in them
    broken: bool = False  # whether they are no JSON
    blocks: list[Values] = field(default_factory=list)
    marks: list[bytes] = field(default_factory=list)  # brackets and commas

    def read(self, text: bytes | bytearray, start: int, stop: int, piece: int) -> int:
        """Read the array, and return where it ends. If it is none, because of what is in a piece, return where that
        piece begins; if a piece has no end, the start."""
        at = start
        while True:
            part = bytes(text[at : min(stop, at + piece)])
            size, depth, deepest = _end(part, self.depth)
            if size < 0 and at + piece < stop:
                return start
            if size < 0 or deepest > DEEPEST:
                return at
            self.broken = not self.add(part[:size])
            if self.broken:
                return at
            self.depth = depth
            if not depth:
                return at + size
            at += size + 1
            time.sleep(PAUSE)

    def add(self, part: bytes) -> bool:
        """Parse what is between two commas, unless it is no part of an array."""
        form = part.translate(FORM, SPACE)
        if any(pair in form for pair in (b"0[", b"]0", b"][")):
            return False
        if b"[]" in form:
            part = _with_zeros(part)
            self.empty += form.count(b"[]")
        try:
            values = from_json(b"[" + part.translate(UNNESTED) + b"]", allow_inf_nan=False)
        except ValueError:
            return False
        self.values += len(values)
        self.marks.append(form.translate(None, b"0"))
        self.blocks.append(block := np.array(values))
        if block.dtype == object:  # of integers only, if they have more than 64 bits
            self.other = self.other or not set(map(type, values)) <= {int, float, bool}
            self.blocks[-1] = block[:0]
        return bool(values)

    def replacement(self, arrays: Arrays) -> bytes:
        """A short list in place of what was read. It is refused with the same words as the array would be, or names an
        array, which is added to the others."""
        if self.depth:  # the text goes on after a comma
            return b"[" * self.depth + (b"{}," if self.other else b"0,")
        if self.other:
            return OTHER
        shape = _shape(b",".join(self.marks))
        if shape is None or self.empty not in (0, self.values):
            return RAGGED
        if any(block.dtype == object for block in self.blocks):
            return OTHER
        array = np.empty((*shape[:-1], 0)) if self.empty else self.joined().reshape(shape)
        if array.shape == (0,):
            return b"[]"
        arrays[name := secrets.token_hex()] = array
        return b'["%b"]' % name.encode()

    def joined(self) -> Values:
        """All numbers. Each block is freed when it has been copied."""
        array = np.empty(end := self.values, np.result_type(*{block.dtype for block in self.blocks}))
        while self.blocks:
            block = self.blocks.pop()
            array[end - len(block) : end] = block
            end -= len(block)
        return array


def _end(part: bytes, depth: int) -> tuple[int, int, int]:
    """Where the array ends in a part of it, or else its last comma, -1 without one; how many lists are open there; and
    how many are open at most in the part, of which so many are open at its beginning."""
    brackets = part.translate(None, NO_BRACKETS)
    depths = depth + np.cumsum(STEPS[np.frombuffer(brackets, np.uint8)])
    deepest = int(depths.max(initial=depth))
    if (depths == 0).any():
        last = brackets.count(b"]", 0, int((depths == 0).argmax()) + 1)
        return int(np.flatnonzero(np.frombuffer(part, np.uint8) == ord("]"))[last - 1]) + 1, 0, deepest
    size = part.rfind(b",")
    rest = part[size:]
    return size, int(depths[-1] if depths.size else depth) - rest.count(b"[") + rest.count(b"]"), deepest


def _with_zeros(part: bytes) -> bytes:
    """The text with a number in the place of every empty list."""
    found = np.frombuffer(part, np.uint8).copy()
    places = np.flatnonzero(~np.isin(found, list(SPACE)))
    empty = (found[places[:-1]] == ord("[")) & (found[places[1:]] == ord("]"))
    found[places[:-1][empty]] = ord("0")
    return found.tobytes()


def _shape(marks: bytes) -> tuple[int, ...] | None:
    """The shape of an array with these brackets and commas. An empty list counts as one value. None if the lengths of
    the lists differ."""
    depth = len(marks) - len(marks.lstrip(b"["))
    block, shape = b"", tuple[int, ...]()
    for level in range(1, depth + 1):  # from the innermost list; the first one of each level is as long as the others
        size = marks.find(b"]" * level) + 2 * level - depth
        count = (size - 1) // (len(block) + 1)
        block, shape = b"[" + ((block + b",") * count)[:-1] + b"]", (count, *shape)
    return shape if block == marks else None
