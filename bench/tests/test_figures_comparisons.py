"""The figures that set methods side by side: boxes, critical distances, reliability, risk and coverage."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest
from slova_bench import labels
from slova_bench.figures import FIGURES, ablation, critical, reliability, risk_coverage, shift, sources
from slova_bench.figures.groups import summed
from slova_bench.histograms import BINS, Histogram
from slova_bench.ranks import bonferroni_dunn
from slova_bench.results import Cell, Results
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import quartiles as quartile_tables
from slova_bench.tables.ranks import ood_comparison, shift_comparison

from slova.metrics.binning import BinCounts

CELL = Cell("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 1000)


def lines(axis, **wanted):
    """The lines of an axis with these properties."""
    return [one for one in axis.lines if all(getattr(one, f"get_{name}")() == value for name, value in wanted.items())]


# Boxes


def boxes(axis):
    """Quartiles of all boxes, from left to right: first, median, third, least, greatest."""
    segments = [segment for part in axis.collections for segment in part.get_segments()]
    medians = {round(s[:, 0].mean(), 6): s[0, 1] for s in segments if s[0, 1] == s[1, 1] and s[0, 0] != s[1, 0]}
    whiskers = {round(s[0, 0], 6): (s[0, 1], s[1, 1]) for s in segments if s[0, 0] == s[1, 0]}
    found = {}
    for bar in axis.patches:
        x = round(bar.get_x() + bar.get_width() / 2, 6)
        found[x] = (bar.get_y(), medians[x], bar.get_y() + bar.get_height(), *whiskers[x])
    return [found[x] for x in sorted(found)]


def quartiles(rows, **wanted):
    """By hand: means over seeds, then percentiles over shifts."""
    own = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    cells = {(row.shift, row.level) for row in own}
    means = [np.mean([row.value for row in own if (row.shift, row.level) == one]) for one in cells]
    return tuple(np.percentile(means, (25, 50, 75, 0, 100)))


def test_boxes_of_a_severity_are_quartiles_of_means_over_seeds(shift_rows, methods):
    rows = shift_rows()
    axes = shift.plot(rows).axes
    for axis, metric in zip(axes, shift.METRICS, strict=True):
        wanted = [quartiles(rows, metric=metric, level=level, method=m) for level in range(6) for m in methods]
        np.testing.assert_allclose(boxes(axis), wanted, rtol=1e-9)


def test_the_ablation_pools_all_severities(shift_rows, methods):
    rows = shift_rows("ablation")
    for axis, metric in zip(ablation.plot(rows).axes, shift.METRICS, strict=True):
        np.testing.assert_allclose(boxes(axis), [quartiles(rows, metric=metric, method=m) for m in methods])


def test_a_new_shift_joins_neither_the_tables_nor_the_figures_of_the_paper(tmp_path, shift_rows):
    rows = shift_rows(shifts=labels.PAPER_SHIFTS, methods=("softmax", "slova"))
    new = [row._replace(shift="new_shift") for row in rows if row.shift == "fog"]
    for folder, found in (("paper", rows), ("more", [*rows, *new])):
        Results(tmp_path / folder, "shift-cifar10").append(found)
    paper, more = (ResultsFolder.read(tmp_path / folder) for folder in ("paper", "more"))
    assert [row.shift for row in sources.rows(more, "cifar10", "shift", ["ece"]) if row.shift == "new_shift"] == []
    drawn = [boxes(axis) for axis in shift.plot(sources.usual_rows(paper, "cifar10", shift.METRICS)).axes]
    again = [boxes(axis) for axis in shift.plot(sources.usual_rows(more, "cifar10", shift.METRICS)).axes]
    assert drawn == again
    assert quartile_tables.make(paper, "cifar10") == quartile_tables.make(more, "cifar10")[:3]


def test_methods_beyond_the_paper_have_a_figure_of_their_own(tmp_path, shift_rows):
    drawings = {drawing.name: drawing for drawing in FIGURES}
    Results(tmp_path, "shift-cifar10").append(shift_rows(methods=("softmax", "temperature", "slova_mirror")))
    results = ResultsFolder.read(tmp_path)
    shown = {name: legend(drawings[name].draw(results, "cifar10")) for name in ("shift", "shift-beyond")}
    assert shown["shift"] == ["Softmax", "Temperature scaling"]
    assert shown["shift-beyond"] == ["Temperature scaling", "SLOVA, distance-aware, flip test-time augmentation"]


def legend(figure):
    return [text.get_text() for key in figure.legends for text in key.get_texts()]


def test_a_variant_is_a_method_of_its_own(shift_rows):
    rows = shift_rows(methods=("slova",))
    rows += [row._replace(preset="paper", value=row.value + 5) for row in rows]
    assert len(boxes(ablation.plot(rows).axes[0])) == 2


# Critical distance


def test_the_band_is_as_wide_as_the_bonferroni_dunn_distance_and_dots_are_mean_ranks(shift_rows):
    verdict = shift_comparison(shift_rows(), ()).pooled
    axis = critical.plot(verdict).axes[0]
    ranks = verdict.distance.mean_ranks
    (band,) = axis.patches
    half = bonferroni_dunn(ranks, 16, control="slova").distance
    assert (band.get_x(), band.get_width()) == pytest.approx((ranks["slova"] - half, 2 * half))
    assert sorted(dot.get_xdata()[0] for dot in lines(axis, marker="o")) == pytest.approx(sorted(ranks.values()))
    names = {labels.look(name).name: rank for name, rank in ranks.items()}
    for text in axis.texts:
        (name,) = [name for name in names if name in text.get_text()]
        assert f"{names[name]:.2f}" in text.get_text()


def test_only_methods_within_the_band_have_filled_dots(shift_rows):
    order = {"softmax": 3.0, "temperature": 1.0, "slova": 1.0, "ensemble": 0.0}
    rows = [row._replace(value=order[row.method] + row.value / 1e3) for row in shift_rows()]
    verdict = shift_comparison(rows, ()).pooled
    for dot in lines(critical.plot(verdict).axes[0], marker="o"):
        near = abs(dot.get_xdata()[0] - verdict.distance.mean_ranks["slova"]) < verdict.distance.distance
        assert (dot.get_markerfacecolor() != "white") is bool(near)
    assert "temperature" in verdict.distance.alike
    assert "softmax" not in verdict.distance.alike


def test_a_method_that_is_still_running_waits(shift_rows):
    rows = [row for row in shift_rows() if row.method != "ensemble" or row.level < 2]
    rows += shift_rows(methods=("svi",), seeds=(1,))  # at a seed of its own
    verdict = shift_comparison(rows, ()).pooled
    assert set(verdict.distance.mean_ranks) == {"softmax", "temperature", "slova"}
    assert verdict.distance.cells == 16


def test_on_ood_data_scores_and_the_test_set_itself_do_not_count(ood_rows, methods):
    distance = ood_comparison(ood_rows(), ()).pooled.distance
    assert set(distance.mean_ranks) == set(methods)
    assert distance.cells == 3


def test_it_is_stated_when_friedmans_test_finds_no_difference(shift_rows, methods):
    rows = [row._replace(value=0.5) for row in shift_rows()]
    clear = [row._replace(value=float(methods.index(row.method))) for row in shift_rows()]
    assert "finds no difference" in critical.plot(shift_comparison(rows, ()).pooled).axes[0].get_xlabel()
    assert "finds no difference" not in critical.plot(shift_comparison(clear, ()).pooled).axes[0].get_xlabel()


# Histograms


@pytest.mark.parametrize("confidence", [0.29, 0.57, 0.58, 0.0, 1.0])
def test_histograms_bin_like_the_metrics_of_the_library(confidence):
    counts = BinCounts.binned(np.array([confidence]), np.array([True]), BINS, "width").count
    assert Histogram.of(CELL, np.array([confidence]), np.array([True])).count == tuple(counts)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (450, 1000)])
def test_intervals_of_the_diagram_are_those_of_the_library(hits, n):
    one = Histogram.of(CELL, np.full(n, 0.525), np.arange(n) < hits)
    ((_, low), (_, high)) = reliability.plot([one]).axes[0].collections[0].get_segments()[0]
    exact = binomtest(hits, n).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-6)


def test_reliability_has_the_share_of_hits_at_the_mean_confidence_of_each_bin(histogram):
    one = histogram(n=3000)
    axis = reliability.plot([one]).axes[0]
    points = lines(axis, marker="o")[0].get_xydata()
    edges = range(0, BINS + 1, 5)
    wanted = [
        (sum(one.total[low:high]) / sum(one.count[low:high]), sum(one.hits[low:high]) / sum(one.count[low:high]))
        for low, high in itertools.pairwise(edges)
        if sum(one.count[low:high])
    ]
    np.testing.assert_allclose(points, wanted)


def test_evaluating_the_same_images_twice_makes_no_interval_narrower(histogram):
    one = histogram()
    single, double = (reliability.plot([one] * times).axes[0].collections[0].get_segments() for times in (1, 2))
    np.testing.assert_allclose(single, double)


def test_risk_coverage_is_the_error_above_every_threshold():
    generator = np.random.default_rng(0)
    confidence, right = generator.random(1000).round(2), generator.random(1000) < 0.7
    confidence = confidence.clip(0.005, 0.995) + 0.001  # clear of the edges of bins
    coverage, risk = risk_coverage.curve(summed([Histogram.of(CELL, confidence, right)]))
    thresholds = sorted({int(100 * value) / 100 for value in confidence}, reverse=True)
    np.testing.assert_allclose(coverage, [np.mean(confidence >= t) for t in thresholds])
    np.testing.assert_allclose(risk, [1 - np.mean(right[confidence >= t]) for t in thresholds])


def test_clean_and_shifted_predictions_have_panels_of_their_own(histogram):
    clean, noisy = histogram(), histogram(shift="fog")
    left, right = risk_coverage.plot([clean, noisy]).axes
    for axis, one in ((left, clean), (right, noisy)):
        assert axis.lines[0].get_ydata()[-1] == pytest.approx(1 - sum(one.hits) / sum(one.count))
