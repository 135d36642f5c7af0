"""The tables of the page in a real browser: the slider agrees with the histograms, tables sort and are saved."""

import numpy as np
import pytest
from slova_bench.histograms import Histograms
from slova_bench.report.comparison import comparison
from slova_bench.results_folder import ResultsFolder

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
UNSAFE = "<img src=x onerror=alert(1)>"
NAMES = {"softmax": "Softmax", "ova": "OVA", "slova": "SLOVA", UNSAFE: UNSAFE}


def merged(folder, experiment: str, method: str, test: str, shift: str | None, level: float):
    """Counts and hits of all seeds; of all types of shift without one."""
    cells = [
        found
        for found in Histograms(folder / f"{experiment}-digits.csv").read()
        if (found.cell.method, found.cell.test, found.cell.level) == (method, test, level)
        and shift in (None, found.cell.shift)
    ]
    assert cells
    return np.sum([found.bins for found in cells], axis=0)[:2]


def shares(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


@pytest.mark.parametrize(("severity", "shift"), [("0", None), ("3", None), ("3", "fog")])
def test_the_slider_agrees_with_the_histograms(opened, made_results, severity, shift):
    opened.open()
    opened.choose("Severity", severity)
    if shift:
        opened.choose("Type of shift", shift)
    for threshold in (0.0, 0.57, 0.9):
        table = opened.reject(threshold)
        assert list(table) == list(NAMES.values())
        for method, name in NAMES.items():
            count, hits = merged(made_results, "shift", method, "digits-test", shift, float(severity))
            kept, right = count[round(100 * threshold) :].sum(), hits[round(100 * threshold) :].sum()
            outside = [merged(made_results, "ood", method, test, "", 0.0)[0] for test in ("svhn-test", "uniform")]
            rejected = [bins[: round(100 * threshold)].sum() / bins.sum() for bins in outside]
            expected = [kept / count.sum(), right / kept, (kept - right) / count.sum(), *rejected]
            assert [shares(text) for text in table[name]] == pytest.approx(expected, abs=5.1e-5)


def test_the_slider_moves_with_the_keyboard_and_is_announced(opened):
    page = opened.open()
    before = opened.reject(0.5)
    page.locator("#threshold").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert page.locator("#threshold-value").inner_text() == "0.80"
    rows = page.locator("#reject-table tbody tr").all()
    after = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}
    assert all(after[name] != before[name] for name in before)
    coverage = after[UNSAFE][0]
    expect(page.locator("#reject-says")).to_contain_text(coverage)
    assert page.locator("#reject-says").get_attribute("aria-live") == "polite"


def test_tables_sort_both_ways(opened):
    page = opened.open()
    table = page.locator("#part-tables table").first
    head = table.get_by_role("columnheader").filter(has_text="ECE").first
    place = [*table.get_by_role("columnheader").all_inner_texts()].index(head.inner_text())
    column = table.locator(f"tbody tr > :nth-child({place + 1})")
    for order, reverse in (("ascending", False), ("descending", True)):
        head.get_by_role("button").click()
        texts = column.all_inner_texts()
        values = [float(text.split()[0]) for text in texts if text != "–"]
        assert head.get_attribute("aria-sort") == order
        assert values == sorted(values, reverse=reverse)
        assert "–" not in texts[: len(values)], "what is missing comes last"
    names = table.get_by_role("columnheader").first
    names.get_by_role("button").press("Enter")
    first = table.locator("tbody th").all_inner_texts()
    assert first == sorted(first, key=str.lower)
    assert head.get_attribute("aria-sort") is None


def test_every_table_can_be_saved(opened, made_results):
    tables = {
        table["title"]: table["csv"]
        for table in comparison(ResultsFolder.read(made_results)).data["tables"]
        if "csv" in table
    }
    page = opened.open()
    details = page.locator("#part-tables details").all()
    assert len(details) > 3
    for one in details:
        title = one.locator("summary").inner_text()
        one.evaluate("node => { node.open = true }")
        if title not in {*tables, "All cells"}:
            assert "slova bench run" in one.inner_text(), "a table without rows states the command to run"
            continue
        with page.expect_download() as download:
            one.get_by_role("button", name="Save").click()
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            text = file.read()
        if title == "All cells":
            assert text.count("\n") == 1 + len(NAMES) * 11
            assert text.startswith("method,test,shift,level,seeds,accuracy,accuracy_error,")
        else:
            assert text == tables[title]


def test_a_long_name_stays_within_its_cell(opened):
    for cell in opened.open().locator("#reject-table tbody th, #part-tables tbody th").all():
        wider = cell.evaluate(
            "node => { node.append(' of many words'.repeat(4)); return node.scrollWidth - node.clientWidth }"
        )
        assert wider <= 0
