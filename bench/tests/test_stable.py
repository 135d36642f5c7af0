"""Names that decide keys: they outlive a move, no two functions share one, and whatever a method is made of has one."""

import importlib.util
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from slova_bench import augment, schedules, stable
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.methods import acet, methods, ova
from slova_bench.pipeline import Bench
from slova_bench.presets import PRESETS, preset
from slova_bench.store import describe, file_name

from slova.calibration import ExponentialCalibration, TemperatureScaling
from slova.heads import OVA, SLOVA, SOFTMAX


def moved(module, folder: Path, name: str):
    """The file of a module, imported from elsewhere under another name."""
    path = Path(shutil.copy(module.__file__, folder / f"{name}.py"))
    spec = importlib.util.spec_from_file_location(name, path)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def test_moving_a_module_changes_no_key(tmp_path):
    bench = Bench(DATASET_RECIPES["cifar10"])
    before = file_name("weights", bench.weights(acet.SHORT, 0))
    there = moved(acet, tmp_path, "elsewhere")
    assert there.loss is not acet.loss
    assert there.loss.__module__ == "elsewhere"
    assert file_name("weights", bench.weights(there.SHORT, 0)) == before
    other = moved(augment, tmp_path, "transforms")
    recipe = replace(bench.dataset.recipe(acet.SHORT), augment=other.crop_flip)
    assert file_name("weights", bench.weights(replace(there.SHORT, recipe=recipe), 0)) == before


def test_renaming_a_module_in_place_changes_no_key(monkeypatch):
    bench, method = Bench(DATASET_RECIPES["cifar10"]), methods()["ova"]
    before = bench.description(method)
    for function in (ova.loss, ova.network, schedules.cosine, bench.dataset.backbone):
        monkeypatch.setattr(function, "__module__", "somewhere.else")
        monkeypatch.setattr(function, "__qualname__", "another_name")
    assert bench.description(method) == before


@pytest.mark.parametrize("on", DATASET_RECIPES)
@pytest.mark.parametrize("name", PRESETS)
def test_every_method_of_every_data_set_has_a_key_without_an_import_path(on, name):
    bench = Bench(DATASET_RECIPES[on])
    for method in methods().values():
        if method.name in ("softmax", "ova") or name == "fair":
            (chosen,) = preset([method], name, experiment="shift", dataset=bench.dataset)
            text = json.dumps(bench.description(chosen))
            assert "slova." not in text
            assert "slova_bench" not in text


def test_methods_that_differ_are_described_differently():
    bench = Bench(DATASET_RECIPES["cifar10"])
    found = [json.dumps(bench.description(method), sort_keys=True) for method in methods().values()]
    assert len(set(found)) == len(found)


def test_two_functions_cannot_share_a_name():
    def one() -> int:
        return 1

    @torch.no_grad()
    def two() -> int:
        return 2

    @torch.no_grad()
    def three() -> int:
        return 3

    stable.stable("test_one")(one)
    stable.stable("test_two")(two)
    for name, function in (("test_one", two), ("test_one", three), ("test_two", three), ("cosine", one)):
        with pytest.raises(ValueError, match=f"{name}/1 is the name of .* and cannot be that of"):
            stable.stable(name)(function)
    with pytest.raises(ValueError, match="is called test_one/1 already and cannot be called test_other/1"):
        stable.stable("test_other")(one)
    stable.stable("test_one", version=2)(three)
    assert (describe(one), describe(three)) == ("test_one/1", "test_one/2")


def test_names_and_functions_are_one_to_one():
    assert set(stable.NAMES.values()) == set(stable.OWNERS)
    for name, owner in stable.OWNERS.items():
        assert stable.NAMES[owner] == name


def test_the_library_is_named_by_its_words():
    assert [describe(head) for head in (SOFTMAX, OVA, SLOVA)] == ["softmax_head/1", "ova_head/1", "slova_head/1"]
    assert describe(ExponentialCalibration.fit) == "exponential/1"
    assert describe(partial(TemperatureScaling.fit, tol=1)) == {"function": "temperature/1", "tol": 1}


def test_a_class_method_of_a_subclass_has_no_name_of_its_parent():
    class Colder(TemperatureScaling):
        pass

    with pytest.raises(ValueError, match="no stable name"):
        describe(Colder.fit)


def test_a_plug_in_is_named_by_its_content(tmp_path):
    path = tmp_path / "mine.py"
    lines = "from dataclasses import replace\nfrom slova_bench.methods import softmax\n"
    lines += "def loss(network, images, labels, rows):\n    return {}\n"
    lines += "METHOD = replace(softmax.METHOD, name='mine', loss=loss)\n"
    names = []
    for content in (lines.format(1), lines.format(2)):
        path.write_text(content)
        methods.cache_clear()
        names.append(describe(methods((path,))["mine"].loss))
    assert all(name.startswith("mine_") and name.endswith(".loss") for name in names)
    assert names[0] != names[1]
