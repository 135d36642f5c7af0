"""What the networks of seed 0 said of every set, into the package: `python models/make_answers.py`. Wants the images
and, for an hour less, a GPU; networks that are not in this folder or in --store are trained."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.progress import track
from slova_bench.dataset_recipes import setting
from slova_bench.pipeline import Bench
from slova_bench.predictions import record
from slova_bench.runner import EMBEDDED
from slova_bench.store import Store


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--on", default="cifar10")
    options.add_argument("--store", default=".slova")
    options.add_argument("-o", "--out", type=Path, default=EMBEDDED)
    asked = options.parse_args()
    bench = Bench(setting(asked.on), Store(asked.store, Path(__file__).parent, EMBEDDED))
    found = record(bench, progress=lambda answers: track(answers, "sets"))
    found.save(asked.out / f"{asked.on}.safetensors")


if __name__ == "__main__":
    main()
