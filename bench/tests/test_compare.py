"""Comparisons of rows and of the paper's own table, and what would give a wrong number and is refused."""

from pathlib import Path

import numpy as np
import pytest
from slova_bench.compare import compare
from slova_bench.ranks import bonferroni_dunn, friedman, ranks
from slova_bench.results import Results

COLUMNS = ["experiment", "method", "preset", "train", "test", "shift", "level", "seed", "n"]
COLUMNS += ["parameter", "parameter_value", "metric", "value"]
# What the paper prints, in the columns of the results. The paper names no seed and no number of images: seed is -1 and
# n is 0 there. brier_q25 is the first quartile over all corrupted versions (shift "all"), and error is a fraction. What
# the text claims has n = the number of cells: the `wins` of SLOVA, and `alike`, 1 where a method is stated to be
# statistically indistinguishable from SLOVA and 0 where it is stated to differ (neither for Ensemble).
PAPER = Path(__file__).parents[1] / "src" / "slova_bench"


def paper():
    return [found._asdict() for found in Results(PAPER, "paper").read()]


def row(method, value, *, metric="nll", shift="fog", level=1, seed=0, test="cifar10-test", terms=0):
    cells = ["shift", method, "", "cifar10-train", test, shift, level, seed, 10_000, "M" if terms else "", terms]
    cells += [metric, value]
    return dict(zip(COLUMNS, cells, strict=True))


def grid(values, *, metric="nll", seed=0):
    """Rows of values (levels, methods): the first method is slova."""
    names = ["slova", "softmax", "svi", "ensemble"]
    return [
        row(name, value, metric=metric, level=level, seed=seed)
        for level, line in enumerate(values)
        for name, value in zip(names, line, strict=False)
    ]


# The paper's numbers


def test_the_papers_numbers_are_sorted_and_of_known_methods_and_splits(tmp_path):
    rows, copy = paper(), Results(tmp_path, "paper")
    copy.append(Results(PAPER, "paper").read())
    copy.close()
    assert copy.path.read_bytes() == (PAPER / "paper.csv").read_bytes()
    keys = [tuple(line[column] for column in COLUMNS if column != "value") for line in rows]
    assert list(rows[0]) == COLUMNS
    assert len(set(keys)) == len(rows) == 168
    assert {line["seed"] for line in rows} == {-1}
    shift = {"softmax", "temperature", "dropout", "ensemble", "svi", "ll_svi", "ll_dropout", "ova_dm", "slova"}
    assert {line["method"] for line in rows if line["experiment"] == "shift"} == shift
    assert {line["method"] for line in rows if line["experiment"] == "ood"} == {
        "softmax", "ceda", "acet", "react", "slova"
    }  # fmt: skip


@pytest.mark.parametrize("metric", ["brier", "ece", "nll"])
def test_the_papers_quartiles_rise(metric):
    quartiles = [
        {line["method"]: float(line["value"]) for line in paper() if line["metric"] == f"{metric}_q{q}"}
        for q in (25, 50, 75)
    ]
    assert [len(quartile) for quartile in quartiles] == [9, 9, 9]
    assert all(low < middle < high for low, middle, high in zip(*(q.values() for q in quartiles), strict=True))


def test_in_the_papers_own_table_slova_and_acet_do_not_differ():
    """Erratum: the text states that SLOVA differs from all others."""
    found = compare(paper(), metrics=["mmc"])
    wanted = {"slova": 1.417, "acet": 2.458, "ceda": 3.083, "react": 3.25, "softmax": 4.792}
    assert {name: round(rank, 3) for name, rank in found.pooled.mean_ranks.items()} == wanted
    assert list(found.pooled.mean_ranks) == list(wanted)
    assert found.pooled.distance == pytest.approx(1.612, abs=5e-4)
    assert found.pooled.rejects
    assert found.pooled.alike == ("acet",)
    stated = {line["method"] for line in paper() if (line["experiment"], line["metric"]) == ("ood", "alike")}
    assert stated == {"acet", "ceda", "react", "softmax"}
    assert (len(found.cells), found.dropped, found.caution) == (12, {}, "")
    assert found.pooled == found.per_seed[-1]


