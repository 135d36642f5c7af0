"""Figures are Vega-Lite charts of the rows: their data and encodings, the same bytes every time, without torch."""

import itertools
import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import vl_convert
from slova_bench import labels
from slova_bench.experiments import experiments
from slova_bench.figures import FIGURES, comparisons, curves
from slova_bench.figures.drawing import MOST, groups, save
from slova_bench.frame import frame
from slova_bench.histograms import Histograms
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder

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
    points = [(method, "", seed, a, b, 0.5 + a / 20 + b / 100 + seed / 50) for a, b in grid]
    return pd.DataFrame(points, columns=["method", "variant", "seed", "alpha", "beta", "value"])


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
        Row.of(cell("maps", "slova", level=level, seed=seed, test="digits-val"), metric, value / (1 + seed))
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
    picture = plane("ova").rename(columns={"variant": "preset", "value": "confidence"})
    picture.to_parquet(folder / "plane-digits-picture.parquet", index=False)
    return ResultsFolder.read(folder)


@pytest.mark.parametrize("drawing", FIGURES, ids=lambda drawing: drawing.name)
def test_every_figure_of_the_catalogue_compiles_and_has_marks(drawing, results):
    vega = vl_convert.vegalite_to_vega(drawing.make(results, "digits"), vl_version="6.4")
    assert vega["marks"]


