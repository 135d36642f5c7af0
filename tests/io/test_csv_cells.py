"""Cells of a csv file: a number that is read is the number that is written."""

import numpy as np
import pytest

from slova.io import Table, TableError


def save(path, *cells):
    rows = "".join(f"info,{cell},0,1\n" for cell in cells)
    path.write_bytes(f"name,logit_0,logit_1,label\n{rows}".encode())
    return Table(path)


@pytest.mark.parametrize("cell", ["1e400", "-1E+0400", "9" * 400, '"1e400"'])
@pytest.mark.parametrize("before", ["0", "-inf"])
def test_a_number_that_would_be_read_as_infinite_is_refused(tmp_path, cell, before):
    table = save(tmp_path / "a.csv", "0", f"{before},{cell},0\ninf,0")
    with pytest.raises(TableError, match=r"a.csv has a number in row 1 .counted from 0. that float64 cannot hold"):
        table.arrays()


def test_what_is_written_as_infinite_is_read_as_infinite(tmp_path):
    cells = ["inf", "-inf", "Infinity", "+INF", " -infinity ", '"inf"', "1e308", "1e-400"]
    logits, _ = save(tmp_path / "a.csv", *cells).arrays()
    assert logits[:, 0].tolist() == [np.inf, -np.inf, np.inf, np.inf, -np.inf, np.inf, 1e308, 0.0]


def test_blocks_of_more_rows_than_numpy_parses_at_once_are_compared_row_by_row(tmp_path):
    cells = ["0"] * 70_000
    cells[3] = cells[60_000] = "inf"
    logits, _ = save(tmp_path / "a.csv", *cells).arrays()
    assert np.flatnonzero(np.isinf(logits[:, 0])).tolist() == [3, 60_000]
    with pytest.raises(TableError, match="a number in row 69000"):
        save(tmp_path / "a.csv", *cells[:69_000], "1e999").arrays()


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0"])
@pytest.mark.parametrize("cell", ["{}1", "1{}", '"{}1"', '"1\n{}"'])
def test_a_control_character_is_not_a_space(tmp_path, space, cell):
    table = save(tmp_path / "a.csv", "0", cell.format(space))
    with pytest.raises(TableError, match=r"in row 1 .counted from 0., column 'logit_0'; expected a number"):
        table.arrays()


def test_blanks_and_tabs_around_a_number_are_left_out(tmp_path):
    assert save(tmp_path / "a.csv", " 1\t", "\t2 ").arrays()[0][:, 0].tolist() == [1.0, 2.0]
