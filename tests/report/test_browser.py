"""The page of a model in a real browser: it is silent, it fits, and the slider shows what the logits say."""

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.scorer import Scorer

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect


@pytest.fixture(scope="module")
def logits():
    return np.random.default_rng(0).normal(-1, 2, (500, 3))


@pytest.fixture(scope="module")
def path(logits, tmp_path_factory):
    """A page with an out-of-distribution file whose name is markup."""
    folder = tmp_path_factory.mktemp("page")
    labels = logits.argmax(1) * (np.random.default_rng(1).random(500) < 0.8)
    np.savez(folder / "mine.npz", logits=logits, labels=labels)
    np.save(folder / "<b>far.npy", logits[:200] - 2)
    command = ["report", "mine.npz", "--head", "slova", "--ood", "<b>far.npy", "-o", "page.html"]
    assert CliRunner().invoke(main, [str(folder / word) if "." in word else word for word in command]).exit_code == 0
    return folder / "page.html"


@pytest.fixture
def page(blank, path):
    """The page as it is when it was just opened."""
    blank.goto(f"file://{path}")
    return blank


def answered(page, threshold: float) -> list[float]:
    """The row of the table at a threshold: coverage, accuracy, wrong answers, rejected of the other file."""
    page.locator("#threshold").fill(str(threshold))
    return [float(text.removesuffix(" %")) / 100 for text in page.locator("#reject-table td").all_inner_texts()]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_silent_fits_and_loads_nothing(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    for chart in ("reliability", "density", "risk"):
        page.locator(f"#chart-{chart} svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []


def test_the_slider_shows_what_the_logits_say(page, logits):
    before, after = answered(page, 0.2), answered(page, 0.8)
    confidence = Scorer(classes=3).predict(logits).confidence
    assert after[0] == pytest.approx((confidence >= 0.8).mean(), abs=5.1e-5)
    assert after[3] > before[3]


def test_names_of_files_are_text(page):
    assert page.locator("#chart-density + figcaption li").all_inner_texts() == ["rows of a class", "<b>far.npy"]


def test_charts_follow_the_theme(page):
    dot = page.locator("#chart-reliability g.mark-symbol path").first
    dot.wait_for()
    before = dot.get_attribute("fill")
    page.get_by_role("button", name="Change to dark colours").click()
    expect(dot).not_to_have_attribute("fill", before)  # waits for the page
    assert dot.get_attribute("fill") != before


@pytest.mark.parametrize("width", [1280, 390])
def test_tables_scroll_inside_themselves_and_keep_their_first_column(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    assert page.locator("#notices .notice").first.inner_text().startswith("Underconfident by ")
    for place in range(page.locator("#part-details .scroll").count()):
        scroll = page.locator("#part-details .scroll").nth(place)
        scroll.evaluate("node => { node.scrollLeft = 10000; }")
        box, inside = (node.bounding_box() for node in (scroll.locator("tbody th").first, scroll))
        assert box["x"] >= inside["x"]
        assert inside["x"] + inside["width"] <= width
        assert box["width"] <= 0.55 * inside["width"]
    assert page.locator("#part-details .scroll").count() >= 4


@pytest.mark.parametrize("width", [1280, 390])
def test_tooltips_stay_inside_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    dots = page.locator("#chart-reliability g.mark-symbol path")
    dots.first.wait_for()
    tip = page.locator("#vg-tooltip-element.visible")
    for place in (0, dots.count() - 1):
        dots.nth(place).hover(force=True)
        tip.wait_for()
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
