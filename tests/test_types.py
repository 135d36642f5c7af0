"""The shapes in signatures are true: `shapes.py` calls every public function with its annotations checked."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import slova.metrics
from slova import _types

HERE = Path(__file__).parent
MODULES = (
    "heads",
    "_head",
    "losses",
    "metrics",
    "calibration",
    "thresholds",
    "prediction_sets",
    "scorer",
    "multilabel",
)


def test_public_functions_have_the_shapes_that_they_state():
    modules = ",".join(f"slova.{name}" for name in MODULES)
    hook = f"--jaxtyping-packages={modules},shape_checker.check"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", hook, HERE / "shapes.py"]
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-5000:]
    assert " passed" in run.stdout


def test_without_jaxtyping_the_names_only_describe():
    code = "import slova._types as types, sys; print('jaxtyping' in sys.modules, 'torch' in sys.modules, types.Labels)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert found == "False False typing.Annotated[typing.Any, 'Integer', 'rows']\n"


def test_annotations_can_be_resolved():
    assert get_type_hints(slova.metrics.ece)["labels"] == _types.Labels
