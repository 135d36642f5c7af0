"""The figures that set methods side by side: boxes, critical distances, reliability, risk and coverage."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
import vl_convert
from scipy.stats import binomtest
from slova_bench import labels
from slova_bench.figures import FIGURES, comparisons, sources
from slova_bench.figures.charts import charts
from slova_bench.frame import frame, histogram_frame
from slova_bench.histograms import BINS, Histogram
from slova_bench.ranks import bonferroni_dunn
from slova_bench.results import Cell, Results
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import quartiles as quartile_tables
from slova_bench.tables.ranks import ood_comparison, shift_comparison

from slova.metrics.binning import BinCounts

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 1000)
NO_PAPER = frame(())


def points(panel, place=0):
    source = panel.get("layer", [panel])[place].get("data") or panel["data"]
    return pd.DataFrame(source["values"])


def columns(spec):
    """The panels of each column, by metric."""
    return [dict(zip(sources.METRICS, column["vconcat"], strict=True)) for column in spec["hconcat"]]


def spoken(name, panel):
    """The numbers of the chart of the page with the data of a panel, as a screen reader says them, by method and
    place."""
    spec = {**charts()[name], "width": 300, "datasets": {"points": points(panel).to_dict("records")}}
    said = re.findall(
        r'aria-label="([^"]+), (severity \w+): ([^"]+)"', vl_convert.vegalite_to_svg(spec, vl_version="6.4")
    )
    return {
        (method, place): [float(number) for number in re.findall(r"\d+\.\d+", text)] for method, place, text in said
    }


def by_hand(rows, **wanted):
    """Means over seeds, then their mean and percentiles over shifts."""
    own = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    cells = {(row.shift, row.level) for row in own}
    means = [np.mean([row.value for row in own if (row.shift, row.level) == one]) for one in cells]
    return np.mean(means), *(np.percentile(means, (25, 50, 75)) if len(means) > 1 else ())


@pytest.mark.parametrize("chart", ["boxes", "types"])
def test_boxes_of_a_severity_are_quartiles_of_means_over_seeds(chart, shift_rows, methods):
    rows = shift_rows()
    (column,) = columns(comparisons.shift(frame(rows)))
    for metric, panel in column.items():
        found = spoken(chart, panel)
        for method, level in itertools.product(methods, range(6)):
            wanted = by_hand(rows, metric=metric, level=level, method=method)
            assert found[labels.look(method).name, f"severity {level}"] == pytest.approx(wanted, abs=6e-4)


def test_whiskers_of_boxes_are_the_extremes():
    whiskers, *_ = charts()["boxes"]["layer"]
    ops = {one["as"]: one["op"] for one in whiskers["transform"][0]["aggregate"]}
    assert [ops[whiskers["encoding"][channel]["field"]] for channel in ("y", "y2")] == ["min", "max"]


def test_steps_pool_all_severities_and_a_variant_is_a_method_of_its_own(shift_rows, methods):
    rows = shift_rows("ablation")
    rows += [row._replace(preset="paper", value=row.value + 5) for row in rows if row.method == "slova"]
    for panel, metric in zip(comparisons.steps(frame(rows))["hconcat"], sources.METRICS, strict=True):
        assert points(panel)["name"].unique().tolist() == [
            *(labels.look(name).name for name in methods),
            "SLOVA, paper",
        ]
        found = spoken("boxes", panel)
        for name in methods:
            wanted = by_hand(rows, metric=metric, method=name, preset="")
            assert found[labels.look(name).name, "severity all"] == pytest.approx(wanted, abs=6e-4)


def test_many_methods_are_in_columns_with_the_same_axes_and_a_legend_each(shift_rows):
    names = ("softmax", "temperature", "dropout", "ensemble", "svi", "ll_svi", "ova_dm", "ova", "slova")
    spec = comparisons.shift(frame(shift_rows(methods=names)))
    for one, other in zip(*(column.values() for column in columns(spec)), strict=True):
        first, second = (panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in (one, other))
        assert first == second
    legends = [column["vconcat"][0]["layer"][0]["encoding"]["color"]["scale"]["domain"] for column in spec["hconcat"]]
    assert [len(names) for names in legends] == [5, 5]
    assert all("SLOVA" in names for names in legends)
    assert spec["resolve"]["scale"]["color"] == "independent"


def test_a_new_shift_joins_neither_the_tables_nor_the_figures_of_the_paper(tmp_path, shift_rows):
    rows = shift_rows(shifts=labels.PAPER_SHIFTS, methods=("softmax", "slova"))
    new = [row._replace(shift="new_shift") for row in rows if row.shift == "fog"]
    for folder, found in (("paper", rows), ("more", [*rows, *new])):
        Results(tmp_path / folder, "shift-cifar10").append(found)
    paper, more = (ResultsFolder.read(tmp_path / folder) for folder in ("paper", "more"))
    drawn, again = (comparisons.shift(sources.usual_rows(one, "cifar10")) for one in (paper, more))
    assert drawn == again
    assert quartile_tables.make(paper, "cifar10") == quartile_tables.make(more, "cifar10")[:3]


def test_methods_beyond_the_paper_have_a_figure_of_their_own(tmp_path, shift_rows):
    drawings = {drawing.name: drawing for drawing in FIGURES}
    Results(tmp_path, "shift-cifar10").append(shift_rows(methods=("softmax", "temperature", "slova_mirror")))
    results = ResultsFolder.read(tmp_path)
    (usual,), (beyond,) = (columns(drawings[name].make(results, "cifar10")) for name in ("shift", "shift-beyond"))
    assert set(points(usual["ece"])["method"]) == {"softmax", "temperature"}
    assert set(points(beyond["ece"])["method"]) == {"temperature", "slova_mirror"}


# Critical distance


def test_the_band_is_as_wide_as_the_bonferroni_dunn_distance_and_dots_are_mean_ranks(shift_rows):
    pooled = shift_comparison(frame(shift_rows()), NO_PAPER).pooled
    ranks = pooled.mean_ranks
    spec = comparisons.critical(pooled)
    (band,), dots = points(spec, 0).to_dict("records"), points(spec, 1)
    half = bonferroni_dunn(len(ranks), 16)
    ends = max(1, ranks["slova"] - half), min(len(ranks), ranks["slova"] + half)
    assert (band["value"], band["high"]) == pytest.approx(ends)
    assert dict(zip(dots["method"], dots["value"], strict=True)) == pytest.approx(ranks)
    assert dots["says"].tolist() == [f"{ranks[method]:.2f}" for method in dots["method"]]


def test_a_method_that_is_still_running_waits(shift_rows):
    rows = [row for row in shift_rows() if row.method != "ensemble" or row.level < 2]
    rows += shift_rows(methods=("svi",), seeds=(1,))  # at a seed of its own
    pooled = shift_comparison(frame(rows), NO_PAPER).pooled
    assert set(pooled.mean_ranks) == {"softmax", "temperature", "slova"}
    assert pooled.cells == 16


def test_on_ood_data_scores_and_the_test_set_itself_do_not_count(ood_rows, methods):
    pooled = ood_comparison(frame(ood_rows()), NO_PAPER).pooled
    assert set(pooled.mean_ranks) == set(methods)
    assert pooled.cells == 3


def test_it_is_stated_when_friedmans_test_finds_no_difference(shift_rows, methods):
    rows = [row._replace(value=0.5) for row in shift_rows()]
    clear = [row._replace(value=float(methods.index(row.method))) for row in shift_rows()]
    found = [comparisons.critical(shift_comparison(frame(one), NO_PAPER).pooled) for one in (rows, clear)]
    same, other = (" ".join(one["title"]["text"]) for one in found)
    assert "finds no difference" in same
    assert "finds no difference" not in other


# Histograms


@pytest.mark.parametrize("confidence", [0.29, 0.57, 0.58, 0.0, 1.0])
def test_histograms_bin_like_the_metrics_of_the_library(confidence):
    counts = BinCounts.binned(np.array([confidence]), np.array([True]), BINS, "width").count
    assert Histogram.of(CELL, np.array([confidence]), np.array([True])).bins[0].tolist() == counts.tolist()


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (450, 1000)])
def test_intervals_of_the_diagram_are_those_of_the_library(hits, n):
    one = histogram_frame([Histogram.of(CELL, np.full(n, 0.525), np.arange(n) < hits)])
    found, exact = comparisons.reliability_curve(one).iloc[0], binomtest(hits, n).proportion_ci(method="exact")
    assert (found["low"], found["high"]) == pytest.approx((exact.low, exact.high), abs=1e-6)


def test_reliability_has_the_share_of_hits_at_the_mean_confidence_of_each_bin(histogram):
    one = histogram(n=3000)
    (panel,) = comparisons.reliability(histogram_frame([one]))["concat"]
    fives = (one.bins[:, low:high].sum(axis=1) for low, high in itertools.pairwise(range(0, BINS + 1, 5)))
    wanted = [(total / count, hits / count) for count, hits, total in fives if count]
    np.testing.assert_allclose(points(panel, -1)[["confidence", "accuracy"]], wanted, rtol=1e-7)


def test_evaluating_the_same_images_twice_makes_no_interval_narrower(histogram):
    one = histogram()
    single, double = (comparisons.reliability_curve(histogram_frame([one] * times)) for times in (1, 2))
    np.testing.assert_allclose(single[["low", "high"]], double[["low", "high"]])


def test_risk_coverage_is_the_error_above_every_threshold():
    generator = np.random.default_rng(0)
    confidence, right = generator.random(1000).round(2), generator.random(1000) < 0.7
    confidence = confidence.clip(0.005, 0.995) + 0.001  # clear of the edges of bins
    found = comparisons.risk_curve(histogram_frame([Histogram.of(CELL, confidence, right)]))
    thresholds = sorted({int(100 * value) / 100 for value in confidence}, reverse=True)
    np.testing.assert_allclose(found["coverage"], [np.mean(confidence >= t) for t in thresholds])
    np.testing.assert_allclose(found["risk"], [1 - np.mean(right[confidence >= t]) for t in thresholds])


def test_clean_and_shifted_predictions_have_panels_of_their_own(histogram):
    clean, noisy = histogram(), histogram(shift="fog")
    (row,) = comparisons.risk_coverage(histogram_frame([clean, noisy]))["vconcat"]
    for panel, one in zip(row["hconcat"], (clean, noisy), strict=True):
        count, hits, _ = one.bins.sum(axis=1)
        assert points(panel)["risk"].iloc[-1] == pytest.approx(1 - hits / count)
