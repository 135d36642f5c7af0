"""The page of the comparison as a file: every experiment is there, nothing comes from elsewhere."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import vl_convert
from slova_bench.experiments import experiments
from slova_bench.figures.charts import charts
from slova_bench.frame import frame
from slova_bench.histograms import Histograms
from slova_bench.labels import METHODS
from slova_bench.ranks import bonferroni_dunn
from slova_bench.report.cells import columns
from slova_bench.report.comparison import FIRST, comparison, shown
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder

from slova.report.colours import contrast
from slova.report.page import render

UNSAFE = "<img src=x onerror=alert(1)>"
CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "fog", 2.0, 0, 100)


@pytest.fixture(scope="module")
def page(made_results):
    return comparison(ResultsFolder.read(made_results))


@pytest.fixture(scope="module")
def html(page):
    return render(page)


def embedded(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_cells_are_means_over_seeds_with_standard_errors():
    values = [0.1, 0.4, 0.25]
    rows = [Row.of(CELL._replace(seed=seed), "ece", value) for seed, value in enumerate(values)]
    infinite = Row.of(CELL._replace(shift="snow"), "nll", np.inf)
    found = columns(frame([*rows, infinite]), {("slova", ""): 7})
    assert (found["series"], found["shifts"], found["seeds"]) == ([7, 7], ["fog", "snow"], [3, 1])
    mean, error = found["metrics"]["ece"]["mean"], found["metrics"]["ece"]["error"]
    assert mean == [0.25, None]
    assert error == [pytest.approx(np.std(values, ddof=1) / np.sqrt(3), rel=1e-4), None]
    assert found["metrics"]["nll"]["mean"] == [None, None]


@pytest.mark.parametrize("name", list(charts()))
def test_every_chart_compiles(name):
    spec = charts()[name]
    names = set(re.findall(r'"data": \{"name": "(\w+)"\}', json.dumps(spec)))
    vega = vl_convert.vegalite_to_vega({**spec, "width": 300, "datasets": {key: [] for key in names}})
    assert vega["marks"]


@pytest.mark.parametrize("experiment", list(experiments()))
def test_the_page_opens_with_at_most_eight_methods(experiment):
    assert len(set(FIRST) & set(experiments()[experiment].methods)) <= 8


@pytest.mark.parametrize("method", [*METHODS, "a method of one's own"])
def test_colours_have_contrast_in_the_dark_theme(method):
    assert contrast(shown((method, ""), chosen=True)["dark"]) >= 4


def test_the_page_loads_nothing_and_is_small(html):
    assert len(html.encode()) < 3e6
    markup = re.sub(r"<script>.*?</script>", "", html, flags=re.S)
    assert re.findall(r'(?:src|href|action)="(?!data:|#)[^"]*"', markup) == []
    assert "url(" not in markup
    assert "@import" not in markup


def test_an_unsafe_name_is_only_ever_text(html):
    assert UNSAFE not in html
    assert UNSAFE in [series["key"] for series in embedded(html)["series"]]


def test_missing_experiments_state_the_command_to_run(html):
    panels = {panel["id"]: panel for panel in embedded(html)["panels"]}
    assert panels["ablation-digits"]["missing"].endswith("run slova bench run ablation --on digits")
    assert [name for name, panel in panels.items() if panel["missing"]] == ["ablation-digits"]


def test_rows_without_histograms_state_what_the_slider_lacks(made_results, tmp_path):
    (tmp_path / "shift-digits.csv").write_bytes((made_results / "shift-digits.csv").read_bytes())
    panel = next(
        panel for panel in comparison(ResultsFolder.read(tmp_path)).data["panels"] if panel["experiment"] == "shift"
    )
    assert panel["histograms"] is None
    assert "run slova bench run shift --on digits" in panel["notices"][0]


def test_a_run_interrupted_between_histograms_and_rows_is_shown(made_results, tmp_path):
    for suffix in ("csv", "parquet"):
        (tmp_path / f"shift-digits.{suffix}").write_bytes((made_results / f"shift-digits.{suffix}").read_bytes())
    histograms = Histograms(tmp_path / "shift-digits.csv")
    histograms.append([one._replace(cell=one.cell._replace(method="svi")) for one in histograms.read()[:1]])
    data = comparison(ResultsFolder.read(tmp_path)).data
    assert "svi" not in {series["key"] for series in data["series"]}
    assert next(panel for panel in data["panels"] if panel["experiment"] == "shift")["histograms"]


def test_results_of_a_quick_run_are_marked(made_results, tmp_path):
    (tmp_path / "shift-digits.csv").write_bytes((made_results / "shift-digits.csv").read_bytes())
    (tmp_path / "ood-digits-quick.csv").write_bytes((made_results / "ood-digits.csv").read_bytes())
    data = comparison(ResultsFolder.read(tmp_path)).data
    headings = {panel["experiment"]: panel["heading"] for panel in data["panels"]}
    assert (headings["shift"], headings["ood"]) == ("Shifted data: Digits", "Out-of-distribution data: Digits (quick)")
    assert {table["title"].endswith(" (quick)") for table in data["tables"] if table["experiment"] == "ood"} == {True}
    overview, *others = [table for table in data["tables"] if table["experiment"] != "ood"]
    assert {column.get("group") for column in overview["columns"]} >= {"clean", "OOD (quick)"}
    assert not any("(quick)" in table["title"] for table in (overview, *others))


def test_scores_have_no_reject_slider(page):
    """Their histograms would be softmax's."""
    panel = next(panel for panel in page.data["panels"] if panel["id"] == "ood-digits")
    energy = [series["key"] for series in page.data["series"]].index("energy")
    assert energy in panel["cells"]["series"]
    assert energy not in panel["histograms"]["series"]


