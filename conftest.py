"""Fixtures of both distributions. Ray's workers do not wait until the cores are idle, which beside other tests they
never are, and Spark's Java starts quickly."""

import os
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

os.environ |= {"RAY_worker_niceness": "0", "SPARK_CONF_DIR": str(Path(__file__).parent / "tests" / "spark")}
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Files are written thousands of times, and no test takes the power away; those of faults run in processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def browser():
    """A real browser, without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("there is no browser here: apt-get install chromium")
    playwright.expect.set_options(timeout=60_000)  # on a loaded machine a page takes its time
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_of_the_file(browser):
    """One page for all tests of a file: opening one takes half of the time of a test."""
    page = browser.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    return page


@pytest.fixture
def blank(page_of_the_file):
    """An empty page, with what it says on its console and what it asks for from now on."""
    page_of_the_file.goto("about:blank")
    page_of_the_file.said.clear()
    page_of_the_file.asked.clear()
    page_of_the_file.set_viewport_size({"width": 1280, "height": 720})
    page_of_the_file.emulate_media(color_scheme="light", reduced_motion="reduce")
    return page_of_the_file


@pytest.fixture
def without_waiting():
    """A context in which every operation that waits for the GPU is an error."""
    import torch

    @contextmanager
    def context():
        torch.cuda.synchronize()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one says that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")

    return context
