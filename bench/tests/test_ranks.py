"""Ranks and their tests, against Demšar's example and scipy."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from slova_bench import ranks as module
from slova_bench.ranks import bonferroni_dunn, friedman, ranking, ranks

C45 = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
# Demšar (2006), Table 6: AUC on 14 data sets. Its ranks 2 and 3 of "voting", printed as .975 twice, come from more
# digits than are printed; the fourth digit here stands for them.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def tied(generator, shape=(12, 5)):
    return generator.integers(0, 4, shape).astype(float)


# Ranks


def test_ties_share_the_mean_of_their_ranks():
    for seed in range(20):
        values = tied(np.random.default_rng(seed))
        assert (ranks(values) == stats.rankdata(values, axis=1)).all()


def test_the_largest_value_is_the_best_only_with_larger():
    assert ranks([[0.9, 0.5], [0.1, 0.5]], larger=True).tolist() == [[1, 2], [2, 1]]
    assert ranks([[0.9, 0.5], [0.1, 0.5]]).tolist() == [[2, 1], [1, 2]]


def test_an_infinite_loss_is_the_last_and_two_of_them_tie():
    assert ranks([[np.inf, 1.0, np.inf], [1.0, 2.0, 3.0]])[0].tolist() == [2.5, 1, 2.5]


# Friedman


@pytest.mark.parametrize("seed", range(10))
def test_friedman_with_ties_is_that_of_scipy(seed):
    values = tied(np.random.default_rng(seed))
    assert friedman(values) == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)


def test_two_methods_can_be_compared_and_ties_everywhere_are_nothing():
    better = np.array([[0.1, 0.2]] * 9 + [[0.2, 0.1]])
    assert friedman(better) == pytest.approx(stats.chi2.sf((9 - 1) ** 2 / 10, 1))
    assert friedman([[1, 1, 1]] * 7) == 1


def test_friedman_does_not_depend_on_the_direction():
    values = tied(np.random.default_rng(0))
    assert friedman(values) == friedman(-values)


def test_equal_methods_are_rejected_at_the_rate_alpha():
    generator = np.random.default_rng(0)
    p = np.array([friedman(generator.random((20, 5))) for _ in range(1000)])
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.015)


# The published example


def test_demsars_example_comes_out_as_published():
    assert ranks(AUC, larger=True).mean(0).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert friedman(AUC) < 0.05


def test_demsars_tuned_tree_differs_from_the_plain_one_and_the_others_do_not():
    found = ranking(ranks(AUC, larger=True), C45, control="C4.5")
    assert found.rejects
    assert found.distance == pytest.approx(1.168, abs=5e-4)  # printed as 1.16
    assert found.alike == ("C4.5+m", "C4.5+cf")
    assert list(found.mean_ranks) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]


@pytest.mark.parametrize(
    ("k", "quantile"), [(2, 1.960), (3, 2.241), (4, 2.394), (5, 2.498), (6, 2.576), (7, 2.638), (8, 2.690), (10, 2.773)]
)
def test_the_quantiles_are_those_of_demsars_table(k, quantile):
    assert bonferroni_dunn(k, 6) / np.sqrt(k * (k + 1) / 36) == pytest.approx(quantile, abs=6e-4)


def test_with_nine_methods_the_quantile_is_exact_where_the_table_is_not():
    distance = bonferroni_dunn(9, 81)
    assert distance == pytest.approx(1.177, abs=5e-4)
    assert distance / np.sqrt(9 * 10 / (6 * 81)) == pytest.approx(2.734, abs=5e-4)  # printed as 2.724


def test_importing_it_brings_neither_torch_nor_scipy():
    code = "import slova_bench.ranks, sys; print({'torch', 'scipy.stats', 'scipy.special'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"


def test_the_examples_in_its_docstrings_run():
    assert doctest.testmod(module) == (0, 2)
