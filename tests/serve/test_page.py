"""The page to try it by hand, in a real browser: with the keyboard alone, in light and dark, and silent."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.report.thumbnails import png
from slova.serve.load import scorer_model, with_examples
from slova.serve.model import Model, ModelError, Tensor

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect


@pytest.fixture
def page(blank):
    return blank


def test_rows_are_typed_and_answered_by_keyboard_alone(page, client, scorer):
    page.goto(f"http://127.0.0.1:{client.port}/")
    expect(page.locator("#inputs")).to_have_text("3 classes. Inputs per row: logits: 3.")
    page.keyboard.press("Tab")
    page.keyboard.type("4, -4, -5\n1 1 1")
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("2 rows, 1 of them rejected.")
    expected = scorer.predict(np.array([[4, -4, -5], [1, 1, 1]], np.float32), reject=0.5)
    rows = page.locator("#predictions li")
    assert rows.locator("p").all_inner_texts() == [
        f"0 confidence {100 * expected.confidence[0]:.1f} %",
        f"NONE {'nothing fits' if expected.none[1] > expected.ambiguous[1] else 'several fit'}",
    ]
    probs = scorer.predict_proba(np.array([[4, -4, -5]], np.float32))[0]
    bars = dict(
        zip(*(rows.first.locator(f".bar .{part}").all_inner_texts() for part in ("name", "share")), strict=True)
    )
    assert bars == {name: f"{100 * probs[k]:.1f} %" for k, name in enumerate(["0", "1", "2", "no class"])}
    expect(page.get_by_label("Token")).to_be_hidden()
    assert page.said == []
    assert {url.split("/")[2] for url in page.asked} == {f"127.0.0.1:{client.port}"}


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
    page.get_by_role("button", name="Random rows").click()
    page.locator("#rows").press("Control+Enter")
    expect(page.locator("#predictions li")).to_have_count(2)
    assert page.locator("#status").inner_text().startswith("2 rows")


def test_the_page_sends_the_token(page, serving, scorer):
    with serving(scorer_model(scorer, name="map"), token="s3cret") as client:
        page.goto(f"http://127.0.0.1:{client.port}/")
        expect(page.locator("#inputs")).to_contain_text("the header Authorization")
        page.locator("#rows").fill("4, -4, -5")
        expect(page.get_by_label("Token")).to_be_visible()
        page.get_by_label("Token").fill("s3cret")
        page.get_by_role("button", name="Predict").click()
        expect(page.locator("#status")).to_have_text("1 row, 0 of them rejected.")
        expect(page.locator("h1")).to_have_text("map")


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 24, 29)")])
def test_the_page_follows_the_system_and_fits_a_phone(page, client, scheme, paper):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"http://127.0.0.1:{client.port}/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_description_expands_offline(page, client):
    page.goto(f"http://127.0.0.1:{client.port}/docs")
    entry = page.locator("details", has_text="One prediction per row")
    entry.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(entry.locator("pre").first).to_contain_text('"reject": 0.5')
    assert page.said == []
    assert {url.split("/")[2] for url in page.asked} == {f"127.0.0.1:{client.port}"}


def test_examples_are_those_that_were_given_on_purpose(page, serving, scorer, tmp_path):
    (tmp_path / "rows.json").write_text("[[4, -4, -5], [-6, -6, -6], [3, 3, -5]]")
    with serving(with_examples(scorer_model(scorer), tmp_path / "rows.json")) as client:
        page.goto(f"http://127.0.0.1:{client.port}/")
        page.get_by_role("button", name="Examples").click()
        page.locator("#rows").press("Control+Enter")
        expect(page.locator("#predictions li")).to_have_count(3)
    assert "examples" not in scorer_model(scorer).describe()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[1, 2]]", "expected [-1, 3]"),
        (f"[{', '.join(['[1, 2, 3]'] * 17)}]", "expected 1 to 16"),
        ("nonsense", "not JSON"),
        (" " * (1 << 20) + "[]", "at most 1048576"),
    ],
)
def test_examples_that_the_model_cannot_take_are_refused(scorer, tmp_path, text, problem):
    (tmp_path / "rows.json").write_text(text)
    with pytest.raises(ModelError, match=re.escape(problem)):
        with_examples(scorer_model(scorer), tmp_path / "rows.json")
    scorer.save(tmp_path / "model.slova")
    words = ["serve", str(tmp_path / "model.slova"), "--examples", str(tmp_path / "rows.json")]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 2
    assert problem in said.stderr


def test_a_picture_is_scaled_and_sent_to_a_model_of_images(page, serving):
    """The model answers with the mean of each channel: the picture is red on the left."""
    seen = []

    def run(inputs, wanted):
        seen.append(inputs["image"])
        means = inputs["image"].mean(axis=(2, 3)).astype(np.float32)
        probs = means / means.sum(axis=1, keepdims=True)
        shares = {"confidence": probs.max(1), "none": 0 * probs[:, 0], "ambiguous": 1 - probs.max(1)}
        found = {"label": probs.argmax(1), "log_probs": np.log(probs), **shares}
        return {name: found[name] for name in wanted}

    model = Model(
        name="colours", platform="test", inputs=(Tensor("image", "FP32", (-1, 3, 4, 6)),), classes=3, run=run,
        names=("red", "green", "blue"),
    )  # fmt: skip
    pixels = np.full((3, 8, 12), 51, np.uint8)
    pixels[0, :, :6] = 255
    with serving(model) as client:
        page.goto(f"http://127.0.0.1:{client.port}/")
        page.locator("#file").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": png(pixels)})
        expect(page.locator("#predictions li p")).to_contain_text("red")
    assert seen[-1].shape == (1, 3, 4, 6)
    np.testing.assert_allclose(seen[-1][0, 0, :, 0], 1.0, atol=0.01)
    np.testing.assert_allclose(seen[-1][0, 1], 0.2, atol=0.01)
    assert page.said == []
