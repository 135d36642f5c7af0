"""The figures show the rows, with the same bytes every time, without torch and pyplot."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from slova_bench.experiments import experiments
from slova_bench.figures import (
    FIGURES,
    appendix,
    confidence_map,
    directions,
    maps,
    planes,
    save,
    stability,
)
from slova_bench.histograms import Histograms
from slova_bench.parquet import save_table
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import MissingRowsError, Plane, ResultsFolder

from slova.heads import log_slova

SHIFTS = ("gaussian_noise", "fog", "contrast", "snow")
RANDOM = np.random.default_rng(0)


def cell(experiment="shift", method="slova", preset="", shift="", level=0.0, seed=0, test="digits-test"):
    return Cell(experiment, method, preset, "digits-train", test, shift, float(level), seed, 500)


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
    fits = [("M", 1), ("M", 20), ("M", 50), ("n_b", 20), ("n_b", 1000), ("n_b", 10_000), ("", 0)]
    cells = [
        cell("stability", "slova_clean", seed=seed)._replace(parameter=name, parameter_value=float(n))
        for name, n in fits
        for seed in (0, 1)
    ]
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
def results(tmp_path_factory, methods, shift_rows, ood_rows, histogram):
    """A folder with a little of everything."""
    folder = tmp_path_factory.mktemp("results")
    shifted = shift_rows(methods=(*methods, "slova_distance"))
    everything = [*shifted, *shift_rows("ablation"), *ood_rows(), *direction_rows(), *stability_rows()]
    everything += [*appendix_rows(), *map_rows(), Row.of(cell("plane"), "mmc", 0.5)]
    for name, rows in itertools.groupby(everything, lambda row: row.experiment):
        results = Results(folder, f"{name}-digits")
        results.append(rows)
        results.close()
    histograms = Histograms(folder / "shift-digits.csv")
    histograms.append(histogram(method, name) for method in methods for name in ("", *SHIFTS))
    histograms.close()
    points = [("ova", "", 0, *point) for point in plane("ova").points]
    names = ("method", "preset", "seed", "alpha", "beta", "confidence")
    save_table(
        folder / "plane-digits-picture.parquet", dict(zip(names, map(list, zip(*points, strict=True)), strict=True))
    )
    return ResultsFolder.read(folder)


@pytest.mark.parametrize("drawing", FIGURES, ids=lambda drawing: drawing.name)
def test_every_figure_of_the_catalogue_becomes_two_readable_files(drawing, results, tmp_path):
    svg, png = save(drawing.draw(results, "digits"), tmp_path / drawing.name)
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
        drawing.draw(ResultsFolder.read(tmp_path), "svhn")
    other = Row.of(cell(drawing.experiment), "nonsense", 0.5)  # rows, but none to draw
    Results(tmp_path, f"{drawing.experiment}-svhn").append([other])
    with pytest.raises(MissingRowsError, match=f"run slova bench run {drawing.experiment} --on svhn"):
        drawing.draw(ResultsFolder.read(tmp_path), "svhn")


def test_what_pools_all_training_sets_is_drawn_once(tmp_path, ood_rows):
    for on in ("cifar10", "svhn"):
        results = Results(tmp_path, f"ood-{on}")
        results.append([row._replace(train=f"{on}-train") for row in ood_rows()])
        results.close()
    (drawing,) = [drawing for drawing in FIGURES if drawing.across]
    assert drawing.sets(ResultsFolder.read(tmp_path)) == ("",)
    assert replace(drawing, across=False).sets(ResultsFolder.read(tmp_path)) == ("cifar10", "svhn")
    assert len(drawing.draw(ResultsFolder.read(tmp_path), "").axes) == 1


def test_the_appendix_is_the_same_for_every_data_set(results):
    drawing = next(drawing for drawing in FIGURES if drawing.experiment == "appendix")
    assert len(drawing.draw(results, "cifar10").axes[0].lines) == 3


def test_figures_need_neither_torch_nor_pyplot():
    code = """
import io, json, sys
from slova_bench.figures import FIGURES, confidence_map, shift
from slova_bench.results import Row
confidence_map.plot()
row = Row("shift", "slova", "", "digits-train", "digits-test", "", 0.0, 0, 500, "", 0.0, "ece", 0.5)
shift.plot([row._replace(metric=name) for name in shift.METRICS]).savefig(io.BytesIO(), format="svg")
print(json.dumps(sorted(sys.modules)))
"""
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert set(loaded) & {"torch", "matplotlib.pyplot", "tkinter", "pandas", "sklearn"} == set()


# Curves and pictures


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


def test_the_confidence_map_is_the_readout():
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
        assert list(optimum.get_ydata()) == pytest.approx([np.mean(found[""])] * 2)


def test_calibrators_are_drawn_over_the_averages_of_their_own_seed():
    rows = [row._replace(value=row.value / (1 + row.seed)) for row in map_rows()]
    for axis in maps.plot(rows).axes:
        drawn = {line.get_label(): line.get_xydata() for line in axis.lines}
        for label, metric, seed in (
            ("moving averages", "observed", 0),
            ("fitted calibrator", "calibrated", 0),
            ("calibrators of other seeds", "calibrated", 1),
        ):
            wanted = [(row.level, row.value) for row in rows if (row.metric, row.seed) == (metric, seed)]
            np.testing.assert_allclose(drawn[label], wanted)
