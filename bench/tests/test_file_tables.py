"""Tables in files: every line is whole, and every name in them is the name of something."""

import csv
from pathlib import Path

import pytest
import slova_bench
from slova_bench import labels
from slova_bench.experiments import experiments
from slova_bench.figures import FIGURES, SOURCES
from slova_bench.figures.charts import charts
from slova_bench.methods import methods
from slova_bench.panels import PANELS
from slova_bench.paper_parts import paper_parts
from slova_bench.presets import PRESETS
from slova_bench.results_folder import ResultsFolder
from slova_bench.shifts import CIFAR, DIGITS
from slova_bench.tables.recipe_groups import GROUPS

FOLDER = Path(slova_bench.__file__).parent
MEASUREMENTS = Path(__file__).parents[2] / "benchmarks" / "results"
CURVES = {"exact", "approximate", "fitted"}  # of Appendix A


@pytest.mark.parametrize("name", ["labels", "paper_parts", "cost"])
def test_every_line_has_every_column_and_a_name_of_its_own(name):
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert {len(line) for line in lines} == {len(head)}
    keys = [tuple(line[:3]) if name == "paper_parts" else line[0] for line in lines]
    assert len(set(keys)) == len(keys)


def test_every_method_has_a_label_and_every_label_is_of_a_method():
    assert labels.METHODS.keys() == methods().keys() | CURVES
    looks = labels.METHODS.values()
    assert {look.group for look in looks} == set(GROUPS)
    assert {look.kind for look in looks} == {"", "beyond", "variant", "score"}
    assert {look.images for look in looks} == {"its own", "degraded", "mixed"}


def test_what_is_counted_in_a_part_of_the_paper_is_known():
    counted = {one for part in paper_parts() for one in part.counted}
    files = {one for one in counted if one.endswith(".csv")}
    assert all("seed" in (MEASUREMENTS / one).read_text().partition("\n")[0].split(",") for one in files)
    whats, presets = zip(*(one.partition("@")[::2] for one in counted - files), strict=True)
    names, those = zip(*(what.partition("/")[::2] for what in whats), strict=True)
    assert set(presets) <= {"", *PRESETS}
    assert set(names) <= experiments().keys()
    assert set(those) <= {"", *methods()}


@pytest.mark.parametrize("family", [CIFAR, DIGITS], ids=["cifar", "digits"])
def test_every_shift_has_five_strengths_and_the_function_of_its_name(family):
    for name, shift in family.shifts.items():
        assert shift.change.__name__ == name
        assert len(shift.strengths) == 5


def test_every_figure_and_panel_has_a_source_and_a_chart(tmp_path):
    assert {figure.name for figure in FIGURES if figure.experiment} == SOURCES.keys()
    assert {exhibit.experiment for exhibit in (*FIGURES, *PANELS)} <= {"", *experiments()}
    results = ResultsFolder.read(tmp_path)
    assert {panel.make(results, "cifar10").chart for panel in PANELS} <= charts().keys()
