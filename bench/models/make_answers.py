"""Store the logits of the networks of seed 0 on every set in the package: `python bench/models/make_answers.py`.

Needs the images and, to save an hour, a GPU; networks that are not in this folder or in --store are trained."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.progress import track
from slova_bench.dataset_recipes import setting
from slova_bench.pipeline import Bench
from slova_bench.predictions import record
from slova_bench.runner import EMBEDDED
from slova_bench.store import XZ, Store


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--on", default="cifar10")
    options.add_argument("--store", default=".slova")
    options.add_argument("-o", "--out", type=Path, default=EMBEDDED)
    asked = options.parse_args()
    bench = Bench(setting(asked.on), Store(asked.store, Path(__file__).parent, EMBEDDED))
    found = record(bench, progress=lambda answers: track(answers, "sets"))
    found.save(asked.out / f"{asked.on}.safetensors{XZ}")


if __name__ == "__main__":
    main()
