"""The page to try it by hand, in a real browser: with the keyboard alone, in light and dark, and silent."""

import numpy as np
import pytest

from slova.serve.load import scorer_model

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect


@pytest.fixture
def page(browser):
    page = browser.new_page()
    page.set_default_timeout(8000)
    page.messages, page.requests = [], []
    page.on("console", lambda message: page.messages.append(message.text))
    page.on("pageerror", lambda error: page.messages.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    page.close()


def test_rows_are_typed_and_answered_by_keyboard_alone(page, client, scorer):
    page.goto(f"http://127.0.0.1:{client.port}/")
    expect(page.locator("#inputs")).to_have_text("3 classes. Inputs per row: logits: 3.")
    page.keyboard.press("Tab")
    page.keyboard.type("4, -4, -5\n1 1 1")
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("2 rows, 1 of them rejected.")
    expected = scorer.predict(np.array([[4, -4, -5], [1, 1, 1]], np.float32), reject=0.5)
    rows = [row.locator("td").all_inner_texts() for row in page.locator("tbody tr").all()]
    assert [row[1] for row in rows] == ["0", "none"]
    assert [row[2] for row in rows] == [f"{100 * value:.1f} %" for value in expected.confidence]
    assert page.messages == []
    assert {url.split("/")[2] for url in page.requests} == {f"127.0.0.1:{client.port}"}


def test_the_page_shows_errors_and_its_example_is_valid(page, client):
    page.goto(f"http://127.0.0.1:{client.port}/")
    page.locator("#rows").fill("1, 2")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#status")).to_have_text(
        "the input logits has the shape [1, 2]; expected [-1, 3], where -1 is any size"
    )
    page.locator("#rows").fill("1, two, <b>3</b>")
    page.locator("#rows").press("Control+Enter")
    expect(page.locator("#status")).to_have_text("“two” in row 1 is not a number")
    page.get_by_role("button", name="Example").click()
    page.locator("#rows").press("Control+Enter")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert page.locator("#status").inner_text().startswith("2 rows")


def test_the_page_sends_the_token(page, serving, scorer):
    with serving(scorer_model(scorer, name="map"), token="s3cret") as client:
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.locator("#inputs")).to_contain_text("the header Authorization")
        page.locator("#rows").fill("4, -4, -5")
        page.get_by_label("Token").fill("s3cret")
        page.get_by_role("button", name="Predict").click()
        expect(page.locator("#status")).to_have_text("1 row, 0 of them rejected.")
        expect(page.locator("h1")).to_have_text("map")


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 24, 29)")])
def test_the_page_follows_the_system_and_fits_a_phone(page, client, scheme, paper):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(f"http://127.0.0.1:{client.port}/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_description_expands_offline(page, client):
    page.goto(f"http://127.0.0.1:{client.port}/docs")
    entry = page.locator("details", has_text="One prediction per row")
    entry.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(entry.locator("pre").first).to_contain_text('"reject": 0.5')
    assert page.messages == []
    assert {url.split("/")[2] for url in page.requests} == {f"127.0.0.1:{client.port}"}
