"""The page in a real browser: it is silent, the slider tells the truth, tables sort, everything is within a Tab's
reach."""

import numpy as np
import pytest
from slova_bench.histograms import Histograms
from slova_bench.report.comparison import comparison
from slova_bench.results_folder import ResultsFolder

from slova.report.page import render

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
UNSAFE = "<img src=x onerror=alert(1)>"
NAMES = {"softmax": "Softmax", "ova": "OVA", "slova": "SLOVA", UNSAFE: UNSAFE}
PANELS = ("shift", "ood", "ablation", "stability", "directions", "plane", "maps", "appendix")


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, page, path) -> None:
        self.page, self.path, self.said, self.asked = page, path, [], []
        page.set_default_timeout(8000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, panel: str = "shift", *, width: int = 1280):
        """This panel from the beginning, with all its methods."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto("about:blank")
        self.page.goto(f"file://{self.path}#{panel}-digits")
        if self.page.locator("#methods").is_visible():
            self.page.locator("#methods").get_by_role("button", name="All").click()
        return self.page

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_role("combobox", name=label).select_option(value)

    def reject(self, threshold: float) -> dict[str, list[str]]:
        """What the table says at a threshold, by method."""
        self.page.locator("#threshold").fill(str(threshold))
        rows = self.page.locator("#reject-table tbody tr").all()
        return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


@pytest.fixture(scope="module")
def opened(browser, made_results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(comparison(ResultsFolder.read(made_results))), encoding="utf-8")
    return Opened(browser.new_page(color_scheme="light", reduced_motion="reduce"), path)


def merged(folder, experiment: str, method: str, test: str, shift: str | None, level: float):
    """Counts and hits of all seeds; of all types of shift without one."""
    cells = [
        found
        for found in Histograms(folder / f"{experiment}-digits.csv").read()
        if (found.cell.method, found.cell.test, found.cell.level) == (method, test, level)
        and shift in (None, found.cell.shift)
    ]
    assert cells
    return np.sum([found.count for found in cells], axis=0), np.sum([found.hits for found in cells], axis=0)


def shares(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


@pytest.mark.parametrize("width", [1280, 360])
def test_every_panel_is_silent_and_fits(opened, width):
    opened.said.clear()
    for panel in PANELS:
        page = opened.open(panel, width=width)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, panel
        charts = page.locator("#part-metric .chart svg")
        if panel != "ablation":
            charts.first.wait_for()
    assert opened.said == []
    assert {url for url in opened.asked if not url.startswith(("file:", "data:"))} <= {"about:blank"}


@pytest.mark.parametrize(("severity", "shift"), [("0", None), ("3", None), ("3", "fog")])
def test_the_slider_agrees_with_the_histograms(opened, made_results, severity, shift):
    opened.open()
    opened.choose("Severity", severity)
    if shift:
        opened.choose("Type of shift", shift)
    for threshold in (0.0, 0.57, 0.9):
        said = opened.reject(threshold)
        assert list(said) == list(NAMES.values())
        for method, name in NAMES.items():
            count, hits = merged(made_results, "shift", method, "digits-test", shift, float(severity))
            kept, right = count[round(100 * threshold) :].sum(), hits[round(100 * threshold) :].sum()
            outside = [merged(made_results, "ood", method, test, "", 0.0)[0] for test in ("svhn-test", "uniform")]
            rejected = [bins[: round(100 * threshold)].sum() / bins.sum() for bins in outside]
            expected = [kept / count.sum(), right / kept, (kept - right) / count.sum(), *rejected]
            assert [shares(text) for text in said[name]] == pytest.approx(expected, abs=5.1e-5)


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
        with page.expect_download() as download:
            one.get_by_role("button", name="Save").click()
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            text = file.read()
        if title == "All cells":
            assert text.count("\n") == 1 + len(NAMES) * 11
            assert text.startswith("method,test,shift,level,seeds,accuracy,accuracy_error,")
        else:
            assert text == tables[title]


def test_everything_is_within_reach_of_the_tab_key(opened):
    page = opened.open()
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
        .filter((node) => node.checkVisibility()).map((node, place) => (node.dataset.place = place))"""
    )
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => { const node = document.activeElement, chip = node.closest('.chip') ?? node;
            return [node.dataset.place, getComputedStyle(chip).outlineStyle]; }"""
        )
        reached.add(place)
        assert place is None or outline == "solid", "the focus cannot be seen"
    assert {str(place) for place in wanted} <= reached


def test_focus_stays_where_something_is_chosen(opened):
    page = opened.open()
    for label, value in (("Metric", "nll"), ("Type of shift", "fog"), ("Severity", "2"), ("Experiment", "ood")):
        page.get_by_role("combobox", name=label).focus()
        opened.choose(label, value)
        assert page.evaluate("document.activeElement.closest('label').firstChild.textContent") == label


def test_what_is_chosen_is_drawn(opened):
    page = opened.open()
    chart = page.locator("#part-metric .chart").first
    opened.choose("Metric", "brier")
    chart.get_by_text("Brier score ↓").wait_for()
    lines = chart.locator("g.mark-line path")
    expect(lines).to_have_count(4)
    page.locator(".chip").filter(has_text="Softmax").click()
    expect(lines).to_have_count(3)
    before = lines.first.get_attribute("d")
    opened.choose("Type of shift", "fog")
    expect(lines.first).not_to_have_attribute("d", before)
    opened.choose("Type of shift", "*")
    opened.choose("Shown as", "boxes")
    boxes = 3 * 6 * 2  # methods, severities, and the median in its box
    expect(chart.locator("g.mark-rect path")).to_have_count(boxes)
    opened.choose("Experiment", "ablation")
    assert "run slova bench run ablation --on digits" in page.locator("#notices").inner_text()
    assert not page.locator("#part-metric").is_visible()


def test_a_point_has_a_tooltip_with_its_number(opened):
    page = opened.open()
    point = page.locator("#part-metric g.mark-symbol path").nth(3)
    point.wait_for()
    point.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert "severity" in page.locator("#vg-tooltip-element").inner_text()


def test_an_unsafe_name_is_shown_and_never_run(opened):
    opened.said.clear()
    page = opened.open()
    assert page.locator(".chip").filter(has_text=UNSAFE).count() == 1
    assert page.locator("#reject-table").get_by_text(UNSAFE).count() == 1
    page.locator("#chart-ranks").get_by_text("<img").first.wait_for()
    assert page.locator("img").count() == 0
    assert opened.said == []


def test_charts_follow_the_theme(opened):
    page = opened.open("ood")
    paper = "getComputedStyle(document.body).backgroundColor"
    bar = page.locator("#part-metric g.mark-rect path[fill]").first
    bar.wait_for()
    light, colour = page.evaluate(paper), bar.get_attribute("fill")
    page.get_by_role("button", name="Change to dark colours").click()
    assert page.evaluate(paper) != light
    expect(bar).not_to_have_attribute("fill", colour)
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert page.evaluate(paper) != light
    page.emulate_media(color_scheme="light")
    page.reload()
    assert page.evaluate(paper) == light
