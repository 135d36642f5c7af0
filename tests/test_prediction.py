"""A prediction unpacks, is sliced by rows, becomes a table, and prints what matters; NONE is one object."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch

from slova import NONE, Prediction

TOP = [2, 0, 1, 2]
PARTS = ([2, -1, 1, -1], [0.9, 0.3, 0.8, 0.2], [0.05, 0.6, 0.1, 0.1], [0.05, 0.1, 0.1, 0.7], TOP)


def prediction(kind=np.array):
    return Prediction(*(kind(part) for part in PARTS))


def named():
    names = np.array(["a", "b", "c", NONE], dtype=object)
    label, *numbers, top = (np.array(part) for part in PARTS)
    return Prediction(names[label], *numbers, names[top])


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_it_unpacks_to_four_and_is_sliced_by_rows(kind):
    found = prediction(kind)
    label, confidence, none, ambiguous = found
    assert (label is found.label, confidence is found.confidence, none is found.none) == (True, True, True)
    assert ambiguous is found.ambiguous
    assert len(found) == 4
    for rows, wanted in (
        (slice(1, 3), [-1, 1]),
        (-1, [-1]),
        (0, [2]),
        (found.confidence > 0.5, [2, 1]),
        ([3, 0], [-1, 2]),
    ):
        part = found[rows]
        assert isinstance(part, Prediction)
        assert part.label.tolist() == wanted
        assert len(part.top) == len(wanted)


@pytest.mark.parametrize("found", [prediction(), prediction(torch.tensor), named()], ids=["numpy", "torch", "names"])
def test_a_table_has_na_for_none(found):
    table = found.to_pandas()
    assert table.columns.tolist() == ["label", "confidence", "none", "ambiguous", "top"]
    assert table.label.isna().tolist() == [False, True, False, True]
    assert table.label[1] is pd.NA
    assert table.top.notna().all()
    assert table.label[0] == found.label[0]


@pytest.mark.parametrize("found", [prediction(), prediction(torch.tensor), named()], ids=["numpy", "torch", "names"])
def test_it_prints_a_few_rows_and_a_summary(found):
    text = repr(found)
    assert text.splitlines()[0].split() == ["label", "confidence", "none", "ambiguous"]
    assert "NONE" in text.splitlines()[2]
    assert text.splitlines()[-1] == "Prediction of 4 rows, 2 rejected, mean confidence 0.550"
    many = repr(found[np.zeros(100, int)])
    assert len(many.splitlines()) == 9
    assert "100 rows, 0 rejected" in many
    assert "0 rows" in repr(found[:0])
    one = Prediction(*(part[0] for part in (found.label, found.confidence, found.none, found.ambiguous, found.top)))
    assert repr(one).endswith("Prediction of 1 rows, 0 rejected, mean confidence 0.900")


def test_none_is_one_object_that_prints_as_none_and_equals_minus_one():
    assert (repr(NONE), str(NONE), f"{NONE}", int(NONE)) == ("NONE", "NONE", "NONE", -1)
    assert NONE == -1
    assert pickle.loads(pickle.dumps(NONE)) is copy.deepcopy(NONE) is copy.copy(NONE) is NONE
    assert named().label[1] is NONE
    assert torch.full((1,), NONE).item() == NONE
