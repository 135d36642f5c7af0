"""Trained networks by name, ready for use.

    network = load("ova-cifar10")            # seed 0; "softmax-cifar10-3" is the one of seed 3
    logits = network(images)                 # images (N, 3, 32, 32), floats in [0, 1]

A network is looked for in the package, in a folder `models` (that of the repository, or `folder`), and in the user's
cache. One that is in none of them is downloaded into the cache from the address in SLOVA_MODELS, that of a repository's
`models` folder, and kept only if its checksum is the one that came with the package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from slova_bench.store import XZ, file_name

if TYPE_CHECKING:
    from torch import nn

    from slova_bench.method import Method

__all__ = ["checksums", "load", "path_of"]

ADDRESS = "SLOVA_MODELS"


def load(name: str, *, folder: str | Path | None = None) -> nn.Sequential:
    """The network as it was trained, in evaluation mode, on the host: it returns logits. What its method adds later,
    such as distances from validation images, is left out: `slova.Classifier.fit` adds them."""
    import torch

    from slova_bench.dataset_recipes import dataset_recipe
    from slova_bench.pipeline import Bench
    from slova_bench.store import Store
    from slova_bench.train import Execution

    method, on, seed = _parsed(name)
    path = path_of(name, folder=folder)
    bench = Bench(dataset_recipe(on), Store(None, path.parents[1]), Execution(device=torch.device("cpu")))
    return bench.trained(replace(method, adapt=None), seed).networks[0]


def path_of(name: str, *, folder: str | Path | None = None) -> Path:
    """The file of the weights, downloaded if necessary."""
    file = f"weights/{_file(name)}"
    for models in _folders(folder):
        if (models / file).exists():
            return models / file
    known = checksums().get(Path(file).name)
    if known is None:
        raise ValueError(f"there is no network {name!r}: train it with slova bench run")
    return _download(file, known, name)


def checksums() -> dict[str, str]:
    """SHA-256 of every file of weights of the repository this package was built from, by its name."""
    index = resources.files("slova_bench") / "embedded" / "weights.json"
    return dict(json.loads(index.read_text(encoding="utf-8")))


def _parsed(name: str) -> tuple[Method, str, int]:
    from slova_bench.dataset_recipes import dataset_recipe
    from slova_bench.methods import find

    method, _, rest = name.partition("-")
    on, _, seed = rest.partition("-")
    if not on or not (seed or "0").isdigit():
        raise ValueError(f"{name!r} is not the name of a network: names are METHOD-DATASET or METHOD-DATASET-SEED")
    dataset_recipe(on)
    return find([method])[0], on, int(seed or 0)


def _file(name: str) -> str:
    from slova_bench.dataset_recipes import dataset_recipe
    from slova_bench.pipeline import Bench

    method, on, seed = _parsed(name)
    return file_name("weights", Bench(dataset_recipe(on)).weights(method, seed), f"safetensors{XZ}")


def _folders(folder: str | Path | None) -> Iterator[Path]:
    yield Path(__file__).parent / "embedded"
    yield Path("models" if folder is None else folder)
    yield Path(__file__).parents[2] / "models"  # of a checkout
    yield _cache()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slova" / "models"


def _download(file: str, known: str, name: str) -> Path:
    address = os.environ.get(ADDRESS)
    if not address:
        raise FileNotFoundError(
            f"{name} is not on this machine: put {file} of the repository's models folder into {_cache()}, "
            f"or set {ADDRESS} to the address of that folder"
        )
    import pooch

    target = _cache() / file
    pooch.retrieve(f"{address.rstrip('/')}/{file}", f"sha256:{known}", target.name, target.parent)
    return target
