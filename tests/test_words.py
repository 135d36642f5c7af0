"""The field's words, everywhere: a reader of this field must not have to translate."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "bench", "tests", "docs", "examples", "benchmarks")
SUFFIXES = {".py", ".md", ".js", ".html", ".css"}
FILES = sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.suffix in SUFFIXES)
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(path for path in FILES if path != Path(__file__))]
WORDS = {
    r"\bwants? to be\b": "must be",
    r"\btold (apart )?from\b": "distinguished from",
    r"\bdear(er|est)?\b": "expensive",
    r"\bforeign\b": "out-of-distribution (OOD)",
    r"\basked twice\b|\bmirror images?\b": "flip test-time augmentation",
    r"\bTempered\b|\bMapModule\b|\bPairSketch\b|\bMirrored\b|\bread_(slova|ova|softmax)\b": "the new name",
    r"(def|class) \w*promise\w*": "guarantee",
    r"--map\b": "--model, or --calibration",
    r"\bread-outs?\b": "readout",
    r"\bhonest(ly)?\b": "calibrated",
    r"\bcalibrat\w+ by distance\b": "distance-aware",
    r"\bunless told\b": "by default",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_dialect_stays_out(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [
        f"line {number}: {match[0]!r}; write {better}"
        for number, line in enumerate(lines, start=1)
        for word, better in WORDS.items()
        if (match := re.search(word, line, re.IGNORECASE))
    ]
    assert found == []
