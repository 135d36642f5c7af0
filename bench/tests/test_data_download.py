"""The download, from a local server that can fail."""

import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from slova_bench.data.download import RETRIES, DataError
from slova_bench.data.files import Archive, File, pack

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
LABELS = np.arange(20) % 10


def read(path):
    return np.fromfile(path, np.uint8).reshape(IMAGES.shape), LABELS


@pytest.fixture
def content():
    return IMAGES.tobytes()


@pytest.fixture
def server(content):
    """Serves the content after a list of failures: a status, or "cut" for half a body."""
    failures, requests = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            failure = failures.pop(0) if failures else 200
            self.send_response(failure if failure != "cut" else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if failure == "cut" else content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.failures, running.requests = failures, requests
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def file(server, content):
    url, md5 = f"http://127.0.0.1:{server.server_port}/~toy/toy.bin", hashlib.md5(content).hexdigest()
    sha256 = (hashlib.sha256(IMAGES.tobytes()).hexdigest(), hashlib.sha256(LABELS.tobytes()).hexdigest())
    return File(
        name="toy-train",
        sha256=sha256,
        archive=Archive(url, md5, read),
    )


@pytest.fixture
def web(monkeypatch):
    """The downloader, without proxies and without waiting between attempts."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def left_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_split_is_downloaded_once_and_kept(web, file, server, tmp_path):
    folder = tmp_path / "new" / "folder"
    first, second = pack(file, folder), pack(file, folder)
    assert server.requests == ["/~toy/toy.bin"]
    assert left_in(folder) == ["toy-train.npz", "toy.bin"]
    for found in (first, second):
        assert (found.images == IMAGES).all()
        assert (found.labels == LABELS).all()


def test_two_splits_of_an_archive_are_one_download(web, file, server, tmp_path):
    pack(file, tmp_path)
    part = Archive(file.archive.url, file.archive.md5, lambda path: tuple(array[:8] for array in read(path)))
    assert len(pack(File(name="toy-test", archive=part), tmp_path).images) == 8
    assert len(server.requests) == 1


@pytest.mark.parametrize("failures", [[503], [500, 502, 429], ["cut"], ["cut", 503, "cut"]])
def test_a_failure_that_passes_is_tried_again(web, file, server, tmp_path, failures):
    server.failures.extend(failures)
    assert (pack(file, tmp_path / "new").images == IMAGES).all()
    assert len(server.requests) == len(failures) + 1


@pytest.mark.parametrize(("failure", "reason"), [(503, "503 Server Error"), (404, "404"), ("cut", "")])
def test_a_permanent_failure_leaves_nothing_and_states_what_to_do(web, file, server, tmp_path, failure, reason):
    server.failures.extend([failure] * 99)
    with pytest.raises(OSError, match=rf"/~toy/toy.bin cannot be downloaded \(.*{reason}.*put toy.bin into"):
        pack(file, tmp_path / "new")
    assert len(server.requests) == 1 + RETRIES
    assert left_in(tmp_path / "new") == []


def test_a_wrong_archive_is_not_kept(web, file, tmp_path):
    wrong = Archive(file.archive.url, "0" * 32, file.archive.read)
    with pytest.raises(DataError, match=r"toy.bin does not match its checksum, and nothing of it was kept"):
        pack(File(name="toy-train", archive=wrong), tmp_path / "new")
    assert left_in(tmp_path / "new") == []


def test_wrong_images_in_a_right_archive_are_not_kept(web, file, tmp_path):
    wrong = File(name="toy-train", sha256=("0" * 64,), archive=file.archive)
    with pytest.raises(DataError, match=r"toy.bin: the images do not match their checksum"):
        pack(wrong, tmp_path / "new")
    assert left_in(tmp_path / "new") == ["toy.bin"]


def test_a_terminal_shows_a_progress_bar(web, file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    pack(file, tmp_path)
    assert "100%" in capsys.readouterr().err


def test_an_interrupted_write_leaves_no_file(web, file, tmp_path, monkeypatch):
    def interrupted(stream, **arrays):
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack(file, tmp_path / "new")
    assert left_in(tmp_path / "new") == ["toy.bin"]


def test_an_archive_put_there_by_hand_needs_no_download_but_its_checksum(file, server, content, tmp_path):
    (tmp_path / "toy.bin").write_bytes(content)
    assert (pack(file, tmp_path).images == IMAGES).all()
    (tmp_path / "toy-train.npz").unlink()
    (tmp_path / "toy.bin").write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"toy.bin does not match its checksum: remove it, and it is downloaded"):
        pack(file, tmp_path)
    assert server.requests == []
    assert (tmp_path / "toy.bin").read_bytes() == content[:-1]
