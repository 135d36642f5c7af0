"""The page in a real browser: no console message, no request, everything within reach of the Tab key, and charts that
show what is chosen."""

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
UNSAFE = "<img src=x onerror=alert(1)>"
PANELS = ("shift", "ood", "ablation", "stability", "directions", "plane", "maps", "appendix")


@pytest.mark.parametrize("width", [1280, 360])
def test_every_panel_is_silent_and_fits(opened, width):
    opened.messages.clear()
    for panel in PANELS:
        page = opened.open(panel, width=width)
        if panel != "ablation":
            page.locator("#part-metric .chart svg").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, panel
    assert opened.messages == []
    assert {url for url in opened.requests if not url.startswith(("file:", "data:"))} <= {"about:blank"}


def test_everything_is_within_reach_of_the_tab_key(opened):
    page = opened.open()
    focusable = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
        .filter((node) => node.checkVisibility()).map((node, place) => (node.dataset.place = place))"""
    )
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(len(focusable) + 2):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => { const node = document.activeElement, chip = node.closest('.chip') ?? node;
            return [node.dataset.place, getComputedStyle(chip).outlineStyle]; }"""
        )
        reached.add(place)
        assert place is None or outline == "solid", "the focus cannot be seen"
    assert {str(place) for place in focusable} <= reached


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
    opened.messages.clear()
    page = opened.open()
    assert page.locator(".chip").filter(has_text=UNSAFE).count() == 1
    assert page.locator("#reject-table").get_by_text(UNSAFE).count() == 1
    page.locator("#chart-ranks").get_by_text("<img").first.wait_for()
    assert page.locator("img").count() == 0
    assert opened.messages == []


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
