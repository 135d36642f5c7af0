"""Every tutorial runs, and prints what its page shows."""

import importlib.util
import re
from pathlib import Path

import pytest

for name in ("matplotlib", "sklearn", "torch", "altair"):
    pytest.importorskip(name)

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted((DOCS / "tutorials").glob("*.md"))
spec = importlib.util.spec_from_file_location("run_tutorials", DOCS / "run_tutorials.py")
run_tutorials = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_tutorials)

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?:e-?\d+)?")
SECONDS = re.compile(r" in [\d.]+ s\b")


def outputs(page: str) -> list[str]:
    """The text blocks of a page, and the names of its pictures; times are left out."""
    return [SECONDS.sub("", part) for part in re.findall(r"```text\n.*?```|!\[[^\]]*\]\([^)]*\)", page, re.DOTALL)]


def similar(text: str, other: str) -> bool:
    """Whether two texts have the same words, and numbers that other processors could give."""
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", one)) for one in (text, other)]
    pairs = zip(*([n.replace(",", "") for n in NUMBER.findall(one)] for one in (text, other)), strict=False)
    return words[0] == words[1] and all(abs(float(a) - float(b)) <= slack(a, b) for a, b in pairs)


def slack(*numbers: str) -> float:
    """15 %; for small counts, which vary by more than that, their square root."""
    largest = max(map(float, numbers))
    counts = all(number.isdecimal() for number in numbers)
    return max(0.05 + 0.15 * largest, largest**0.5 if counts else 0.0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_its_page_shows(page, tmp_path):
    if absent := run_tutorials.missing(page):
        pytest.skip(f"{absent} is not installed")
    shown, found = outputs(page.read_text(encoding="utf-8")), outputs(run_tutorials.executed(page, tmp_path))
    assert len(shown) == len(found) > 0
    assert [(old, new) for old, new in zip(shown, found, strict=True) if not similar(old, new)] == []
    assert {path.name for path in tmp_path.iterdir()} == set(re.findall(r"\(figures/([^)]*)\)", page.read_text()))


def test_what_a_tutorial_prints_is_compared_by_words_and_numbers():
    assert similar("accuracy 0.91 of 400", "accuracy  0.92 of 398")
    assert not similar("accuracy 0.91", "accuracy 0.51")
    assert similar("3 of them wrong", "4 of them wrong")
    assert not similar("3 of them wrong", "9 of them wrong")
    assert not similar("accuracy 0.91", "error 0.91")
    assert outputs("```text\n0.9 MB in 4.5 s\n```") == ["```text\n0.9 MB\n```"]
