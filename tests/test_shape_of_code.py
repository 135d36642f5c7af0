"""The shape of the code: imports point one way, `import slova` is light, files are short, public names exist."""

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import slova

SOURCE = Path(slova.__file__).parent
ROOT = Path(__file__).parents[1]
# A file imports only files of its own layer or of layers above it.
LAYERS = [
    ["_atomic", "_backend", "_progress", "_types"],
    ["_batches", "_inputs", "_offline_page", "_validation", "_warnings", "artifact"],
    ["_head", "_labels", "_mergeable"],
    ["_collect", "heads", "prediction"],
    ["losses"],
    ["calibration"],
    ["metrics"],
    ["prediction_sets", "thresholds"],
    ["_fit_report", "evaluation"],
    ["_detect", "_fit_rows", "_fit_warnings", "_fitting", "_outcomes", "_scorer_file", "scorer"],
    ["_classifier_file", "_classifier_fit", "classifier", "ensemble", "extreme", "multilabel", "retrofit", "vision"],
    ["sklearn"],
    ["io"],
    ["export"],
    ["batch", "serve"],
    ["demo", "report"],
    ["cli", "__main__"],
]
# Two exceptions: `classifier.export(...)` and `report(...)` import a higher layer when they are called, and so does an
# answer on a GPU.
UPWARDS = {"_outcomes": {"extreme"}, "scorer": {"export"}, "classifier": {"export", "report"}, "sklearn": {"export"}}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
HEAVY = ["torch", "sklearn", "pandas", "matplotlib", "pyarrow", "scipy.optimize", "safetensors.torch"]


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def imports(path: Path) -> set[str]:
    whole = {alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names}
    parts = {
        name
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    }
    return whole | parts


def upwards(path: Path) -> set[str]:
    """The layers below its own that a file imports and may not."""
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("slova.")} & RANK.keys()
    return {name for name in ours if RANK[name] > RANK[layer(path)]} - UPWARDS.get(layer(path), set())


def test_imports_point_one_way():
    assert {path.name for path in FILES if layer(path) not in RANK} == set(), "they have no layer in this test"
    assert {str(path): found for path in FILES if (found := upwards(path))} == {}


def test_the_library_never_imports_the_comparison():
    assert [path.name for path in FILES if any(name.startswith("slova_bench") for name in imports(path))] == []


CODE = sorted(path for folder in ("src", "bench/src") for path in (ROOT / folder).rglob("*.py"))


def test_files_and_functions_are_short():
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    functions = [(str(path), node) for path in CODE for node in nodes(path) if isinstance(node, kinds)]
    assert len(CODE) > 200
    assert [str(path) for path in CODE if path.read_text().count("\n") > 260] == []
    assert [(path, node.name) for path, node in functions if node.end_lineno - node.lineno >= 40] == []


TESTS = sorted(path for folder in ("tests", "bench/tests") for path in (ROOT / folder).rglob("*.py"))


def reads_a_clock(node: ast.AST) -> bool:
    clocks = {"time", "monotonic", "perf_counter", "process_time"}
    of_time = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
    return of_time and node.attr in clocks


def test_no_test_reads_a_clock():
    """A test that asserts how long something took fails on a busy machine."""
    assert len(TESTS) > 100
    assert [(str(path), node.lineno) for path in TESTS for node in nodes(path) if reads_a_clock(node)] == []
    assert [reads_a_clock(node) for node in ast.walk(ast.parse("time.time", mode="eval"))].count(True) == 1


def test_no_file_is_called_after_nothing():
    assert {path.stem for path in FILES} & {"utils", "helpers", "common", "misc"} == set()


SCRIPTS = sorted(path for folder in ("benchmarks", "docs", "examples") for path in (ROOT / folder).glob("*.py"))


def test_scripts_use_only_what_is_public():
    ours = {(str(path), name) for path in SCRIPTS for name in imports(path) if name.startswith("slova.")}
    assert [found for found in ours if any(part.startswith("_") for part in found[1].split("."))] == []


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_brings_nothing_heavy():
    """One after the other in one process, so that what none of them brings, none brings alone."""
    modules = ["slova", "slova.metrics", "slova.calibration", "slova.artifact", "slova.cli"]
    steps = "".join(f"import {module}; print({module!r}, *set({HEAVY}) & set(sys.modules))\n" for module in modules)
    assert run(f"import sys\n{steps}").splitlines() == modules


COMMANDS = ["", "--version", "--help", "fit --help", "score --help"]


def test_the_command_line_starts_without_anything_heavy():
    heavy = {*HEAVY, "ray", "pyspark", "onnx", "altair", "slova.serve", "slova_bench.runner"}
    code = f"""
import sys
from contextlib import redirect_stdout
from slova.cli import main
for command in {COMMANDS}:
    try:
        with redirect_stdout(sys.stderr):
            main(command.split(), prog_name="slova")
    except SystemExit as end:
        print([command, end.code, *{heavy} & set(sys.modules)])
"""
    assert run(code).splitlines() == [str([command, 0]) for command in COMMANDS]


def test_without_torch_the_rest_works_and_the_missing_extra_is_named():
    code = """
import sys
sys.modules["torch"] = None
import numpy as np, slova
print(np.exp(slova.log_slova(np.array([[4.0, -4.0]]))).round(2).tolist())
try:
    slova.ova_loss
except ImportError as error:
    print(error)
"""
    assert run(code).splitlines() == ["[[0.96, 0.0]]", 'slova.ova_loss needs PyTorch: pip install "slova[torch]"']


def test_submodules_are_imported_at_first_use():
    code = """
import slova, sys
names = slova.MODULES
print([name for name in names if "slova." + name in sys.modules], set(names) <= set(dir(slova)))
print([name for name in names if getattr(slova, name).__name__ != "slova." + name])
"""
    assert run(code).splitlines() == ["[] True", "[]"]


def test_without_torch_submodules_work_or_name_the_missing_extra():
    code = """
import sys
sys.modules["torch"] = None
import slova
for name in slova.MODULES:
    try:
        getattr(slova, name)
    except ImportError as error:
        print(str(error) == f'slova.{name} needs PyTorch: pip install "slova[torch]"', name)
"""
    said = run(code).splitlines()
    assert "True retrofit" in said
    assert not [line for line in said if not line.startswith("True ")]


def test_public_names_are_sorted_present_and_documented():
    constants = [name for name in slova.__all__ if name.isupper()]
    others = [name for name in slova.__all__ if not name.isupper()]
    functions = [name for name in others if name[0].islower()]
    classes = [name for name in others if name[0].isupper()]
    assert slova.__all__ == [*sorted(constants), *sorted(classes), *sorted(functions)]
    assert [name for name in others if not (getattr(slova, name).__doc__ or "").strip()] == []
    assert set(slova.__all__) <= set(dir(slova))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = slova.nonsense


def test_every_module_exports_what_it_says():
    for path in (path for path in SOURCE.rglob("*.py") if path.stem != "__main__"):
        name = ".".join(["slova", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
        module = importlib.import_module(name)
        assert [f"{name}.{public}" for public in getattr(module, "__all__", []) if not hasattr(module, public)] == []


def test_the_package_is_typed_and_says_its_version():
    assert (SOURCE / "py.typed").exists()
    pyproject = (SOURCE.parents[1] / "pyproject.toml").read_text()
    assert f'version = "{slova.__version__}"' in pyproject
