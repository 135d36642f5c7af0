"""A small folder of results with every experiment but one, made without training anything, and rows to draw."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from slova_bench.claims import CLAIMS, JudgedClaim, Verdict, judged_claims
from slova_bench.histograms import Histogram, Histograms
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder

UNSAFE = "<img src=x onerror=alert(1)>"
METHODS = ("softmax", "ova", "slova", UNSAFE)
SEEDS, IMAGES = (0, 1), 400
SHIFT = ("accuracy", "ece", "nll", "brier", "mmc")
DRAWN = ("softmax", "temperature", "ensemble", "slova")
RANDOM = np.random.default_rng(0)


class Maker:
    """Writes rows and histograms that look like those of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.generator = folder, np.random.default_rng(0)

    def rows(self, experiment: str, cells: list[tuple[Cell, tuple[str, ...]]]) -> None:
        results = Results(self.folder, f"{experiment}-digits")
        results.append([Row.of(cell, name, self.generator.uniform()) for cell, metrics in cells for name in metrics])
        results.close()

    def histograms(self, experiment: str, cells: list[Cell]) -> None:
        found = Histograms(self.folder / f"{experiment}-digits.csv")
        found.append([self._histogram(cell) for cell in cells])
        found.close()

    def _histogram(self, cell: Cell) -> Histogram:
        known = cell.test == "digits-test"
        confidence = self.generator.beta(6 / (1 + cell.level) if known else 2, 1, IMAGES)
        return Histogram.of(cell, confidence, (self.generator.random(IMAGES) < confidence) & known)


def cell(experiment: str, method: str = "slova", **parts: object) -> Cell:
    return Cell(experiment, method, "", "digits-train", "digits-test", "", 0.0, 0, IMAGES)._replace(**parts)


def of_shift() -> list[Cell]:
    sets = [("", 0.0), *((shift, float(level)) for shift in ("fog", "shot_noise") for level in range(1, 6))]
    runs = [(method, seed) for method in METHODS for seed in SEEDS]
    return [
        cell("shift", method, seed=seed, shift=shift, level=level) for method, seed in runs for shift, level in sets
    ]


def of_ood() -> list[Cell]:
    runs = [(method, seed) for method in (*METHODS, "energy") for seed in SEEDS]
    tests = ("digits-test", "svhn-test", "uniform")
    return [cell("ood", method, seed=seed, test=test) for method, seed in runs for test in tests]


@pytest.fixture(scope="session")
def made_results(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    maker = Maker(folder)
    maker.rows("shift", [(one, SHIFT) for one in of_shift()])
    maker.histograms("shift", of_shift())
    outside = ("mmc", "auroc", "aupr", "fpr95")
    maker.rows("ood", [(one, ("error", "mmc") if one.test == "digits-test" else outside) for one in of_ood()])
    maker.histograms("ood", of_ood())
    fits = [(name, float(n)) for name in ("M", "n_b") for n in (1, 10, 100)] + [("", 0.0)]
    maker.rows("stability", [(cell("stability", parameter=name, parameter_value=n), SHIFT) for name, n in fits])
    far = [cell("directions", method, level=level) for method in METHODS for level in (0.0, 1.0, 1000.0)]
    maker.rows("directions", [(one, ("mmc", "confident")) for one in far])
    maker.rows("maps", [(cell("maps", level=p / 10), ("calibrated", "observed")) for p in range(11)])
    curves = [
        cell("appendix", name, train="", test="", level=p / 10) for name in ("exact", "fitted") for p in range(11)
    ]
    maker.rows("appendix", [(one, ("calibrated",)) for one in curves])
    maker.rows("plane", [(cell("plane", "ova", shift="plane"), ("mmc",))])
    points = [("ova", "", seed, a, b, 0.5 + 0.1 * seed) for seed in SEEDS for a in (-20.0, 0.0) for b in (0.0, 20.0)]
    names = ("method", "preset", "seed", "alpha", "beta", "confidence")
    pd.DataFrame(points, columns=names).to_parquet(folder / "plane-digits-picture.parquet")
    return folder


def _shift_rows(
    experiment: str = "shift",
    methods: Sequence[str] = DRAWN,
    shifts: Sequence[str] = ("gaussian_noise", "fog", "contrast"),
    seeds: Sequence[int] = (0, 1),
) -> list[Row]:
    """Noise that rises with the level."""
    sets = [("", 0), *itertools.product(shifts, (1, 2, 3, 4, 5))]
    cells = [
        cell(experiment, method, shift=name, level=float(level), seed=seed)
        for method, (name, level), seed in itertools.product(methods, sets, seeds)
    ]
    metrics = ("accuracy", "ece", "nll", "brier")
    return [Row.of(one, metric, 0.1 * one.level + 0.1 * RANDOM.random()) for one in cells for metric in metrics]


def _ood_rows(methods: Sequence[str] = (*DRAWN, "energy")) -> list[Row]:
    sets = ("digits-test", "uniform", "svhn-test", "inverted")
    return [Row.of(cell("ood", m, test=t), "mmc", RANDOM.random()) for m, t in itertools.product(methods, sets)]


def _histogram(method: str = "slova", shift: str = "", seed: int = 0, n: int = IMAGES) -> Histogram:
    confidence = RANDOM.beta(2, 1, n)
    return Histogram.of(cell("shift", method, shift=shift, seed=seed, n=n), confidence, confidence > RANDOM.random(n))


@pytest.fixture(scope="session")
def methods() -> tuple[str, ...]:
    """Those of `shift_rows`, in the order in which they are drawn."""
    return DRAWN


@pytest.fixture(scope="session")
def shift_rows() -> Callable[..., list[Row]]:
    return _shift_rows


@pytest.fixture(scope="session")
def ood_rows() -> Callable[..., list[Row]]:
    return _ood_rows


@pytest.fixture(scope="session")
def histogram() -> Callable[..., Histogram]:
    return _histogram


class Opened:
    """A page with its console messages and requests."""

    def __init__(self, page, path) -> None:
        self.page, self.path, self.messages, self.requests = page, path, [], []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: (self.messages.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

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
        """The rows of the table at a threshold, by method."""
        self.page.locator("#threshold").fill(str(threshold))
        rows = self.page.locator("#reject-table tbody tr").all()
        return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


@pytest.fixture(scope="module")
def opened(browser, made_results, tmp_path_factory):
    """The page of `made_results` in a real browser."""
    from slova_bench.report.comparison import comparison
    from slova_bench.results_folder import ResultsFolder

    from slova.report.page import render

    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(comparison(ResultsFolder.read(made_results))), encoding="utf-8")
    return Opened(browser.new_page(color_scheme="light", reduced_motion="reduce"), path)


def _found(folder: Path, only: str = "", **files: list[Row]) -> dict[tuple[str, str], JudgedClaim]:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        results = Results(folder, name.replace("_", "-"))
        results.append(rows)
        results.close()
    claims = [claim for claim in CLAIMS if only in ("", claim.title)]
    return {(one.claim, one.on): one for one in judged_claims(ResultsFolder.read(folder), claims)}


@pytest.fixture(scope="session")
def found() -> Callable[..., dict[tuple[str, str], JudgedClaim]]:
    """A function to the judged claims of rows, or to one of them, by claim and training set."""
    return _found


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """A function to the verdict on one claim."""
    return lambda folder, claim, on="cifar10", **files: _found(folder, claim, **files)[claim, on].verdict
