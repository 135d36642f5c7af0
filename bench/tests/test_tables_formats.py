"""Entries of tables: ties are those of a t-test, and every format handles any name."""

import csv
import io
import re

import numpy as np
import pytest
from scipy import stats
from slova_bench.tables import Column, Table
from slova_bench.tables.seeds import estimate, marks, paired_p
from slova_bench.tables.table import number, text


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_those_of_a_paired_t_test(seed):
    generator = np.random.default_rng(seed)
    one, other = generator.normal(size=5), generator.normal(0.8, 1, size=5)
    p = paired_p(dict(enumerate(one)), dict(enumerate(other)))
    assert p == pytest.approx(stats.ttest_rel(one, other).pvalue)
    best, worse = (("a", ""), ("b", "")) if one.mean() < other.mean() else (("b", ""), ("a", ""))
    found = marks({("a", ""): dict(enumerate(one)), ("b", ""): dict(enumerate(other))}, larger=False)
    assert found == {best: "best"} | ({worse: "tied"} if p >= 0.05 else {})


def test_with_two_seeds_nothing_is_tied_and_equal_methods_are_best_together():
    two = {("a", ""): {0: 1.0, 1: 2.0}, ("b", ""): {0: 1.3, 1: 2.1}, ("c", ""): {0: 1.0, 1: 2.0}}
    assert marks(two, larger=False) == {("a", ""): "best", ("c", ""): "best"}
    assert marks(two, larger=True) == {("b", ""): "best"}
    assert marks({("a", ""): {0: 1.0}}, larger=True) == {}


def test_beside_three_seeds_a_method_with_fewer_is_not_marked():
    three = {("a", ""): {0: 0.3, 1: 0.31, 2: 0.32}, ("b", ""): {0: 0.5, 1: 0.52, 2: 0.51}}
    assert marks({**three, ("c", ""): {0: 0.1}}, larger=False) == {("a", ""): "best"}
    assert marks({("a", ""): {0: 0.3}, ("c", ""): {0: 0.1, 1: 0.1}}, larger=False) == {("c", ""): "best"}


def test_infinite_and_missing_numbers_are_neither_best_nor_an_error():
    column = {("b", ""): {0: float("nan")}, ("a", ""): {0: float("inf"), 1: 1.0}, ("c", ""): {0: 5.0}}
    assert marks(column, larger=False) == {("c", ""): "best"}
    assert estimate(column["a", ""]).error is None
    assert number(float("inf")).text == "∞"


def test_numbers_are_shown_with_their_error_and_kept_in_full():
    assert number(0.08868, error=0.00212).text == "0.089 ± 0.002"
    assert number(0.21321, error=0.00041).text == "0.213 ± 0.0004"
    assert number(0.0768, error=0.0011, percent=True).text == "7.68 ± 0.11 %"
    assert number(0.25, error=0.0).text == "0.250 ± 0.000"


NASTY = [
    "a|b",
    "50 % & more_less #1 ~ ^ $x$ {y}",
    r"back\slash",
    "<script>alert(1)</script>",
    "*bold* `code` [l](u)",
    "a\nb",
]


def nasty() -> Table:
    rows = tuple((text(name), number(0.5, error=0.1, mark="best"), number(1 / 3)) for name in NASTY)
    return Table("nasty", "A & B_c", (Column("Method"), Column("x ↓", "G|H"), Column("paper", "G|H")), rows, ("5 %",))


def test_markdown_keeps_its_columns_whatever_the_names():
    lines = nasty().markdown().splitlines()
    assert len(lines) == 2 + len(NASTY)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "<script" not in nasty().markdown()


def test_markdown_shows_names_as_they_are():
    html = pytest.importorskip("markdown").markdown(nasty().markdown(), extensions=["tables"])
    assert "<script>" not in html
    assert "<code>" not in html
    assert "<em>" not in html
    assert html.count("<strong>0.500 ± 0.100</strong>") == len(NASTY)


def test_csv_holds_every_name_and_number_in_full():
    lines = list(csv.DictReader(io.StringIO(nasty().csv())))
    assert [line["Method"] for line in lines] == NASTY
    assert {float(line["G|H, paper"]) for line in lines} == {float(f"{1 / 3:.8g}")}
    assert {(line["G|H, x ↓, standard error"], line["G|H, x ↓, mark"]) for line in lines} == {("0.1", "best")}


def test_a_table_with_a_short_row_cannot_exist():
    with pytest.raises(ValueError, match="2 columns, but a row of 1"):
        Table("t", "T", (Column("a"), Column("b")), ((text("x"),),))
