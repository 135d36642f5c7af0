"""Write the checksums of all weights, those in the package too, to where `slova_bench.zoo` reads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "slova" / "bench" / "embedded"


def main() -> None:
    files = [*(HERE / "weights").glob("*.safetensors"), *(PACKAGE / "weights").glob("*.safetensors")]
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    (PACKAGE / "weights.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
