"""A file is read whole or refused with a sentence; it appears whole or not at all; nothing in it is run."""

import json
import os
import struct

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from slova import artifact
from slova.artifact import ArtifactError

TENSORS = {"weights": np.arange(12.0).reshape(3, 4), "counts": np.arange(5), "nothing": np.zeros((0, 3), np.float32)}


@pytest.fixture
def path(tmp_path):
    artifact.save(tmp_path / "file.slova", "test", TENSORS, {"name": "é", "list": [1, 2], "deep": {"x": None}})
    return tmp_path / "file.slova"


def test_arrays_and_json_come_back(path):
    tensors, meta = artifact.load(path, "test")
    assert meta == {"format": "slova", "version": 1, "kind": "test", "name": "é", "list": [1, 2], "deep": {"x": None}}
    assert tensors.keys() == TENSORS.keys()
    for name, wanted in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], wanted, strict=True)
        tensors[name][...] = 0  # and are free to be changed


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3)])
def test_every_numpy_type_and_shape_comes_back(tmp_path, dtype, shape):
    wanted = np.ones(shape, dtype)
    artifact.save(tmp_path / "f", "test", {"x": wanted}, {})
    np.testing.assert_array_equal(artifact.load(tmp_path / "f", "test")[0]["x"], wanted, strict=True)
    assert artifact.load(tmp_path / "f", "test", framework="torch")[0]["x"].shape == shape


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64, torch.bool]
)
def test_every_torch_type_comes_back_with_views_and_shared_memory(tmp_path, dtype):
    base = torch.arange(12).reshape(3, 4).to(dtype)
    tensors = {"base": base, "turned": base.T, "part": base[1:], "also": np.ones(2)}
    artifact.save(tmp_path / "f", "test", tensors, {})
    loaded, _ = artifact.load(tmp_path / "f", "test", framework="torch")
    for name in ("base", "turned", "part"):
        assert loaded[name].dtype == dtype
        assert torch.equal(loaded[name], tensors[name])


def test_a_file_without_arrays_is_a_file(tmp_path):
    artifact.save(tmp_path / "f", "test", {}, {"x": 1})
    assert artifact.load(tmp_path / "f", "test")[1]["x"] == 1


def test_the_same_content_is_the_same_file(path, tmp_path):
    tensors, meta = artifact.load(path, "test")
    artifact.save(tmp_path / "again", "test", tensors, meta)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_cut_off_file_is_refused(path):
    content = path.read_bytes()
    for length in {0, 1, 7, 8, 9, len(content) - 1, *(len(content) * i // 10 for i in range(10))}:
        path.write_bytes(content[:length])
        with pytest.raises(ArtifactError, match=r"file\.slova is"):
            artifact.load(path, "test")
    path.write_bytes(content + b"x")
    with pytest.raises(ArtifactError, match="bytes too many"):
        artifact.load(path, "test")


@pytest.mark.parametrize("flip", [0x01, 0x04, 0x20, 0xFF])
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_one_changed_byte_anywhere_is_refused(path, flip, framework):
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= flip
        path.write_bytes(changed)
        with pytest.raises(ArtifactError, match=r"file\.slova"):
            artifact.load(path, "test", framework=framework)


def header_file(header, data=b""):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello, this is a text file and not one of ours\n" * 5,
        b"PK\x03\x04" + bytes(200),
        b"\x80\x04\x95" + bytes(50),
        b"\xff" * 100,
        header_file([]),
        header_file({}),
        header_file({"__metadata__": None}),
        header_file({"__metadata__": {"slova": 5}}),
        header_file({"__metadata__": {"slova": "[]"}}),
        header_file({"__metadata__": {"slova": '{"version": 1}', "sha256": 3}}),
        header_file({"x": 3}),
        header_file({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, b"1234"),
        header_file({"x": {"dtype": "F32", "shape": [1], "data_offsets": "ab"}}, b"1234"),
        header_file({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, None]}}, b"1234"),
        header_file(b"[" * 100_000),
        header_file(b"\xff\xfe"),
    ],
)
def test_a_file_of_another_program_is_refused(tmp_path, content):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"is not a slova file|cut off|damaged"):
        artifact.load(tmp_path / "f", "test")


def test_files_of_others_are_refused(tmp_path):
    np.savez(tmp_path / "a", **TENSORS)
    save_file(TENSORS, tmp_path / "b")
    save_file(TENSORS, tmp_path / "c", metadata={"format": "pt"})
    torch.save({"x": torch.ones(3)}, tmp_path / "d")
    for name in ("a.npz", "b", "c", "d"):
        with pytest.raises(ArtifactError, match="is not a slova file"):
            artifact.load(tmp_path / name, "test")


def test_another_kind_or_version_is_named(path, monkeypatch):
    with pytest.raises(ArtifactError, match="holds a test, expected a scorer or classifier"):
        artifact.load(path, "scorer", "classifier")
    monkeypatch.setattr(artifact, "VERSION", 2)
    with pytest.raises(ArtifactError, match="has format version 1, this slova reads version 2"):
        artifact.load(path, "test")


