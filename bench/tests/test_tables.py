"""Tables: quartiles are numpy's, the paper's numbers come out as printed, ranks are Demšar's, and what is missing is
named."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from slova_bench.frame import frame, quartiles
from slova_bench.histograms import Histogram, Histograms
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results import Cell, Results, ResultsError, Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import TABLES, Table
from slova_bench.tables.ranks import ood_comparison

PAPER = Path(__file__).parents[1] / "src" / "slova_bench" / "paper.csv"
MAKERS = {maker.name: maker for maker in TABLES}
METRICS = ("accuracy", "ece", "nll", "brier", "mmc")
SHIFTS = (*PAPER_SHIFTS, "snow")
CELL = Cell("shift", "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)


def shift_rows(methods: dict[str, int], *, on: str = "cifar10") -> list[Row]:
    """Noise on every set of the paper's shifts and one more, with the given number of seeds per method."""
    generator, rows = np.random.default_rng(0), []
    for method, seeds in methods.items():
        for seed in range(seeds):
            for shift, level in [("", 0), *((s, n) for s in SHIFTS for n in range(1, 6))]:
                cell = CELL._replace(method=method, train=f"{on}-train", test=f"{on}-test", seed=seed)
                cell = cell._replace(shift=shift, level=float(level))
                rows += [Row.of(cell, metric, generator.uniform(0.1, 0.9)) for metric in METRICS]
    return rows


def ood_rows(methods: tuple[str, ...], *, on: str = "cifar10", tests: tuple[str, ...] = ("svhn-test", "uniform")):
    generator, rows = np.random.default_rng(1), []
    for method in methods:
        cell = CELL._replace(experiment="ood", method=method, train=f"{on}-train", test=f"{on}-test")
        rows += [Row.of(cell, metric, generator.uniform()) for metric in ("error", "mmc")]
        for test in tests:
            parts = ("mmc", "auroc", "aupr", "fpr95")
            rows += [Row.of(cell._replace(test=test), metric, generator.uniform()) for metric in parts]
    return rows


def evidence_of(folder: Path, **files: list[Row]) -> ResultsFolder:
    """A folder with these rows (`shift_cifar10=`)."""
    for name, rows in files.items():
        results = Results(folder, name.replace("_", "-"))
        results.append(rows)
        results.close()
    return ResultsFolder.read(folder)


def entry(table: Table, method: str, column: str):
    (row,) = [row for row in table.rows if row[0].text == method]
    return row[[head.title for head in table.columns].index(column)]


def test_quartiles_are_numpys_at_each_seed_then_means_over_seeds(tmp_path):
    rows = shift_rows({"softmax": 3, "slova": 3})
    table, *_, whole = MAKERS["quartiles"].make(evidence_of(tmp_path, shift_cifar10=rows), "cifar10")
    for shifts, found, column in ((PAPER_SHIFTS, table, "75 %, ours"), (SHIFTS, whole, "ECE ↓, 75 %")):
        mine = [row for row in rows if (row.method, row.metric) == ("slova", "ece") and row.shift in ("", *shifts)]
        each = [np.quantile([row.value for row in mine if row.seed == seed], 0.75) for seed in range(3)]
        assert len(mine) == 3 * (5 * len(shifts) + 1)
        assert entry(found, "SLOVA", column).value == pytest.approx(np.mean(each), rel=1e-6)
        assert entry(found, "SLOVA", column).error == pytest.approx(stats.sem(each), rel=1e-5)
    assert "81 test sets" in table.title
    assert "86 test sets" in whole.title


@pytest.mark.parametrize(("infinite", "wanted"), [(1, 60.0), (30, math.inf), (60, math.inf)])
def test_quartiles_of_infinite_losses_are_numbers_or_infinite(infinite, wanted):
    """Of the numbers 0 … 80, of which the greatest are infinite: the upper quartile is the 60, or infinite."""
    values = [float(n) if n < 81 - infinite else math.inf for n in range(81)]
    places = [("", 0), *((shift, level) for shift in PAPER_SHIFTS for level in range(1, 6))]
    cells = [CELL._replace(shift=shift, level=float(level)) for shift, level in places]
    rows = frame(Row.of(cell, "nll", value) for cell, value in zip(cells, values, strict=True))
    assert quartiles(rows, "nll", PAPER_SHIFTS)[75] == {(CELL.method, ""): {CELL.seed: wanted}}
    assert quartiles(rows, "nll", PAPER_SHIFTS)[25][CELL.method, ""][CELL.seed] == (20 if infinite < 61 else math.inf)


