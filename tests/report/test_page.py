"""The page as a file: numbers survive, nothing is loaded, and no script but ours may run."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
import vl_convert

from slova.metrics import Ece
from slova.report.bins import bin_columns
from slova.report.charts import charts
from slova.report.colours import DARK, contrast, on_dark
from slova.report.page import Page, render
from slova.report.sheets import Entry, sheet

UNSAFE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def html():
    return render(Page(UNSAFE, [UNSAFE], {"series": [{"name": UNSAFE}], "panels": []}, "The end."))


def histogram(seed: int, rows: int = 5000) -> Ece:
    generator = np.random.default_rng(seed)
    confidence = generator.beta(5, 1, rows)
    return Ece.binned(confidence, generator.random(rows) < confidence, 100, "width")


def test_histograms_of_the_page_are_counts_errors_and_mean_confidences():
    one = histogram(0)
    found = bin_columns([(one.count, one.hits, one.total)] * 2)
    count, errors, middle = (np.array(found[name]) for name in ("count", "errors", "middle"))
    np.testing.assert_array_equal(count[1], one.count)
    np.testing.assert_array_equal(count[0] - errors[0], one.hits)
    mean = (np.arange(20) + middle[0] / 1000) / 20
    total = np.asarray(one.total).reshape(20, 5).sum(1)
    np.testing.assert_allclose(mean * count[0].reshape(20, 5).sum(1), total, rtol=2e-3)
    assert bin_columns([np.zeros((3, 100))])["middle"] == [[0] * 20]


@pytest.mark.parametrize("name", list(charts()))
def test_every_chart_compiles(name):
    spec = charts()[name]
    names = set(re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(spec)))
    vega = vl_convert.vegalite_to_vega({**spec, "width": 300, "datasets": {key: [] for key in names}})
    assert vega["marks"]


@pytest.mark.parametrize("colour", ["#000000", "#777777", "#0072b2", "#882255", "#d55e00"])
def test_colours_stand_out_on_dark_paper(colour):
    assert contrast(on_dark(colour)) >= 4
    assert on_dark("#000000") > on_dark("#777777") > DARK


def test_a_sheet_keeps_the_number_behind_the_text():
    found = sheet(
        "a", "A", ["name", "value"], [[Entry("x, y"), Entry("0.33", 1 / 3)], [Entry("z"), Entry("∞", np.inf)]]
    )
    assert found["rows"] == [[{"text": "x, y"}, {"text": "0.33", "value": 0.333333}], [{"text": "z"}, {"text": "∞"}]]
    assert found["csv"] == 'name,value\n"x, y",0.33333333\nz,inf\n'


def test_the_page_loads_nothing_and_is_small(html):
    assert len(html.encode()) < 2e6
    markup = re.sub(r"<script>.*?</script>", "", html, flags=re.S)
    assert re.findall(r'(?:src|href|action)="(?!data:|#)[^"]*"', markup) == []
    assert "url(" not in markup
    assert "@import" not in markup


def test_only_the_scripts_of_the_page_may_run(html):
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    assert len(scripts) == 2
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert policy == f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def test_an_unsafe_name_is_only_ever_text(html):
    assert UNSAFE not in html
    found = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])
    assert found["series"] == [{"name": UNSAFE}]
