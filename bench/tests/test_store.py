"""Nothing is computed twice, no result is confused with another, and files are whole or absent."""

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
import torch
from slova_bench import store as store_module
from slova_bench.augment import crop
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.pipeline import Bench
from slova_bench.stable import stable
from slova_bench.store import USUAL_LEFT_OUT, Store, describe
from slova_bench.train import Recipe

from slova import artifact
from slova.calibration import TemperatureScaling

WHAT = {"loss": "a", "recipe": {"rate": 0.1, "epochs": 3}, "seed": 0}


class Counted:
    """A computation that counts its calls."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self):
        self.times += 1
        return {"w": torch.arange(3.0).half() + self.times, "n": torch.tensor(7)}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_equal_descriptions_share_one_result(store):
    compute, other_order = Counted(), {"seed": 0, "recipe": {"epochs": 3, "rate": 0.1}, "loss": "a"}
    first, second = store.get("weights", WHAT, compute), store.get("weights", other_order, compute)
    assert compute.times == 1
    assert first.keys() == second.keys()
    for name in first:
        assert first[name].dtype == second[name].dtype
        assert torch.equal(first[name], second[name])


@pytest.mark.parametrize("change", [{"loss": "b"}, {"recipe": {"rate": 0.2, "epochs": 3}}, {"seed": 1}, {"new": None}])
def test_any_changed_argument_is_another_result(store, change):
    compute = Counted()
    for what in (WHAT, {**WHAT, **change}, WHAT):
        store.get("weights", what, compute)
    assert compute.times == 2


def test_another_stage_or_version_is_another_result(store, monkeypatch):
    compute = Counted()
    store.get("weights", WHAT, compute)
    store.get("images", WHAT, compute)
    monkeypatch.setitem(store_module.VERSIONS, "weights", 99)
    store.get("weights", WHAT, compute)
    assert compute.times == 3


def test_without_a_folder_nothing_is_kept():
    compute = Counted()
    for _ in range(2):
        Store(None).get("weights", WHAT, compute)
    assert compute.times == 2
    assert Store(None).path("weights", WHAT) is None


def test_shipped_results_are_used_and_never_written_to(tmp_path):
    Store(tmp_path / "shipped").get("weights", WHAT, Counted())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "shipped").rglob("*")}
    compute, store = Counted(), Store(tmp_path / "own", tmp_path / "shipped")
    store.get("weights", WHAT, compute)
    assert compute.times == 0
    store.get("weights", {**WHAT, "seed": 1}, compute)
    assert compute.times == 1
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "shipped").rglob("*")} == before


def test_a_file_explains_itself(store):
    store.get("weights", WHAT, Counted())
    meta = artifact.load(store.path("weights", WHAT), "weights")[1]
    assert {key: meta["what"][key] for key in WHAT} == WHAT


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:-1] + bytes([b[-1] ^ 1])])
def test_a_damaged_file_is_computed_again_with_a_warning(store, caplog, damage):
    compute, path = Counted(), store.path("weights", WHAT)
    store.get("weights", WHAT, compute)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        store.get("weights", WHAT, compute)
    assert compute.times == 2
    assert str(path) in caplog.text
    store.get("weights", WHAT, compute)
    assert compute.times == 2


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_crash_while_saving_leaves_nothing(store, monkeypatch, call):
    def crash(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, crash)
    with pytest.raises(OSError, match="No space"):
        store.get("weights", WHAT, Counted())
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []


def test_an_impossible_folder_is_an_error_before_the_work(tmp_path):
    (tmp_path / "store").write_text("a file")
    compute = Counted()
    with pytest.raises(OSError, match="store"):
        Store(tmp_path / "store").get("weights", WHAT, compute)
    assert compute.times == 0


# describe


@stable("test_function")
def function(rate: float = 0.1) -> float:
    return rate


@stable("test_callable_1")
@dataclass(frozen=True)
class Callable1:
    rate: float

    def __call__(self) -> float:
        return self.rate


@stable("test_callable_2")
@dataclass(frozen=True)
class Callable2(Callable1):
    pass


def test_what_is_different_is_described_differently():
    values = [
        function,
        partial(function, rate=0.1),
        partial(function, rate=0.2),
        partial(function, 0.1),
        partial(function, 0.2),
        Callable1(0.1),
        Callable1(0.2),
        Callable2(0.1),
        Recipe(),
        Recipe(rate=0.2),
        Recipe(augment=crop),
        TemperatureScaling.fit,
        {"a": (1, 2)},
        [1, 2],
        None,
        "None",
    ]
    texts = [json.dumps(describe(value), sort_keys=True) for value in values]
    assert len(set(texts)) == len(values)


def test_equal_values_are_described_equally():
    assert describe(Recipe(rate=0.2)) == describe(replace(Recipe(), rate=0.2))
    assert describe(partial(function, rate=Recipe())) == describe(partial(function, rate=Recipe()))


@dataclass(frozen=True)
class Grown:
    rate: float
    added: bool = field(default=True, metadata=USUAL_LEFT_OUT)


def test_a_field_added_later_is_described_only_where_it_is_unusual():
    assert describe(Grown(0.1)) == {"rate": 0.1}
    assert describe(Grown(0.1, added=False)) == {"rate": 0.1, "added": False}
    assert "nesterov" not in describe(Recipe())
    assert describe(Recipe(nesterov=False))["nesterov"] is False


def closure(rate: float):
    return lambda: rate


@pytest.mark.parametrize("value", [closure(0.1), lambda: 1, closure, Callable1(0.1).__call__, torch.nn.ReLU(), len])
def test_a_function_without_a_stable_name_is_refused(value):
    """Two closures have one name: their networks would be confused."""
    with pytest.raises(ValueError, match=r"has no stable name: .*@stable.*functools\.partial"):
        describe(value)


def test_descriptions_are_the_same_in_every_process(tmp_path):
    code = """
import json
from dataclasses import replace
from slova_bench.methods import methods
from slova_bench.pipeline import Bench
from slova_bench.dataset_recipes import DATASET_RECIPES
benches = [Bench(recipe) for recipe in DATASET_RECIPES.values()]
print(json.dumps([b.weights(m, 3) for b in benches for m in methods().values()], sort_keys=True))
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    from slova_bench.methods import methods

    here = [Bench(recipe).weights(m, 3) for recipe in DATASET_RECIPES.values() for m in methods().values()]
    assert printed == {json.dumps(here, sort_keys=True) + "\n"}
    assert " at 0x" not in next(iter(printed))
