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
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from slova_bench.data.download import cache_folder, fetch
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.method import Method
from slova_bench.methods import find
from slova_bench.pipeline import Bench
from slova_bench.runner import EMBEDDED, MODELS
from slova_bench.store import XZ, Store, file_name
from slova_bench.train import Execution

__all__ = ["checksums", "load", "path_of"]

ADDRESS = "SLOVA_MODELS"


def load(name: str, *, folder: str | Path | None = None) -> nn.Sequential:
    """The network as it was trained, in evaluation mode, on the host: it returns logits. What its method adds later,
    such as distances from validation images, is left out: `slova.Classifier.fit` adds them."""
    method, bench, seed = _parsed(name)
    store = Store(None, path_of(name, folder=folder).parents[1])
    bench = replace(bench, store=store, execution=Execution(device=torch.device("cpu")))
    return bench.trained(replace(method, adapt=None, members=1), seed).networks[0]


def path_of(name: str, *, folder: str | Path | None = None) -> Path:
    """The file of the weights, downloaded if necessary."""
    method, bench, seed = _parsed(name)
    weights = bench.weights(method, seed)
    found = Store(None, *_folders(folder)).find("weights", weights)
    if found is not None:
        return found
    file = file_name("weights", weights, f"safetensors{XZ}")
    known = checksums().get(file)
    if known is None:
        raise ValueError(f"there is no network {name!r}: train it with slova bench run")
    address, cache = os.environ.get(ADDRESS), _cache()
    if not address:
        raise FileNotFoundError(
            f"{name} is not on this machine: put weights/{file} of the repository's models folder into {cache}, "
            f"or set {ADDRESS} to the address of that folder"
        )
    return fetch(f"{address.rstrip('/')}/weights/{file}", f"sha256:{known}", cache / "weights")


def checksums() -> dict[str, str]:
    """SHA-256 of every file of weights of the repository this package was built from, by its name."""
    found: dict[str, Any] = json.loads((EMBEDDED / "weights.json").read_text(encoding="utf-8"))
    return found


def _parsed(name: str) -> tuple[Method, Bench, int]:
    method, _, rest = name.partition("-")
    on, _, seed = rest.partition("-")
    if not on or not (seed or "0").isdigit():
        raise ValueError(f"{name!r} is not the name of a network: names are METHOD-DATASET or METHOD-DATASET-SEED")
    bench = Bench(dataset_recipe(on))
    return find([method])[0], bench, int(seed or 0)


def _folders(folder: str | Path | None) -> tuple[Path, ...]:
    return EMBEDDED, Path("models" if folder is None else folder), MODELS, _cache()


def _cache() -> Path:
    return cache_folder() / "models"
