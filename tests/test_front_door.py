"""What the first lines of the README give on small networks: as well calibrated as the best of other calibrators."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "front_door.py"
SPEC = importlib.util.spec_from_file_location("front_door", PATH)
front_door = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(front_door)


@pytest.mark.parametrize("steps", [60, 150])
def test_the_default_is_within_015_of_the_best_ece_and_02_of_the_best_nll(steps):
    rows = pd.DataFrame([row for seed in range(2) for row in front_door.compare(steps, seed)])
    means = rows.groupby("calibration")[["ece", "nll", "warnings"]].mean()
    best = means.loc[list(front_door.RIVALS)].min()
    assert means.loc["posterior", "ece"] <= best["ece"] + 0.015
    assert means.loc["posterior", "nll"] <= best["nll"] + 0.02
    assert means.loc["posterior", "warnings"] == 0  # a fit that is not good would warn
