"""Trained networks by name: those of the package and of the repository, or downloaded and verified."""

import hashlib
import http.server
import threading
from functools import partial
from pathlib import Path

import pytest
import torch
from slova_bench import zoo
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.methods import methods
from slova_bench.pipeline import Bench
from slova_bench.store import XZ, file_name, load

MODELS = Path(__file__).parents[1] / "models"
FILES = [*(MODELS / "weights").glob("*"), *Path(zoo.__file__).parent.glob("embedded/weights/*")]


def test_every_file_of_weights_is_in_the_index_with_its_checksum():
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in FILES}
    assert found == zoo.checksums(), "run python bench/models/make_index.py"
    assert sum(file.stat().st_size for file in FILES) < 30e6


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name[:6])
def test_no_network_is_an_orphan(file):
    """Its name is the key of its header, and a method of today has that key."""
    what = load(file, "weights")[1]["what"]
    what = {name: value for name, value in what.items() if name not in ("stage", "version")}
    assert file.name == file_name("weights", what, f"safetensors{XZ}")
    bench = Bench(DATASET_RECIPES[what["data"].removesuffix("-train")])
    assert what in [bench.weights(method, what["seed"]) for method in methods().values()]


@pytest.mark.parametrize(
    "name", ["slova_image_mixed-cifar10", "softmax_mixed-cifar10-4", "slova_image-cifar10", "augmix-cifar10"]
)
def test_a_network_needs_no_data_for_what_its_method_adds_later(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SLOVA_DATA", str(tmp_path))
    with torch.no_grad():
        assert zoo.load(name)(torch.rand(2, 3, 32, 32)).shape == (2, 10)


def test_a_member_of_an_ensemble_is_the_network_of_its_seed_and_no_other_is_trained(monkeypatch):
    def train(*_: object) -> None:
        raise AssertionError("a network is trained")

    monkeypatch.setattr("slova_bench.pipeline.train", train)
    member, alone = zoo.load("ensemble-cifar10-3"), zoo.load("softmax-cifar10-3")
    assert all(map(torch.equal, member.state_dict().values(), alone.state_dict().values()))


@pytest.mark.parametrize("name", ["softmax-cifar10", "ova-cifar10", "softmax-cifar10-3"])
def test_a_network_matches_its_name_and_returns_logits(name):
    meta = load(zoo.path_of(name), "weights")[1]["what"]
    assert meta["data"] == "cifar10-train"
    assert meta["seed"] == (3 if name.endswith("3") else 0)
    assert meta["loss"] == ("softmax_loss/1" if name.startswith("softmax") else "ova_loss/1")
    network = zoo.load(name)
    assert not network.training
    with torch.no_grad():
        assert network(torch.rand(2, 3, 32, 32)).shape == (2, 10)


def test_the_main_networks_come_with_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("softmax-cifar10", "ova-cifar10"):
        assert zoo.path_of(name).parent == Path(zoo.__file__).parent / "embedded" / "weights"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("softmax", "is not the name of a network: names are METHOD-DATASET"),
        ("softmax-cifar10-x", "is not the name of a network"),
        ("softmax-mnist", "the training set must be one of .*, got 'mnist'"),
        ("magic-cifar10", "unknown method magic"),
        ("softmax-cifar10-99", "there is no network 'softmax-cifar10-99': train it"),
    ],
)
def test_unknown_networks_are_errors(name, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(name)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine with nothing but the package, and a server with one network of the repository."""
    served = tmp_path / "served" / "weights"
    served.mkdir(parents=True)
    source = zoo.path_of("softmax-cifar10-3")
    (served / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(zoo, "_folders", lambda folder: (zoo._cache(),))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "served")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", served / source.name
    server.shutdown()
    server.server_close()


def test_a_missing_network_is_downloaded_once_and_verified(elsewhere, monkeypatch):
    address, file = elsewhere
    with pytest.raises(FileNotFoundError, match="set SLOVA_MODELS to the address"):
        zoo.path_of("softmax-cifar10-3")
    monkeypatch.setenv("SLOVA_MODELS", address + "/")
    found = zoo.path_of("softmax-cifar10-3")
    assert found.read_bytes() == file.read_bytes()
    file.unlink()
    assert zoo.path_of("softmax-cifar10-3") == found


def test_a_network_with_a_wrong_checksum_is_not_kept(elsewhere, monkeypatch):
    address, file = elsewhere
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    monkeypatch.setenv("SLOVA_MODELS", address)
    with pytest.raises(ValueError, match="does not match its checksum"):
        zoo.path_of("softmax-cifar10-3")
    assert not list(zoo._cache().rglob("*.safetensors*"))
