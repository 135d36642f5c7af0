"""Fixtures of both distributions. Ray's workers do not wait until the cores are idle, which beside other tests they
never are, and Spark's Java starts quickly."""

import copy
import os
import shutil
import sys
import warnings
from contextlib import contextmanager, suppress
from functools import cache
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


@pytest.fixture(scope="session", autouse=True)
def operators_of_onnx_are_listed_once():
    """`torch.onnx.export` reads the source of 500 functions to list its operators, which is half of its time."""
    with pytest.MonkeyPatch.context() as patch:
        if "torch" in sys.modules:
            import torch.onnx

            export = torch.onnx.export
            listed = cache(lambda: _list_once(patch))
            patch.setattr(torch.onnx, "export", lambda *args, **options: (listed(), export(*args, **options))[1])
        yield


def _list_once(patch):
    """Each export gets a copy of the list, as it adds operators of its own. With other versions of torch it is slow."""
    with suppress(ImportError, AttributeError):
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        made = cache(ONNXRegistry.from_torchlib)

        def copied(opset_version):
            registry = copy.copy(made(opset_version))
            registry.functions = {target: [*found] for target, found in registry.functions.items()}
            return registry

        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(copied))


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