def test_in_the_papers_own_table_slova_is_the_best_in_as_many_cases_as_stated():
    lines = [line for line in paper() if line["metric"] == "mmc"]
    best = {}
    for line in sorted(lines, key=lambda line: -float(line["value"])):
        best[line["train"], line["test"]] = line["method"]
    (stated,) = [line for line in paper() if line["metric"] == "wins"]
    assert list(best.values()).count("slova") == float(stated["value"]) == 9
    assert len(best) == int(stated["n"]) == 12


# Comparisons of rows


@pytest.mark.parametrize("metric", ["accuracy", "auroc", "aupr", "coverage", "accuracy_q50"])
def test_of_these_metrics_more_is_better(metric):
    found = compare(grid([[0.9, 0.8, 0.7]] * 3, metric=metric), metrics=[metric])
    assert found.pooled.mean_ranks == {"slova": 1, "softmax": 2, "svi": 3}


@pytest.mark.parametrize("metric", ["nll", "brier", "ece", "error", "fpr95", "aurc", "brier_q25"])
def test_of_the_others_less_is_better(metric):
    found = compare(grid([[0.9, 0.8, 0.7]] * 3, metric=metric), metrics=[metric])
    assert found.pooled.mean_ranks == {"svi": 1, "softmax": 2, "slova": 3}


def test_methods_are_ranked_at_each_seed_and_the_ranks_are_averaged():
    """By their means the order would be softmax, slova and svi."""
    rows = grid([[1, 2, 9], [1, 2, 9]], seed=0) + grid([[6, 2, 1], [6, 2, 1]], seed=1)
    found = compare(rows, metrics=["nll"])
    assert found.pooled.mean_ranks == {"slova": 2, "softmax": 2, "svi": 2}
    assert found.pooled.cells == 2
    assert found.per_seed[0].mean_ranks == {"slova": 1, "softmax": 2, "svi": 3}
    assert found.per_seed[1].mean_ranks == {"svi": 1, "softmax": 2, "slova": 3}


def test_seeds_that_lack_cells_have_no_part_in_the_mean_ranks():
    rows = grid([[1, 2]] * 3, seed=0) + grid([[2, 1]] * 2, seed=1)
    assert compare(rows, metrics=["nll"]).pooled.mean_ranks == {"slova": 1, "softmax": 2}


def test_several_metrics_make_one_rank_per_cell_which_is_their_plain_mean():
    rows = grid([[1, 2, 3]] * 4) + grid([[0.8, 0.9, 0.7]] * 4, metric="accuracy")
    found = compare([*rows, *grid([[1, 2, 3]] * 4, metric="ece")], metrics=["nll", "accuracy", "ece"])
    ranks = {name: round(rank, 3) for name, rank in found.pooled.mean_ranks.items()}
    assert ranks == {"slova": 1.333, "softmax": 1.667, "svi": 3}, "ranked again they would be 1, 2 and 3"
    assert found.pooled.cells == 4


def test_seeds_that_lack_cells_are_not_whole():
    rows = grid([[1, 2]] * 3, seed=0) + grid([[1, 2]] * 2, seed=1)
    found = compare(rows, metrics=["nll"])
    assert found.whole == [found.per_seed[0]]
    rows.remove(row("softmax", 2, level=0, seed=0))
    rows += grid([[1, 2]], seed=2)
    scattered = compare(rows, metrics=["nll"])
    assert scattered.whole == [scattered.pooled], "no seed has all three cells"