@pytest.mark.parametrize("text", ["\x1b[2J" + "é" * 2000, ["\x1b" * 2000], "\ud800"])
def test_another_kind_or_version_is_shown_in_short_and_without_control_characters(tmp_path, text, monkeypatch):
    artifact.save(tmp_path / "f", text, {}, {})
    with pytest.raises(ArtifactError, match=r"f holds a .{6,80}, expected a test$") as refused:
        artifact.load(tmp_path / "f", "test")
    assert str(refused.value).isascii()
    with monkeypatch.context() as patch:
        patch.setattr(artifact, "VERSION", text)
        artifact.save(tmp_path / "f", "test", {}, {})
    with pytest.raises(ArtifactError, match=r"f has format version .{6,80}, this slova reads version 1$") as refused:
        artifact.load(tmp_path / "f", "test")
    assert str(refused.value).isascii()


def test_a_type_of_arrays_that_is_unknown_is_shown_in_the_same_way(tmp_path):
    header = {"x": {"dtype": "\x1b[2J" + "é" * 2000, "shape": [1], "data_offsets": [0, 4]}}
    text = json.dumps({"version": 1, "kind": "test"})
    digest = artifact._digest(header, text, memoryview(b"1234"))
    (tmp_path / "f").write_bytes(header_file(header | {"__metadata__": {"slova": text, "sha256": digest}}, b"1234"))
    with pytest.raises(ArtifactError, match=r"f has an array that cannot be read: .{10,200}$") as refused:
        artifact.load(tmp_path / "f", "test")
    assert str(refused.value).isascii()


def test_text_that_is_not_utf_8_is_an_altered_file(tmp_path):
    text = '{"version": 1, "kind": "test", "name": "\ud800"}'
    (tmp_path / "f").write_bytes(header_file({"__metadata__": {"slova": text, "sha256": "0"}}))
    with pytest.raises(ArtifactError, match="f is damaged or was altered"):
        artifact.load(tmp_path / "f", "test")


LARGE = 1 << 40  # bytes of a file without content, which takes no room on the disk and could not be read
TABLE = {"x": {"dtype": "U8", "shape": [LARGE - 1000], "data_offsets": [0, LARGE - 1000]}}


@pytest.mark.parametrize(
    "start",
    [
        b"",
        struct.pack("<Q", LARGE - 8),
        header_file({}),
        header_file(json.dumps(TABLE).ljust(992).encode()),
        header_file({"__metadata__": {"slova": '{"version": 1, "kind": "test"}', "sha256": "0"}}),
    ],
    ids=["zeros", "a header as long as the file", "no header", "of another program", "bytes too many"],
)
def test_a_large_file_is_refused_by_its_header(tmp_path, start):
    with open(tmp_path / "f", "wb") as file:
        file.write(start)
        file.truncate(LARGE)
    with pytest.raises(ArtifactError, match=r"f is not a slova file|f is cut off or has bytes too many"):
        artifact.load(tmp_path / "f", "test")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no pipe has a path here")
def test_a_pipe_is_read_as_well(path):
    outlet, inlet = os.pipe()
    os.write(inlet, path.read_bytes())
    os.close(inlet)
    assert artifact.load(f"/dev/fd/{outlet}", "test")[1]["name"] == "é"
    os.close(outlet)


def test_what_a_caller_stores_cannot_pass_for_another_kind(tmp_path):
    artifact.save(tmp_path / "f", "test", {}, {"kind": "scorer", "version": 9})
    assert artifact.load(tmp_path / "f", "test")[1]["kind"] == "test"


def test_a_failing_write_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        artifact.save(path, "test", {}, {"x": float("nan")})

    def full(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        artifact.save(path, "test", {}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_missing_folder_is_named_and_no_temporary_file(tmp_path):
    with pytest.raises(FileNotFoundError) as failed:
        artifact.save(tmp_path / "nodir" / "f", "test", {}, {})
    assert failed.value.strerror == f"there is no folder {tmp_path / 'nodir'}"
    assert failed.value.filename == str(tmp_path / "nodir" / "f")


def test_a_missing_file_is_simply_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        artifact.load(tmp_path / "f", "test")


def test_no_file_can_run_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + str(tmp_path / "run"),)

    with pytest.raises((TypeError, ValueError, artifact.ArtifactError)):
        artifact.save(tmp_path / "f", "test", {}, {"x": Evil()})
    torch.save(Evil(), tmp_path / "f")
    for framework in ("numpy", "torch"):
        with pytest.raises(ArtifactError):
            artifact.load(tmp_path / "f", "test", framework=framework)
    assert not (tmp_path / "run").exists()


def test_an_unknown_type_is_not_looked_up():
    with pytest.raises(ArtifactError, match="is of type 'Popen', expected one of"):
        artifact.unpack({}, {"type": "Popen"}, "map", {"TemperatureScaling": object})
    with pytest.raises(ArtifactError, match=r"^map is of type .{82}, expected one of T$"):  # not the whole of it
        artifact.unpack({}, {"type": {"x": "x" * 2000}}, "map", {"T": object})
    with pytest.raises(ArtifactError, match="cannot be rebuilt"):
        artifact.unpack({}, {"type": "T", "x": 1}, "map", {"T": object})
