"""The site: built strictly, complete without a network, readable on a phone, and found by its search."""

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason='the site is not built here: pip install "slova[docs]"')
pytest.importorskip("mkdocstrings_handlers.python", reason='the site is not built here: pip install "slova[docs]"')

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
site_hooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(site_hooks)
SHOWN_ELSEWHERE = ("slova.serve", "slova.serve.ray", "slova.report.arrays")  # in docs/serving.md and docs/report.md
QUESTIONS = {
    "how do I get a threshold for 1 % errors": "selective",
    "my logits are softmax": "troubleshooting",
    "what is NONE": "glossary",
    "P(none) is always 0": "troubleshooting",
    "confidence too high on blurred images": "troubleshooting",
    "which calibrator should I choose": "choosing-a-calibrator",
    "calibrate a random forest": "tutorials/tables",
    "export to onnx": "export",
    "serve over HTTP": "serving",
    "reliability diagram": "tutorials/gallery",
    "out of memory with a million classes": "troubleshooting",
    "out-of-scope questions": "tutorials/text",
    "difference to MAPIE": "other-libraries",
    "when should I not use it": "when-not",
    "abstain": "glossary",
    "conformal": "selective",
    "docker": "serving",
}
KINDS = ["index", "get-started", "tutorials/images", "tutorials/gallery", "selective", "method", "results", "glossary",
         "other-libraries", "reference/index", "reference/slova.scorer", "reference/cli", "examples"]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site; a warning of the build, such as a broken link, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_public_module_has_a_page_of_reference(site):
    pages = {path.stem for path in (site / "reference").glob("slova.*.html")}
    assert {"slova.classifier", "slova.scorer", "slova.sklearn", "slova.metrics", "slova.export"} <= pages
    text = (site / "reference" / "slova.scorer.html").read_text(encoding="utf-8")
    assert 'id="slova.scorer.Scorer.fit"' in text
    assert "<strong>none_share</strong>: the prior probability of NONE" in text  # arguments are a list


def test_the_page_of_a_module_shows_each_of_its_names_in_an_example():
    modules = [name for names in site_hooks.MODULES.values() for name in names if name not in SHOWN_ELSEWHERE]
    assert {name: missing for name in modules if (missing := without_example(name))} == {}
    assert without_example("slova.serve") != []


def without_example(name: str) -> list[str]:
    """The functions and classes on the page of a module that no doctest there, or where they are defined, uses."""
    values = {key: getattr(importlib.import_module(name), key) for key in site_hooks.public_names(name)}
    called = {key: value for key, value in values.items() if inspect.isfunction(value) or is_shown_class(value)}
    homes = {name, *(value.__module__ for value in called.values())}
    found = [test for home in homes for test in doctest.DocTestFinder().find(importlib.import_module(home))]
    text = "\n".join(example.source + example.want for test in found for example in test.examples)
    return [key for key in called if not re.search(rf"\b{key}\b", text)] if text else [name]


def is_shown_class(value: object) -> bool:
    return inspect.isclass(value) and not issubclass(value, Exception)


def test_no_page_loads_anything_from_another_host(site):
    outside = re.compile(
        r'<(?:script|img|iframe|source)[^>]*\bsrc="(?:https?:)?//[^"]*"|<link[^>]*\bhref="https?://[^"]*"'
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    assert {page.name: found for page in pages if (found := outside.findall(page.read_text(encoding="utf-8")))} == {}


@pytest.fixture(scope="module")
def page(browser, site):
    """A page of the browser that notes requests that leave the files."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    outside = []
    page.on("request", lambda request: _note(outside, request.url))
    yield page
    assert outside == []
    page.close()


def _note(outside, url):
    if not url.startswith(("file:", "data:", "blob:")):
        outside.append(url)


@pytest.fixture(scope="module")
def search(page, site):
    """The first page, whose search has made its index: that takes longer than any question."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"file://{site}/index.html")
    return page


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items(), ids=QUESTIONS)
def test_the_first_page_that_the_search_finds_answers_the_question(search, question, answer):
    search.keyboard.press("s")
    search.locator(".md-search__input").fill("")
    search.wait_for_function("() => !document.querySelector('.md-search-result__list > li a')")  # of the last question
    search.keyboard.insert_text(question)  # at once: there is no list of a part of it
    search.keyboard.press("End")
    search.wait_for_selector(".md-search-result__list > li a")
    search.wait_for_function("() => /matching/.test(document.querySelector('.md-search-result__meta').textContent)")
    first = search.locator(".md-search-result__list > li a").first.get_attribute("href")
    assert re.search(rf"(?:^|/){answer}\.html", first)


@pytest.mark.parametrize("kind", KINDS)
def test_pages_fit_into_the_width_and_their_pictures_load(page, site, kind):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"file://{site}/{kind}.html")
    broken = "[...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(broken) == []