def test_ranks_have_a_band_as_wide_as_the_critical_distance_and_a_caption_that_says_so(page):
    panel = next(panel for panel in page.data["panels"] if panel["id"] == "shift-digits")
    for metric in ("ece", "nll", "brier", "accuracy"):
        found = panel["ranks"][metric]
        middle, half = dict(found["ranks"])[found["control"]], bonferroni_dunn(4, 11)
        assert found["band"] == pytest.approx([max(1, middle - half), min(4, middle + half)], abs=1e-3)
        assert f"over {found['cells']} sets, means over 2 seeds, without variants. " in found["caption"]
        assert f"Within the band, {half:.2f} to either side" in found["caption"]
        assert found["caption"].endswith("are not independent: p-values and distances are too small.")


def test_ranks_are_of_all_seeds_whatever_a_variant_has(tmp_path, shift_rows):
    rows = [row._replace(seed=seed) for seed in range(3) for row in shift_rows()]
    variant = [row._replace(method="ensemble_ten") for row in shift_rows(methods=("slova",))]
    Results(tmp_path, "shift-digits").append([*rows, *variant])
    data = comparison(ResultsFolder.read(tmp_path)).data
    panel = next(panel for panel in data["panels"] if panel["id"] == "shift-digits")
    names, found = [series["key"] for series in data["series"]], panel["ranks"]["ece"]
    assert "ensemble_ten" in names
    assert "ensemble_ten" not in {names[place] for place, _ in found["ranks"]}
    assert "sets, means over 3 seeds, without variants. " in found["caption"]


def test_what_varies_becomes_the_axis(page):
    panel = next(panel for panel in page.data["panels"] if panel["id"] == "stability-digits")
    assert panel["cells"]["shifts"] == ["M", "n_b", "optimal"]
    assert sorted(panel["cells"]["level"]) == [0, 1, 1, 10, 10, 100, 100]


def test_a_plane_is_the_mean_over_seeds(page):
    panel = next(panel for panel in page.data["panels"] if panel["id"] == "plane-digits")
    assert panel["planes"][0]["points"] == [[a, b, 0.55] for a in (-20.0, 0.0) for b in (0.0, 20.0)]


def test_an_empty_folder_states_the_command_to_run(tmp_path):
    with pytest.raises(MissingRowsError, match=r"there are no results in .*: run slova bench run shift --on digits"):
        comparison(ResultsFolder.read(tmp_path))


def test_a_page_needs_no_torch(made_results):
    code = (
        "import sys; from slova.report.page import render; from slova_bench.report.comparison import comparison; "
        "from slova_bench.results_folder import ResultsFolder; "
        f"render(comparison(ResultsFolder.read({str(made_results)!r}))); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
