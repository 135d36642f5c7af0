"""Mutations of files and values, and the number of cases: SLOVA_FUZZ_CASES, which `make fuzz` sets; by default few."""

import copy
import json
import os
import random
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from slova import artifact

CASES = int(os.environ.get("SLOVA_FUZZ_CASES", "1000"))

VALUES = [None, True, False, 0, -1, 1, 3, 10**6, 10**400, 0.5, -0.5, 1.5, 1e300, 1e-300, "", "x", "\x00", "\ud800"]
VALUES += ["a\nb", [], [1], [[1, 2]], ["x"], {}, {"type": "affine"}, {"x": 1}]
NUMBERS = [0.0, -1.0, 0.5, 1.0, 2.0, 1e30, -1e30, 1e300, np.nan, np.inf, -np.inf]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "u1", "?"]


def places(content, path=()):
    """Every place in JSON, by its path."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def mutate_json(content, chance: random.Random):
    """The content with one value replaced, removed, renamed, or put in another place."""
    content = copy.deepcopy(content)
    *parents, last = chance.choice([path for path in places(content) if path])
    owner = content
    for key in parents:
        owner = owner[key]
    kind = chance.randrange(4)
    if kind == 0 and isinstance(owner, dict):
        del owner[last]
    elif kind == 1 and isinstance(owner, dict):
        owner[chance.choice(["x", "type", "\ud800", f"{last}s"])] = owner.pop(last)
    elif kind == 2:
        owner[last] = copy.deepcopy(chance.choice(list(content.values()))) if isinstance(content, dict) else None
    else:
        owner[last] = chance.choice(VALUES)
    return content


def mutate_array(array, chance: random.Random):
    """The array with another number, type, shape or length."""
    array, kind = np.array(array), chance.randrange(5)
    with np.errstate(all="ignore"):
        if kind == 0 and array.size:
            array = array.astype(chance.choice([array.dtype, np.dtype("f8")]))
            array.reshape(-1)[chance.randrange(array.size)] = chance.choice(
                NUMBERS if array.dtype.kind == "f" else [0, 1]
            )
        elif kind == 1:
            array = array.astype(chance.choice(DTYPES))
        elif kind == 2:
            array = array.reshape(chance.choice([(-1,), (1, -1), (-1, 1)]) if array.size else (0,))
        elif kind == 3:
            array = np.resize(array, chance.choice([0, 1, 2, array.size + 1, max(0, array.size - 1)]))
        else:
            array = np.asarray(array.reshape(-1)[0] if array.size else 0.0)
    return array


def mutate_artifact(path, target, kind: str, chance: random.Random) -> None:
    """A file of this kind with the right checksum, and one to three wrong fields or arrays."""
    tensors, meta = artifact.load(path, kind)
    for _ in range(chance.randint(1, 3)):
        if tensors and chance.random() < 0.5:
            name = chance.choice(sorted(tensors))
            tensors[name] = mutate_array(tensors[name], chance)
            if chance.random() < 0.1:
                tensors[chance.choice([f"{name}s", "calibrator.x", "report.rows"])] = tensors.pop(name)
        else:
            meta = mutate_json(meta, chance)
    artifact.save(target, kind, tensors, meta)


def mutate_bytes(content: bytes, chance: random.Random) -> bytes:
    """The bytes with some of them changed, removed, repeated or cut off."""
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        if not content:
            break
        first = chance.randrange(len(content))
        last = min(len(content), first + chance.choice([1, 1, 4, 8, 64]))
        kind = chance.randrange(5)
        if kind == 0:
            content[first] ^= 1 << chance.randrange(8)
        elif kind == 1:
            content[first:last] = chance.randbytes(last - first)
        elif kind == 2:
            del content[first:last]
        elif kind == 3:
            content[first:first] = content[first:last]
        else:
            del content[first:]
    return bytes(content)


def mutate_header(content: bytes, chance: random.Random) -> bytes:
    """A safetensors file whose header of arrays was changed, with the right checksum."""
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    metadata = header.pop("__metadata__")
    header = mutate_json(header, chance) if header else {"x": chance.choice(VALUES)}
    try:
        metadata["sha256"] = artifact._digest(header, metadata["slova"], memoryview(data))
        text = json.dumps({**header, "__metadata__": metadata}).encode()
    except (TypeError, ValueError):  # what JSON does not know
        return content
    return struct.pack("<Q", len(text)) + text + data


@pytest.fixture(scope="session")
def mutate():
    """The functions above."""
    return SimpleNamespace(
        json=mutate_json, array=mutate_array, artifact=mutate_artifact, bytes=mutate_bytes, header=mutate_header
    )


@pytest.fixture
def cases(request):
    """A function from a share of the cases to a random generator for each; the seeds are their numbers."""

    def some(share):
        for number in range(max(1, round(CASES * share))):
            yield random.Random(f"{request.node.name} {number}")

    return some