def test_the_overview_states_the_number_of_seeds_on_ood_sets_where_it_differs(tmp_path):
    rows = shift_rows({"softmax": 3, "slova": 2})
    results = evidence_of(tmp_path, shift_cifar10=rows, ood_cifar10=ood_rows(("softmax",)))
    (table,) = MAKERS["overview"].make(results, "cifar10")
    assert [entry(table, name, "Seeds").text for name in ("Softmax", "SLOVA")] == ["3, 1", "2"]


def test_the_clean_set_is_shown_without_any_shifted_one(tmp_path):
    rows = shift_rows({"softmax": 2, "slova": 2})
    (table,) = MAKERS["clean"].make(evidence_of(tmp_path, shift_cifar10=rows), "cifar10")
    mine = [row.value for row in rows if (row.method, row.shift, row.metric) == ("slova", "", "accuracy")]
    assert entry(table, "SLOVA", "Accuracy ↑").value == pytest.approx(np.mean(mine), rel=1e-6)
    column = [head.title for head in table.columns].index("Accuracy ↑")
    best = max(table.rows, key=lambda row: row[column].value)
    assert best[column].mark == "best"


def test_a_seed_that_lacks_a_set_is_left_out_and_named(tmp_path):
    rows = shift_rows({"softmax": 2, "slova": 2})
    rows = [row for row in rows if (row.method, row.seed, row.shift, row.level) != ("slova", 1, "fog", 3)]
    table = MAKERS["quartiles"].make(evidence_of(tmp_path, shift_cifar10=rows), "cifar10")[0]
    assert entry(table, "SLOVA", "Seeds").text == "1"
    assert table.notes == ("Left out, because sets are missing: SLOVA at seed 1 (80 of 81 sets).",)


def test_other_data_sets_have_all_their_shifts_in_one_table(tmp_path):
    rows = [row for row in shift_rows({"softmax": 1, "slova": 1}, on="digits") if row.shift in ("", "fog", "snow")]
    tables = MAKERS["quartiles"].make(evidence_of(tmp_path, shift_digits=rows), "digits")
    assert [table.name for table in tables] == [f"quartiles-{metric}-digits" for metric in ("ece", "nll", "brier")]
    assert "11 test sets" in tables[0].title
    assert "paper" not in [column.name for table in tables for column in table.columns]


def test_the_papers_appendix_c_comes_out_as_printed(tmp_path):
    tables = MAKERS["quartiles"].make(evidence_of(tmp_path, shift_cifar10=shift_rows({"slova": 1})), "cifar10")
    names = {"ll_svi": "LL SVI", "temperature": "Temperature scaling", "ova_dm": "OVA DM", "slova": "SLOVA"}
    checked = 0
    for line in Results(PAPER.parent, "paper").read():
        metric, _, share = line.metric.partition("_q")
        if share and line.method in names:
            (table,) = [one for one in tables if one.name == f"quartiles-{metric}-cifar10"]
            shown = entry(table, names[line.method], f"{share} %, paper")
            assert shown.text == f"{line.value:.3f}"
            checked += 1
    assert checked == 9 * len(names)
    assert entry(tables[0], "SLOVA", "75 %, paper").mark == "best"
    assert entry(tables[0], "SVI", "25 %, ours").text == "–"


def test_the_papers_table_1_comes_out_as_printed_beside_ours(tmp_path):
    rows = ood_rows(("softmax", "acet_short", "slova", "knn"))
    table = MAKERS["ood"].make(evidence_of(tmp_path, ood_cifar10=rows), "cifar10")[0]
    assert entry(table, "SLOVA", "Error, paper").text == "7.68 %"
    assert entry(table, "SLOVA", "SVHN, paper").text == "0.644"
    assert entry(table, "ACET, short attack", "SVHN, paper").text == "0.263"
    assert entry(table, "ACET, short attack", "SVHN, paper").mark == "best"
    assert entry(table, "CEDA", "SVHN, MMC ↓").text == "–"
    assert {entry(table, m, "LSUN classroom, MMC ↓").text for m in ("SLOVA", "CEDA")} == {"no data"}
    assert entry(table, "SLOVA", "LSUN classroom, paper").text == "0.566"


