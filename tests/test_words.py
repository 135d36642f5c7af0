"""The field's words, everywhere: a reader of this field must not have to translate."""

import re
from pathlib import Path

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


def test_the_dialect_stays_out():
    assert len(FILES) > 500
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}; write {better}"
        for path in FILES
        for text in [path.read_text(encoding="utf-8")]
        for word, better in WORDS.items()
        for match in re.finditer(word, text, re.IGNORECASE)
    ]
    assert found == []
