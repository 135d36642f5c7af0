"""The figures show what the rows say, the same bytes every time, without torch and without a window system."""

import itertools
import json
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from scipy.stats import binomtest

from slova.bench import display
from slova.bench.evidence import Evidence, MissingRowsError, Plane
from slova.bench.experiments import experiments
from slova.bench.figures import (
    FIGURES,
    ablation,
    appendix,
    confidence_map,
    critical,
    directions,
    maps,
    planes,
    reliability,
    risk_coverage,
    save,
    shift,
    stability,
    style,
)
from slova.bench.figures.groups import summed
from slova.bench.histograms import Histogram, Histograms
from slova.bench.parquet import save_table
from slova.bench.ranks import bonferroni_dunn
from slova.bench.results import Cell, Results, Row
from slova.bench.tables.ranks import ood_comparison, shift_comparison
from slova.heads import log_slova

METHODS = ("softmax", "temperature", "ensemble", "slova")
SHIFTS = ("gaussian_noise", "fog", "contrast")
RANDOM = np.random.default_rng(0)


def cell(experiment="shift", method="slova", variant="", shift="", level=0.0, seed=0, test="digits-test"):
    return Cell(experiment, method, variant, "digits-train", test, shift, float(level), seed, 500)


def shift_rows(experiment="shift", methods=METHODS, shifts=SHIFTS, seeds=(0, 1)):
    sets = [("", 0), *itertools.product(shifts, (1, 2, 3, 4, 5))]
    return [
        Row.of(
            cell(experiment, method, shift=name, level=level, seed=seed), metric, 0.1 * level + 0.1 * RANDOM.random()
        )
        for method, (name, level), seed in itertools.product(methods, sets, seeds)
        for metric in ("accuracy", "ece", "nll", "brier")
    ]


def foreign_rows(methods=(*METHODS, "energy")):
    sets = ("digits-test", "uniform", "svhn-test", "inverted")
    return [Row.of(cell("ood", m, test=t), "mmc", RANDOM.random()) for m, t in itertools.product(methods, sets)]


def histogram(method="slova", shift="", seed=0, n=400):
    confidence = RANDOM.beta(2, 1, n)
    return Histogram.of(cell(method=method, shift=shift, seed=seed), confidence, confidence > RANDOM.random(n))


def direction_rows():
    spread = {"mmc": 0.9, "confidence_std": 0.3}
    levels = (0, 0.03, 0.1, 1, 10, 100, 1000)
    return [
        Row.of(cell("directions", method, shift="direction", level=level), metric, value / (1 + level))
        for method, level, (metric, value) in itertools.product(("ova", "slova"), levels, spread.items())
    ]


def plane(method, seed=0):
    grid = itertools.product(np.linspace(-4, 4, 5), np.linspace(-4, 4, 5))
    return Plane("digits-train", method, "", seed, tuple((a, b, 0.5 + a / 20 + b / 100 + seed / 50) for a, b in grid))


def stability_rows():
    variants = ("M=1", "M=20", "M=50", "n_b=20", "n_b=1000", "n_b=10000", "optimal")
    cells = [cell("stability", "slova_clean", variant, seed=seed) for variant in variants for seed in (0, 1)]
    return [Row.of(one, metric, 0.1 + RANDOM.random()) for one in cells for metric in ("nll", "ece", "brier")]


def appendix_rows():
    levels = np.linspace(0.01, 1, 100)
    curves = {"exact": levels**0.2, "approximate": 1 - (1 - levels) ** 3, "fitted": levels**0.25}
    return [
        Row.of(cell("appendix", name, "K=3", level=level), "calibrated", value)
        for name, curve in curves.items()
        for level, value in zip(levels, curve, strict=True)
    ]


def map_rows():
    levels = np.geomspace(1e-4, 1, 30)
    values = {"observed": levels, "calibrated": levels**0.7}
    return [
        Row.of(cell("maps", "slova", level=level, seed=seed, test="digits-val"), metric, value)
        for seed in (0, 1)
        for metric, curve in values.items()
        for level, value in zip(levels, curve, strict=True)
    ]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """A folder with a little of everything."""
    folder = tmp_path_factory.mktemp("results")
    everything = [*shift_rows(), *shift_rows("ablation"), *foreign_rows(), *direction_rows(), *stability_rows()]
    everything += [*appendix_rows(), *map_rows(), Row.of(cell("plane"), "mmc", 0.5)]
    for name, rows in itertools.groupby(everything, lambda row: row.experiment):
        results = Results(folder, f"{name}-digits")
        results.append(rows)
        results.close()
    histograms = Histograms(folder / "shift-digits.csv")
    histograms.append(histogram(method, name) for method in METHODS for name in ("", *SHIFTS, "snow"))
    histograms.close()
    points = [("ova", "", 0, *point) for point in plane("ova").points]
    names = ("method", "variant", "seed", "alpha", "beta", "confidence")
    save_table(
        folder / "plane-digits-picture.parquet", dict(zip(names, map(list, zip(*points, strict=True)), strict=True))
    )
    return Evidence.read(folder)