def test_a_metric_without_a_direction_has_no_best_entry(tmp_path):
    rows = ood_rows(("softmax", "slova"))
    table = MAKERS["ood"].make(evidence_of(tmp_path, ood_cifar10=rows), "cifar10")[0]
    inside = [head.title for head in table.columns].index("MMC, CIFAR-10")
    assert [row[inside].mark for row in table.rows if row[inside].value is not None] == ["", ""]
    outside = [head.title for head in table.columns].index("SVHN, MMC ↓")
    assert sum(row[outside].mark == "best" for row in table.rows) == 1


def test_scores_are_listed_where_they_rank_and_not_where_they_repeat_softmax(tmp_path):
    rows = ood_rows(("softmax", "slova", "knn"))
    confidence, auroc, *_ = MAKERS["ood"].make(evidence_of(tmp_path, ood_cifar10=rows), "cifar10")
    assert "Nearest neighbours" not in [row[0].text for row in confidence.rows]
    assert "Nearest neighbours" in confidence.notes[0]
    assert "Nearest neighbours" in [row[0].text for row in auroc.rows]


def test_ranks_state_who_is_better_worse_or_not_distinguished(tmp_path):
    rows = shift_rows({"softmax": 2, "temperature": 2, "slova": 2, "ova": 2})
    better = {"softmax": 9.0, "temperature": 0.0, "slova": 0.0, "ova": -9.0}
    rows = [row._replace(value=row.value + better[row.method]) for row in rows]
    table, seeds, everyone = MAKERS["ranks"].make(evidence_of(tmp_path, shift_cifar10=rows), "cifar10")
    assert entry(table, "Softmax", "All three").value == 3.0
    assert entry(table, "Softmax", "All three, against SLOVA").text == "worse"
    assert entry(table, "Temperature scaling", "All three, against SLOVA").text == "not distinguished"
    assert "OVA" not in [row[0].text for row in table.rows], "the paper does not compare it"
    assert entry(everyone, "OVA", "All three, against SLOVA").text == "better"
    assert [head.name for head in seeds.columns] == ["Method", "Seed 0", "Seed 1"]
    assert any("not independent" in note for note in table.notes)


def test_ranks_of_the_papers_own_table_are_demsars():
    paper = frame(Results(PAPER.parent, "paper").read())
    found = ood_comparison(paper, paper).pooled
    assert {name: round(rank, 3) for name, rank in found.mean_ranks.items()} == {
        "slova": 1.417, "acet": 2.458, "ceda": 3.083, "react": 3.25, "softmax": 4.792,
    }  # fmt: skip
    assert found.distance == pytest.approx(1.612, abs=5e-4)
    assert found.alike == ("acet",)


def test_the_ablation_takes_the_rows_of_shift_where_it_was_not_run(tmp_path):
    rows = shift_rows({"softmax": 1, "ova": 1, "slova_raw": 1, "slova": 1, "ensemble": 1})
    results = evidence_of(tmp_path, shift_cifar10=rows)
    (table,) = MAKERS["ablation"].make(results, "cifar10")
    assert [row[0].text for row in table.rows] == ["Softmax", "OVA", "SLOVA, uncalibrated", "SLOVA"]
    assert MAKERS["ablation"].sets(results) == ("cifar10",)


def test_fits_are_listed_by_size(tmp_path):
    cell = CELL._replace(experiment="stability", method="slova_clean")
    fits = [("M", 10.0), ("M", 2.0), ("n_b", 100.0), ("n_b", 20.0), ("", 0.0)]
    cells = [cell._replace(parameter=name, parameter_value=value) for name, value in fits]
    rows = [
        Row.of(one, m, 0.5) for one in (*cells, cells[0]._replace(preset="resnet18")) for m in ("ece", "nll", "brier")
    ]
    (table,) = MAKERS["stability"].make(evidence_of(tmp_path, stability_cifar10=rows), "cifar10")
    assert {row[0].text for row in table.rows} == {"SLOVA, no noise in calibration"}
    assert [row[1].text for row in table.rows] == ["optimal", "M=2", "M=10", "resnet18 M=10", "n_b=20", "n_b=100"]


