"""Compress networks that `slova bench run` has stored, given as files, into this folder; write the checksums of all
weights, those in the package too, to where `slova_bench.zoo` reads them.

    python bench/models/make_index.py [.slova/weights/KEY.safetensors ...]
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from slova_bench.runner import EMBEDDED
from slova_bench.store import XZ, compress

HERE = Path(__file__).parent


def main() -> None:
    for file in map(Path, sys.argv[1:]):
        (HERE / "weights" / f"{file.name}{XZ}").write_bytes(compress(file.read_bytes()))
    files = [file for folder in (HERE, EMBEDDED) for file in (folder / "weights").glob(f"*{XZ}")]
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    (EMBEDDED / "weights.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