def lines(axis, **wanted):
    """The lines of an axis with these properties."""
    return [one for one in axis.lines if all(getattr(one, f"get_{name}")() == value for name, value in wanted.items())]


@pytest.mark.parametrize("drawing", FIGURES, ids=lambda drawing: drawing.name)
def test_every_figure_of_the_catalogue_becomes_two_readable_files(drawing, evidence, tmp_path):
    svg, png = save(drawing.draw(evidence, "digits"), tmp_path / drawing.name)
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_catalogue_has_names_of_its_own_captions_and_experiments_that_exist():
    assert len({drawing.name for drawing in FIGURES}) == len(FIGURES)
    assert {drawing.experiment for drawing in FIGURES} <= {"", *experiments()}
    assert all(drawing.title and drawing.caption.endswith(".") and "Sec." in drawing.answers for drawing in FIGURES
               if not drawing.answers.endswith(("App. A", "App. B")))  # fmt: skip


@pytest.mark.parametrize("drawing", [drawing for drawing in FIGURES if drawing.experiment], ids=lambda d: d.name)
def test_what_was_not_run_is_named_with_the_command_that_runs_it(drawing, tmp_path):
    with pytest.raises(MissingRowsError, match=f"run slova bench run {drawing.experiment} --on svhn"):
        drawing.draw(Evidence.read(tmp_path), "svhn")
    foreign = Row.of(cell(drawing.experiment), "nonsense", 0.5)  # rows, but none to draw
    Results(tmp_path, f"{drawing.experiment}-svhn").append([foreign])
    with pytest.raises(MissingRowsError, match=f"run slova bench run {drawing.experiment} --on svhn"):
        drawing.draw(Evidence.read(tmp_path), "svhn")


def test_the_appendix_is_the_same_for_every_data_set(evidence):
    drawing = next(drawing for drawing in FIGURES if drawing.experiment == "appendix")
    assert len(drawing.draw(evidence, "cifar10").axes[0].lines) == 3


def test_figures_need_neither_torch_nor_pyplot():
    code = """
import io, json, sys
from slova.bench.figures import FIGURES, confidence_map, shift
from slova.bench.results import Row
confidence_map.plot()
row = Row("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 500, "ece", 0.5)
shift.plot([row._replace(metric=name) for name in shift.METRICS]).savefig(io.BytesIO(), format="svg")
print(json.dumps(sorted(sys.modules)))
"""
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert set(loaded) & {"torch", "matplotlib.pyplot", "tkinter", "pandas", "sklearn"} == set()