def test_quartiles_by_share_of_noise_severity_and_bins_are_beside_the_papers(tmp_path):
    rows = shift_rows({"slova": 2, "softmax": 1, "react": 1})
    noise = [row._replace(experiment="noise", parameter="noise", parameter_value=0.1) for row in rows]
    results = evidence_of(tmp_path, shift_cifar10=rows, noise_cifar10=[row for row in noise if row.method == "slova"])
    confidence, hits = np.array([0.05, 0.15, 0.956, 0.985]), np.array([False, True, True, False])
    cells = sorted({row.cell for row in rows})
    Histograms(tmp_path / "shift-cifar10.csv").append(Histogram.of(cell, confidence, hits) for cell in cells)
    by_noise, by_severity, _, by_bins = MAKERS["differences"].make(results, "cifar10")
    assert [row[0].text for row in by_noise.rows] == ["SLOVA, noise=0.1"]
    assert [row[0].text for row in by_severity.rows] == ["Softmax", "SLOVA"]
    assert [part.text for part in by_noise.rows[0][-3:]] == ["0.021", "0.027", "0.103"]
    own = [row for row in rows if (row.method, row.metric) == ("softmax", "ece") and row.shift != "snow"]
    for column, level in ((2, 5), (5, 4)):
        least = np.percentile([row.value for row in own if row.level <= level], 25)
        assert by_severity.rows[0][column].text == f"{least:.3f}"
    assert [by_bins.rows[0][column].text for column in (2, 5)] == ["0.460", "0.482"], "10 bins, 100 bins"


def test_another_training_is_shown_beside_the_fair_one_and_nowhere_else(tmp_path):
    rows = shift_rows({"slova": 2, "softmax": 1})
    other = [row._replace(preset="authors", value=row.value / 2) for row in rows if row.method == "slova"]
    noise = [row._replace(experiment="noise", parameter="noise", parameter_value=0.1) for row in rows]
    results = evidence_of(tmp_path, shift_cifar10=[*rows, *other], noise_cifar10=noise)
    *_, by_training, _, _ = MAKERS["differences"].make(results, "cifar10")
    assert [row[0].text for row in by_training.rows] == ["SLOVA"]
    own, authors = (float(by_training.rows[0][column].text.split(" ")[0]) for column in (2, 5))
    assert authors == pytest.approx(own / 2, abs=0.001)
    (table, *_) = MAKERS["quartiles"].make(results, "cifar10")
    assert not [row[0].text for row in table.rows if "authors" in row[0].text]
    assert {*results.rows("shift", "cifar10")["preset"]} == {""}


def test_another_augmentation_is_compared_by_shift_at_common_seeds(tmp_path):
    rows = shift_rows({"slova": 2, "softmax": 2})
    rows = [row._replace(value=(row.seed + row.level) / 10) if row.metric == "accuracy" else row for row in rows]
    other = [row._replace(preset="interpolated", value=row.value / 2) for row in rows if row.seed == 1]
    noise = [row._replace(experiment="noise", parameter="noise", parameter_value=0.1) for row in rows]
    results = evidence_of(tmp_path, shift_cifar10=[*rows, *other], noise_cifar10=noise)
    *_, by_shift = MAKERS["differences"].make(results, "cifar10")
    assert [column.group for column in by_shift.columns[1:]] == ["Softmax", "Softmax", "SLOVA", "SLOVA"]
    levels = {row.level for row in rows if row.shift == "fog"}
    (fog,) = (row for row in by_shift.rows if row[0].text == "fog")
    assert fog[1].value == pytest.approx(0.1 + np.mean([*levels]) / 10), "seed 1 alone"
    assert fog[2].value == pytest.approx(fog[1].value / 2)


@pytest.mark.parametrize("maker", [maker for maker in TABLES if not maker.across], ids=lambda maker: maker.name)
def test_missing_rows_are_an_error_with_the_command_to_run(maker, tmp_path):
    with pytest.raises(MissingRowsError, match=f"slova bench run {maker.experiment} --on svhn"):
        maker.make(evidence_of(tmp_path), "svhn")


@pytest.mark.parametrize("maker", TABLES, ids=lambda maker: maker.name)
def test_a_malformed_csv_is_refused_with_line_and_column(maker, tmp_path):
    head = ",".join((*Cell._fields, "ece"))
    line = "{},slova,,cifar10-train,cifar10-test,,0,0,9,,0,{}"
    good, bad = line.format(maker.experiment, 0.5), line.format(maker.experiment, "much")
    (tmp_path / f"{maker.experiment}-cifar10.csv").write_text(f"{head}\n{good}\n{bad}\n")
    with pytest.raises(ResultsError, match=r"line 3, column ece: 'much' is not a number"):
        maker.make(ResultsFolder.read(tmp_path), "cifar10")


def test_writing_needs_neither_torch_nor_anything_that_draws():
    modules = "slova_bench.tables, slova_bench.claims, slova_bench.staleness, slova_bench.report.docs"
    code = f"import {modules}, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert set(loaded) & {"torch", "sklearn", "matplotlib", "altair"} == set()
