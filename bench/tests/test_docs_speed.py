"""Numbers of speed and of long runs have rows: tables are made from them, and sentences with numbers are made here."""

import re
from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROWS = DOCS.parent / "benchmarks" / "results"
MADE = ("results.md", "measurements/defaults.md", "measurements/paper.md")  # as a whole
TESTED = ("which-recipe.md",)  # number by number, in test_which_recipe.py
PAGES = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).as_posix() not in MADE + TESTED]
MEASURED = re.compile(r"[-+]?\d*\.\d+(?: ?(?:%|s|ms|MiB|GB|×))?(?: to .*| \(.*)?|\d+ %")


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(ROWS / f"{name}.csv")


def absent(page: str, *sentences: str) -> list[str]:
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    return [sentence for sentence in sentences if sentence not in text]


def by_hand(text: str) -> list[str]:
    """The lines of tables with a measured number that are not made from rows."""
    rest = re.sub(r"<!-- table .*?<!-- end of the table -->|```.*?```", "", text, flags=re.DOTALL)
    lines = [line for line in rest.splitlines() if line.startswith("|")]
    return [line for line in lines if any(MEASURED.fullmatch(cell.strip()) for cell in line.split("|"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_table_of_a_page_has_measured_numbers_without_rows(page):
    assert by_hand(page.read_text(encoding="utf-8")) == []


def test_tables_with_measured_numbers_are_recognised():
    for cell in ("0.53", ".26 to .45", "12.4 ×", "1.32 (1.36)", "151.3 s", "91 %"):
        assert by_hand(f"| a | {cell} |") == [f"| a | {cell} |"], cell
    assert by_hand("| a | 0.53 in prose |\n```\n| a | 0.53 |\n```\nof 0.53") == []


def test_the_answer_costs_less_than_a_hundredth_of_a_small_network():
    found = read("answer_cost")
    assert (found["share"] - found["answer_seconds"] / found["network_seconds"]).abs().max() < 1e-5
    assert found.groupby("answer")["repetition"].nunique().eq(10).all()
    assert found["share"].max() < 0.01
    assert not absent("speed.md", "less than 1 % of the forward pass of ResNet-20", "500 images in batches of 100")
    assert set(found["images"]) == {500}


def test_memory_and_time_with_a_million_classes():
    found = read("extreme-gpu-loss").set_index("precision")
    single, half = found.loc["float32"], found.loc["bfloat16"]
    ratios = [one["dense, ms"] / one["chunked, ms"] for one in (single, half)]
    assert [round(ratio) for ratio in ratios] == [1, 2]
    needs = f"needs {single['chunked, memory']:.1f} times the memory of its arguments where the dense form needs"
    assert not absent(
        "extreme.md",
        f"{needs} {single['dense, memory']:.0f} times as much",
        "at K = 1,000,000 it is as fast in float32 and twice as fast in bfloat16",
    )
    here = read("extreme-cpu").set_index("what").loc["memory of the loss"]
    assert here["ours"] < single["chunked, memory"] + 0.05
    assert here["dense"] == pytest.approx(single["dense, memory"], rel=0.05)


def test_health_beside_large_bodies():
    cells = read("large_bodies").set_index("body")["in pieces"].drop("none").str.split(",").str[0].str.split(" · ")
    p99, largest = (max(int(times[place]) for times in cells) for place in (1, 2))
    sentence = f"So 99 of 100 answers come within {p99} ms, and single ones take up to {largest} ms"
    assert not absent("reliability.md", sentence)
    assert not absent("serving.md", f"within {p99} ms in 99 of 100 cases, on two free cores")


def test_requests_per_second():
    alone = read("serving-connections").set_index("connections")["requests/s, ratio (other run)"]
    ratios = alone.str.extractall(r"([\d.]+)")[0].astype(float).groupby(level=0).agg(["min", "max"])
    found = read("serving-rows").set_index("rows, form, connections")
    assert 0.9 < found.loc["1, JSON, 1", "requests/s, ratio"] < 1 < ratios.loc[1, "min"] < 1.1
    assert ratios["min"].drop(1).min() > 1.3
    assert found["requests/s, ratio"].drop("1, JSON, 1").min() > 1.3
    each = found["slova serve: requests/s, p50, p99"].str.split(" · ").str[0].str.replace(",", "").astype(int)
    assert [round(each[f"{rows}, binary, 8"] / each[f"{rows}, JSON, 8"]) for rows in (32, 256)] == [3, 3]
    assert not absent("serving.md", "Binary tensors are about three times as fast as JSON.")