def test_saving_twice_gives_the_same_bytes_whatever_the_readers_settings(tmp_path):
    rows = shift_rows()
    first = save(ablation.plot(rows), tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.facecolor": "pink"}):
        figure = ablation.plot(rows)
        second = save(figure, tmp_path / "second")
        third = save(figure, tmp_path / "third")
    for one, other, again in zip(first, second, third, strict=True):
        assert one.read_bytes() == other.read_bytes() == again.read_bytes()


def test_names_are_drawn_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")  # letters instead of their outlines
    name = "<b>$x^1$&50%"
    drawn = {
        "boxes": ablation.plot(shift_rows(methods=(name, "slova"))),
        "ranks": critical.plot(shift_comparison(shift_rows(methods=(name, "slova")), ()).pooled),
        "panels": reliability.plot([histogram(name)]),
        "lines": risk_coverage.plot([histogram(name)]),
    }
    for what, figure in drawn.items():
        (svg,) = save(figure, tmp_path / what, kinds=["svg"])
        assert name in "".join(ElementTree.parse(svg).getroot().itertext()), what


def test_methods_that_are_drawn_together_look_different():
    looks = [display.look(name) for name in experiments()["shift"].methods]
    for look_of in (style.fill, lambda look: {**style.line(look), "label": None}):
        assert len({repr(sorted(look_of(look).items())) for look in looks}) == len(looks)


@pytest.mark.parametrize(
    ("value", "text"), [(0.001, "0.001"), (0.02, "0.02"), (1, "1"), (10_000, "10000"), (1e-8, "10⁻⁸"), (1e12, "10¹²")]
)
def test_powers_are_written_without_formulas(value, text):
    assert style.power(value) == text


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


def test_boxes_of_a_severity_are_quartiles_of_means_over_seeds():
    rows = shift_rows()
    axes = shift.plot(rows).axes
    for axis, metric in zip(axes, shift.METRICS, strict=True):
        wanted = [quartiles(rows, metric=metric, level=level, method=m) for level in range(6) for m in METHODS]
        np.testing.assert_allclose(boxes(axis), wanted, rtol=1e-9)


def test_the_ablation_pools_all_severities():
    rows = shift_rows("ablation")
    for axis, metric in zip(ablation.plot(rows).axes, shift.METRICS, strict=True):
        np.testing.assert_allclose(boxes(axis), [quartiles(rows, metric=metric, method=m) for m in METHODS])


def test_the_three_shifts_that_are_not_of_the_paper_stay_out(tmp_path):
    rows = shift_rows(shifts=("fog", "snow", "motion_blur", "jpeg_compression"))
    Results(tmp_path, "shift-cifar10").append(rows)
    drawing = next(drawing for drawing in FIGURES if drawing.name == "shift")
    found = boxes(drawing.draw(Evidence.read(tmp_path), "cifar10").axes[0])
    assert all(low == high for *_, low, high in found)  # one shift, one value
    assert set(display.OTHER_SHIFTS).isdisjoint(display.PAPER_SHIFTS)


def test_a_variant_is_a_method_of_its_own():
    rows = shift_rows(methods=("slova",))
    rows += [row._replace(variant="paper", value=row.value + 5) for row in rows]
    assert len(boxes(ablation.plot(rows).axes[0])) == 2


# Critical distance


def test_the_band_is_as_wide_as_the_bonferroni_dunn_distance_and_dots_are_mean_ranks():
    verdict = shift_comparison(shift_rows(), ()).pooled
    axis = critical.plot(verdict).axes[0]
    ranks = verdict.distance.mean_ranks
    (band,) = axis.patches
    half = bonferroni_dunn(ranks, 16, control="slova").distance
    assert (band.get_x(), band.get_width()) == pytest.approx((ranks["slova"] - half, 2 * half))
    assert sorted(dot.get_xdata()[0] for dot in lines(axis, marker="o")) == pytest.approx(sorted(ranks.values()))
    names = {display.look(name).name: rank for name, rank in ranks.items()}
    for text in axis.texts:
        (name,) = [name for name in names if name in text.get_text()]
        assert f"{names[name]:.2f}" in text.get_text()


def test_only_methods_within_the_band_have_filled_dots():
    order = {"softmax": 3.0, "temperature": 1.0, "slova": 1.0, "ensemble": 0.0}
    rows = [row._replace(value=order[row.method] + row.value / 1e3) for row in shift_rows()]
    verdict = shift_comparison(rows, ()).pooled
    for dot in lines(critical.plot(verdict).axes[0], marker="o"):
        near = abs(dot.get_xdata()[0] - verdict.distance.mean_ranks["slova"]) < verdict.distance.distance
        assert (dot.get_markerfacecolor() != "white") is bool(near)
    assert "temperature" in verdict.distance.alike
    assert "softmax" not in verdict.distance.alike


def test_a_method_that_is_still_running_waits():
    rows = [row for row in shift_rows() if row.method != "ensemble" or row.level < 2]
    rows += shift_rows(methods=("svi",), seeds=(1,))  # at a seed of its own
    verdict = shift_comparison(rows, ()).pooled
    assert set(verdict.distance.mean_ranks) == {"softmax", "temperature", "slova"}
    assert verdict.distance.cells == 16


def test_on_foreign_data_scores_and_the_test_set_itself_do_not_count():
    distance = ood_comparison(foreign_rows(), ()).pooled.distance
    assert set(distance.mean_ranks) == set(METHODS)
    assert distance.cells == 3


def test_it_is_said_when_friedmans_test_finds_nothing():
    rows = [row._replace(value=0.5) for row in shift_rows()]
    assert "finds no difference" in critical.plot(shift_comparison(rows, ()).pooled).axes[0].get_xlabel()
    assert "finds no difference" not in critical.plot(shift_comparison(_clear(), ()).pooled).axes[0].get_xlabel()


def _clear():
    return [row._replace(value=float(METHODS.index(row.method))) for row in shift_rows()]


# Histograms


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (450, 1000)])
def test_wilson_intervals_are_scipys(hits, n):
    low, high = reliability.wilson(hits / n, n)
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_reliability_has_the_share_of_hits_at_the_mean_confidence_of_each_bin():
    one = histogram(n=3000)
    axis = reliability.plot([one]).axes[0]
    points = lines(axis, marker="o")[0].get_xydata()
    edges = reliability.EDGES
    assert (edges[0], edges[-1], len(edges)) == (0, 100, 16)
    wanted = [
        (sum(one.total[low:high]) / sum(one.count[low:high]), sum(one.hits[low:high]) / sum(one.count[low:high]))
        for low, high in itertools.pairwise(edges)
        if sum(one.count[low:high])
    ]
    np.testing.assert_allclose(points, wanted)


