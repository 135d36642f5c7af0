"""Store the logits of the networks of seed 0 on every test set in the package: bench/models/make_predictions.py.

Needs the images and preferably a GPU. Networks that are not in this folder or in --store are trained.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.pipeline import Bench
from slova_bench.predictions import record
from slova_bench.runner import EMBEDDED
from slova_bench.store import XZ, Store

from slova._batches import with_progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="cifar10")
    parser.add_argument("--store", default=".slova")
    parser.add_argument("-o", "--out", type=Path, default=EMBEDDED)
    options = parser.parse_args()
    bench = Bench(dataset_recipe(options.on), Store(options.store, Path(__file__).parent, EMBEDDED))
    found = record(bench, progress=lambda sets: with_progress(sets, None, "test sets"))
    found.save(options.out / f"{options.on}.safetensors{XZ}")


if __name__ == "__main__":
    main()