def test_the_same_figure_gives_the_same_bytes_and_names_are_drawn_as_they_are(tmp_path, shift_rows):
    name = "<b>$x^1$&50%"
    spec = comparisons.steps(frame(shift_rows(methods=(name, "slova"))))
    first, second = (save(spec, tmp_path / stem) for stem in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    svg, png = first
    assert name in "".join(ElementTree.parse(svg).getroot().itertext())
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("drawing", [drawing for drawing in FIGURES if drawing.experiment], ids=lambda d: d.name)
def test_what_was_not_run_is_named_with_the_command_that_runs_it(drawing, tmp_path):
    with pytest.raises(MissingRowsError, match=f"run slova bench run {drawing.experiment} --on svhn"):
        drawing.make(ResultsFolder.read(tmp_path), "svhn")
    other = Row.of(cell(drawing.experiment), "nonsense", 0.5)  # rows, but none to draw
    Results(tmp_path, f"{drawing.experiment}-svhn").append([other])
    with pytest.raises(MissingRowsError, match=f"run slova bench run {drawing.experiment} --on svhn") as found:
        drawing.make(ResultsFolder.read(tmp_path), "svhn")
    assert str(found.value).count("slova bench run") == 1


def test_what_pools_all_training_sets_is_drawn_once(tmp_path, ood_rows):
    for on in ("cifar10", "cifar100"):
        Results(tmp_path, f"ood-{on}").append([row._replace(train=f"{on}-train") for row in ood_rows()])
    (drawing,) = [drawing for drawing in FIGURES if drawing.across and drawing.experiment == "ood"]
    assert drawing.sets(ResultsFolder.read(tmp_path)) == ("",)
    assert drawing.make(ResultsFolder.read(tmp_path), "")["layer"]


def test_figures_need_neither_torch_nor_matplotlib():
    code = """
import json, sys
from slova_bench.figures import FIGURES, curves
curves.confidence_map()
print(json.dumps(sorted(sys.modules)))
"""
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert set(loaded) & {"torch", "matplotlib", "sklearn"} == set()


def test_more_than_eight_methods_are_in_groups_of_at_most_eight_with_the_control_in_each():
    names = [(f"m{number}", "") for number in range(20)]
    for count in range(1, 20):
        found = groups([*names[:count], ("slova", "")])
        assert all(len(group) <= MOST for group in found)
        assert all(("slova", "") in group for group in found)
        assert [name for group in found for name in group if name != ("slova", "")] == names[:count]


def test_methods_that_are_drawn_together_look_different():
    looks = [labels.look(name) for name in (*experiments()["shift"].methods, "slova_mirror")]
    assert len({(look.colour, look.dash) for look in looks}) == len(looks)


# Curves and pictures


def points(panel, place=0):
    """The data of a panel, or of one of its layers."""
    source = panel.get("layer", [panel])[place].get("data") or panel["data"]
    return pd.DataFrame(source["values"])


def test_directions_show_mean_and_deviation_and_begin_at_zero():
    ova, slova = curves.directions(frame(direction_rows()))["hconcat"]
    found = points(ova)
    assert found["level"].min() == 0
    np.testing.assert_allclose(found["value"], 0.9 / (1 + found["level"]))
    assert found["high"].max() == 1  # 0.9 + 0.3 is cut off
    assert found.loc[found["level"] == 1, "low"].item() == pytest.approx(0.45 - 0.15)
    assert [one["title"] for one in (ova, slova)] == [["OVA"], ["SLOVA"]]


def test_planes_are_means_over_seeds_with_one_scale_of_colours():
    panels = curves.planes(pd.concat([plane("ova"), plane("ova", seed=1), plane("slova_raw")]))["hconcat"]
    assert all(one["encoding"]["color"]["scale"]["domain"] == [0, 1] for one in panels)
    found = points(panels[0]).set_index(["alpha", "beta"])["value"]
    assert found[4, -4] == pytest.approx(0.5 + 4 / 20 - 4 / 100 + 0.01)


def test_the_confidence_map_is_the_readout():
    found = points(curves.confidence_map()["hconcat"][1])
    middle = found[["left", "low"]].add(0.5 / curves.POINTS)
    wanted = np.exp(log_slova(np.log(middle / (1 - middle)).to_numpy())).max(axis=1)
    np.testing.assert_allclose(found["confidence"], wanted, atol=6e-4)


def test_the_appendix_shows_the_rows_and_the_origin_whatever_the_data_set(results):
    rows = appendix_rows()
    drawn = points(curves.ignorance(frame(rows)))
    drawing = next(drawing for drawing in FIGURES if drawing.experiment == "appendix")
    np.testing.assert_allclose(points(drawing.make(results, "cifar10"))["value"], drawn["value"], rtol=1e-7)
    for curve in ("exact", "approximate", "fitted"):
        values = drawn[drawn["method"] == curve]["value"]
        np.testing.assert_allclose(values, [0, *(row.value for row in rows if row.method == curve)])


def test_stability_has_means_over_seeds_and_the_optimum_as_a_level_line():
    rows = frame(stability_rows())
    for row, name in zip(curves.stability(rows)["vconcat"], ("M", "n_b"), strict=True):
        for panel, metric in zip(row["hconcat"], ("nll", "ece", "brier"), strict=True):
            own = rows[rows["metric"] == metric]
            wanted = own[own["parameter"] == name].groupby("parameter_value")["value"]
            drawn, optimum = points(panel), points(panel, -1)
            np.testing.assert_allclose(drawn["value"], wanted.mean())
            np.testing.assert_allclose(drawn["high"], wanted.max())
            assert optimum["value"].tolist() == pytest.approx([own[own["parameter"] == ""]["value"].mean()])
            assert panel["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_calibrators_are_drawn_over_the_averages_of_the_first_seed():
    rows = map_rows()
    (row,) = curves.maps(frame(rows))["vconcat"]
    for panel in row["hconcat"]:
        lines, dots = points(panel), points(panel, -1)
        for drawn, metric, seed in ((dots, "observed", 0), (lines, "calibrated", 0), (lines, "calibrated", 1)):
            wanted = [(row.level, row.value) for row in rows if (row.metric, row.seed) == (metric, seed)]
            own = drawn[drawn["seed"] == seed][["level", "value"]]
            np.testing.assert_allclose(own, wanted[-len(own) :], rtol=1e-6)
        assert set(dots["seed"]) == {0}