def test_asking_twice_about_the_same_images_makes_no_interval_narrower():
    one = histogram()
    single, double = (reliability.plot([one] * times).axes[0].collections[0].get_segments() for times in (1, 2))
    np.testing.assert_allclose(single, double)


def test_risk_coverage_is_the_error_above_every_threshold():
    confidence, right = RANDOM.random(1000).round(2), RANDOM.random(1000) < 0.7
    confidence = confidence.clip(0.005, 0.995) + 0.001  # clear of the edges of bins
    coverage, risk = risk_coverage.curve(summed([Histogram.of(cell(), confidence, right)]))
    thresholds = sorted({int(100 * value) / 100 for value in confidence}, reverse=True)
    np.testing.assert_allclose(coverage, [np.mean(confidence >= t) for t in thresholds])
    np.testing.assert_allclose(risk, [1 - np.mean(right[confidence >= t]) for t in thresholds])


def test_clean_and_shifted_answers_have_panels_of_their_own():
    clean, noisy = histogram(), histogram(shift="fog")
    left, right = risk_coverage.plot([clean, noisy]).axes
    for axis, one in ((left, clean), (right, noisy)):
        assert axis.lines[0].get_ydata()[-1] == pytest.approx(1 - sum(one.hits) / sum(one.count))


# The others


def test_directions_show_mean_and_deviation_and_begin_at_zero():
    axis = directions.plot(direction_rows()).axes[0]
    levels, means = axis.lines[0].get_data()
    assert levels[0] == 0
    np.testing.assert_allclose(means, 0.9 / (1 + np.asarray(levels)))
    band = axis.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == 1  # 0.9 + 0.3 is cut off
    assert band[np.isclose(band[:, 0], 1), 1].min() == pytest.approx(0.45 - 0.15)


def test_planes_have_alpha_across_beta_upwards_and_one_scale_of_colours():
    figure = planes.plot([plane("ova"), plane("ova", seed=1), plane("slova_raw")])
    pictures = [axis.collections[0] for axis in figure.axes[:2]]
    assert {picture.get_clim() for picture in pictures} == {(0, 1)}
    values = np.asarray(pictures[0].get_array()).reshape(5, 5)
    assert values[0, -1] == pytest.approx(0.5 + 4 / 20 - 4 / 100 + 0.01)  # beta -4, alpha 4, the mean of both seeds


def test_the_confidence_map_is_the_read_out():
    image = np.asarray(confidence_map.plot().axes[1].images[0].get_array())
    assert image[0, 150] == pytest.approx(np.exp(log_slova(np.array([0.0, -13.8155])))[0], abs=1e-6)
    assert image[-1, -1] == pytest.approx(0, abs=1e-5)


def test_the_appendix_shows_the_rows():
    rows = appendix_rows()
    axis = appendix.plot(rows).axes[0]
    for line, curve in zip(axis.lines, appendix.CURVES, strict=True):
        np.testing.assert_allclose(line.get_ydata()[1:], [row.value for row in rows if row.method == curve])


def test_stability_has_the_optimum_as_a_level_line():
    rows = stability_rows()
    for axis, (name, metric) in zip(
        stability.plot(rows).axes, itertools.product(("M", "n_b"), stability.METRICS), strict=True
    ):
        found = {row.variant: [] for row in rows if row.metric == metric}
        for row in rows:
            found[row.variant] += [row.value] if row.metric == metric else []
        curve, optimum = axis.lines
        wanted = [np.mean(values) for variant, values in found.items() if variant.startswith(f"{name}=")]
        np.testing.assert_allclose(curve.get_ydata(), wanted)
        assert list(curve.get_xdata()) == ([1, 20, 50] if name == "M" else [20, 1000, 10_000])
        assert list(optimum.get_ydata()) == pytest.approx([np.mean(found["optimal"])] * 2)


def test_calibration_maps_lie_over_the_averages_of_their_own_seed():
    rows = [row._replace(value=row.value / (1 + row.seed)) for row in map_rows()]
    for axis in maps.plot(rows).axes:
        drawn = {line.get_label(): line.get_xydata() for line in axis.lines}
        for label, metric, seed in (
            ("moving averages", "observed", 0),
            ("fitted map", "calibrated", 0),
            ("fitted maps of other seeds", "calibrated", 1),
        ):
            wanted = [(row.level, row.value) for row in rows if (row.metric, row.seed) == (metric, seed)]
            np.testing.assert_allclose(drawn[label], wanted)
