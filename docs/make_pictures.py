"""Draw the picture of the README from the library itself: `make docs`."""

from __future__ import annotations

from pathlib import Path

from slova_bench.figures import confidence_map, save

if __name__ == "__main__":
    (path,) = save(confidence_map.plot(), Path(__file__).parent / "confidence-map", kinds=["png"])
    print(path)
