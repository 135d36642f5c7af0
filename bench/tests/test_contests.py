"""Methods against each other: the quartiles over shifts in which one is better or worse, at common seeds."""

import numpy as np
import pytest
from slova_bench.labels import PAPER_SHIFTS, look
from slova_bench.results import Cell, Results, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import contests

CELL = Cell("shift", "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)
METRICS = ("ece", "nll", "brier")


def rows_of(order: list[str], seeds: int) -> list[Row]:
    """The first method is the best everywhere, the next the second, by far more than the seeds vary."""
    generator = np.random.default_rng(0)
    sets = [("", 0.0), *((shift, float(level)) for shift in PAPER_SHIFTS for level in (1, 3, 5))]
    return [
        Row.of(
            CELL._replace(method=method, seed=seed, shift=shift, level=level),
            metric,
            0.05 * place + 0.02 * level + generator.uniform(0, 1e-3),
        )
        for place, method in enumerate(order)
        for seed in range(seeds)
        for shift, level in sets
        for metric in METRICS
    ]


@pytest.fixture
def counted(tmp_path):
    """A function from rows to the seeds and counts of each pair: better and worse, then of the held-out shifts."""

    def counts(rows: list[Row]) -> dict[tuple[str, str], list[str]]:
        results = Results(tmp_path, "shift-cifar10")
        results.append(rows)
        results.close()
        tables = contests.make(ResultsFolder.read(tmp_path), "cifar10")
        found = (([entry.text for entry in row]) for table in tables for row in table.rows)
        return {(first, second): rest for first, second, *rest in found}

    return counts


def test_the_page_says_which_quartiles_include_the_clean_test_set():
    assert "the paper include the clean test set, those over held-out shifts do not" in " ".join(contests.NOTES)


def names(*methods: str) -> tuple[str, ...]:
    return tuple(look(method).name for method in methods)


def test_methods_are_compared_at_common_seeds(counted):
    rows = rows_of(["ensemble", "slova_none", "temperature"], seeds=3)
    found = counted([row for row in rows if row.method != "slova_none" or row.seed < 2])
    assert found == {
        names("slova_none", "temperature"): ["2", "9", "0"],
        names("slova_none", "ensemble"): ["2", "0", "9"],
    }


def test_further_fits_are_compared_with_the_usual_one(counted):
    found = counted(rows_of(["slova", "slova_clean"], seeds=1))
    assert found == {names("slova_clean", "slova"): ["1", "0", "9"]}


def test_held_out_shifts_are_counted_apart(counted):
    """Under snow the order is the other way round; the clean set is not among the held-out shifts."""
    rows = rows_of(["slova_distance_ensemble", "ensemble_temperature"], seeds=1)
    snow = [row._replace(shift="snow", value=1 - row.value) for row in rows if row.shift == PAPER_SHIFTS[0]]
    pair = names("slova_distance_ensemble", "ensemble_temperature")
    assert counted(rows + snow)[pair] == ["1", "9", "0", "0", "9"]


def test_the_seeds_are_those_of_the_shifts_with_fewer(counted):
    """Under the held-out shift the one has a seed less."""
    rows = rows_of(["slova_none", "temperature"], seeds=2)
    snow = [row._replace(shift="snow") for row in rows if row.shift == PAPER_SHIFTS[0]]
    snow = [row for row in snow if (row.method, row.seed) != ("slova_none", 1)]
    assert counted(rows + snow)[names("slova_none", "temperature")] == ["1", "9", "0", "9", "0"]


def test_a_seed_without_every_set_is_left_out(counted):
    rows = rows_of(["slova_none", "temperature"], seeds=2)
    done = [row for row in rows if (row.method, row.seed) != ("slova_none", 1) or row.shift != PAPER_SHIFTS[0]]
    assert counted(done)[names("slova_none", "temperature")] == ["1", "9", "0"]


def test_methods_without_a_common_seed_are_not_compared(counted):
    rows = rows_of(["slova_none", "temperature"], seeds=2)
    assert counted([row for row in rows if (row.method == "temperature") == (row.seed == 1)]) == {}


def test_what_the_seeds_cannot_distinguish_is_neither_better_nor_worse(counted):
    """At two of four seeds the NLL of the rival is higher, at two lower, with the worse mean."""
    gaps = {0: 0.9, 1: -0.3, 2: 0.9, 3: -0.3}
    rows = [
        row._replace(value=row.value + gaps[row.seed]) if (row.method, row.metric) == ("temperature", "nll") else row
        for row in rows_of(["slova_none", "temperature"], seeds=4)
    ]
    assert counted(rows)[names("slova_none", "temperature")] == ["4", "6", "0"]
