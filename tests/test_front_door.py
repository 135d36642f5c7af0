"""What the first lines of the README give on small networks: as well calibrated as the best of other calibrators."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "front_door.py"
SPEC = importlib.util.spec_from_file_location("front_door", PATH)
front_door = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(front_door)


@pytest.mark.parametrize("steps", [60, 150])
def test_the_default_is_within_015_of_the_best_ece_and_02_of_the_best_nll(steps):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that is not good would warn
        runs = [front_door.compare(steps, seed) for seed in range(2)]
    means = {name: np.mean([run[name][:2] for run in runs], axis=0) for name in runs[0]}
    best = np.min([means[name] for name in front_door.RIVALS], axis=0)
    assert np.all(means["posterior"] - best <= (0.015, 0.02)), means