def test_a_cell_that_a_method_lacks_is_dropped_for_all_and_named():
    rows = grid([[1, 2, 3]] * 3, seed=0) + grid([[1, 2, 3]] * 3, seed=1)
    rows.remove(row("svi", 3, level=1, seed=1))
    found = compare(rows, metrics=["nll"])
    assert {(cell.level, seed): names for (cell, seed), names in found.dropped.items()} == {(1, 1): ("svi",)}
    assert {seed: verdict.cells for seed, verdict in found.per_seed.items()} == {0: 3, 1: 2}
    assert found.pooled.cells == 3


def test_a_cell_without_one_of_the_metrics_is_not_complete():
    rows = grid([[1, 2]] * 3) + grid([[0.1, 0.2]] * 2, metric="ece")
    assert len(compare(rows, metrics=["nll", "ece"]).cells) == 2


def test_a_method_that_shares_nothing_with_the_control_is_left_out():
    found = compare([*grid([[1, 2]] * 3), row("knn", 1, test="svhn-test")], metrics=["nll"])
    assert "knn" not in found.pooled.mean_ranks
    assert set(found.pooled.mean_ranks) == {"slova", "softmax"}


def test_variants_are_methods_of_their_own_and_methods_can_be_chosen():
    rows = grid([[1, 2, 3]] * 3) + [row("slova", 0, level=level, terms=5) for level in range(3)]
    assert list(compare(rows, metrics=["nll"]).pooled.mean_ranks)[:2] == ["slova M=5", "slova"]
    assert set(compare(rows, metrics=["nll"], methods=["svi"]).pooled.mean_ranks) == {"slova", "svi"}


def test_shifts_of_one_test_set_are_called_dependent():
    found = compare(grid([[1, 2, 3]] * 81), metrics=["nll"])
    assert found.caution == "81 cells of 1 pair of sets are not independent: p-values and distances are too small"


def test_the_order_of_the_rows_does_not_matter():
    rows = [line for seed in range(3) for line in grid(np.random.default_rng(seed).random((5, 4)), seed=seed)]
    assert compare(rows, metrics=["nll"]) == compare(rows[::-1], metrics=["nll"])


# What is refused


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ranks([1.0, 2.0]), r"values must be \(cells, methods\), got \(2,\)"),
        (lambda: ranks([[1.0], [2.0]]), "a comparison needs at least 2 methods, got 1"),
        (lambda: friedman([[1.0, 2.0]]), "a comparison needs at least 2 cells, got 1"),
        (
            lambda: ranks([[1.0, 2.0], [1.0, np.nan]]),
            "values are NaN in cell 1 of method 1: a missing value has no rank",
        ),
        (lambda: bonferroni_dunn(1, 5), "a comparison needs at least 2 methods, got 1"),
        (lambda: bonferroni_dunn(2, 5, alpha=5), r"alpha must lie in \(0, 1\), got 5"),
        (lambda: compare(grid([[1, 2]] * 2), metrics="nll"), "metrics must be a list of names, got 'nll'"),
        (
            lambda: compare(grid([[1, 2]] * 2), metrics=["nll"], control="svi"),
            "'svi' has no such rows; there are slova",
        ),
        (lambda: compare(grid([[1, 2]] * 2), metrics=["nll"], methods=["knn"]), "'knn' has no such rows"),
        (lambda: compare([], metrics=["nll"]), "'slova' has no such rows; there are none at all"),
        (lambda: compare(grid([[1]] * 2), metrics=["nll"]), "a comparison needs at least 2 methods, got 1"),
        (
            lambda: compare(grid([[1, 2], [1]]), metrics=["nll"]),
            "with all methods are needed, got 1; softmax has the fewest",
        ),
        (lambda: compare(grid([[1, 2]] * 2) * 2, metrics=["nll"]), "slova has two values of nll at seed 0 of"),
        (
            lambda: compare(grid([[1, np.nan]] * 2), metrics=["nll"]),
            "nll of softmax is NaN at seed 0 of cifar10-test fog",
        ),
        (lambda: compare(grid([[1, 2]] * 2, metric="mmc"), metrics=["mmc"]), "mmc on cifar10-test is in-distribution"),
    ],
)
def test_what_would_give_a_wrong_number_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
