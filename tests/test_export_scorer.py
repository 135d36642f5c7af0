"""An exported scorer computes the same as the scorer, in ONNX Runtime and in torch, for every head and calibrator."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import slova
from slova import (
    AffineCalibration,
    BetaCalibration,
    ExponentialCalibration,
    HistogramBinning,
    IsotonicCalibration,
    Scorer,
    TemperatureScaling,
)
from slova.calibration import CALIBRATORS
from slova.export import OUTPUTS
from slova.export.job import Job
from slova.export.onnx_operators import OPSET
from slova.export.parity import Bounds, compare
from slova.export.scorer_graph import finished, scorer_graph
from slova.heads import HEADS, Head

FITTED = {
    "exponential": ExponentialCalibration([0.4, 1.5, 4e3], [0.5, 0.3, 0.1]),
    "temperature": TemperatureScaling(1.7),
    "beta": BetaCalibration(0.8, 0.3, -0.2),
    "isotonic": IsotonicCalibration([0.0, 0.01, 0.2, 0.6, 0.9, 1.0], [0.0, 0.01, 0.1, 0.7, 0.7, 0.95]),
    "histogram": HistogramBinning([0.01, 0.1, 0.35, 0.8, 0.99], [0.0, 0.05, 0.2, 0.5, 0.9, 1.0]),
    "none": None,
}
NONE_CALIBRATOR = ExponentialCalibration([0.7], [0.9])


def logits_of(classes: int, rows: int = 200, seed: int = 1) -> np.ndarray:
    """Logits as of a trained network: one class fits, several, or none; from row 150 on between -1e4 and 1e4."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(-3 - np.log(classes), 1.5, (rows, classes))
    logits[np.arange(rows), generator.integers(0, classes, rows)] += generator.uniform(0, 9 + np.log(classes), rows)
    logits[100:120, 0] += 6 + np.log(classes)
    logits[150:] = generator.uniform(-1e4, 1e4, logits[150:].shape)
    return logits.astype(np.float32)


def run(path, **inputs) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip(OUTPUTS, session.run(None, inputs), strict=True))


def assert_same(found, scorer: Scorer, logits, reject: float, rows: slice = slice(None)) -> None:
    """Probabilities agree to 1e-5, log-probabilities to a relative 1e-5 or to the rounding of probabilities. No row of
    these tests is at an edge."""
    expected = {**scorer.predict(logits, reject=reject).to_dict(), "log_probs": scorer(logits).log_probs}
    for name in ("confidence", "none", "ambiguous"):
        np.testing.assert_allclose(found[name][rows], np.asarray(expected[name])[rows], rtol=0, atol=1e-5, err_msg=name)
        assert np.isfinite(found[name]).all()
    ours, theirs = found["log_probs"][rows], np.asarray(expected["log_probs"])[rows]
    same = np.abs(np.exp(ours) - np.exp(theirs)) < 2.4e-7
    np.testing.assert_allclose(np.where(same, theirs, ours), theirs, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["label"][rows], np.asarray(expected["label"])[rows])


def inputs_of(head: str, logits: np.ndarray) -> np.ndarray:
    """What the head reads, made of one-vs-all logits."""
    logits = logits[:, : HEADS[head].columns]
    if head == "probabilities":
        return np.exp(slova.log_softmax(logits))
    return np.exp(slova.log_ova(logits)) if head.endswith("probabilities") else logits


@pytest.mark.parametrize(
    ("head", "calibration"), [*(("slova", name) for name in FITTED), ("ova", "temperature"), ("softmax", "histogram")]
)
def test_onnx_runtime_computes_the_same_as_the_scorer(head, calibration, tmp_path):
    none_calibrator = None if head == "softmax" else NONE_CALIBRATOR
    before = AffineCalibration(0.9, 0.3)
    scorer = Scorer(
        classes=5, head=HEADS[head], calibrator=FITTED[calibration], none_calibrator=none_calibrator, before=before
    )
    parity = scorer.export(tmp_path / "scorer.onnx", reject=0.47)
    logits, with_nan = logits_of(5), np.array([[np.nan, 1, 2, 3, 4], [1, 0, 9, np.nan, 9]], np.float32)
    found = run(tmp_path / "scorer.onnx", logits=np.concatenate([logits, with_nan]))
    assert_same({name: value[:-2] for name, value in found.items()}, scorer, torch.as_tensor(logits), 0.47)
    assert parity.confidence <= parity.tolerance == 1e-5
    assert (found["label"][-2:] == slova.NONE).all()
    assert np.isnan(found["confidence"][-2:]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "calibration"),
    [
        (1, "exponential"),
        (2, "beta"),
        (10_000, "isotonic"),
        (10_000, "temperature"),
    ],
)
def test_any_number_of_classes_can_be_exported(classes, calibration, tmp_path):
    scorer = Scorer(classes=classes, calibrator=FITTED[calibration])
    scorer.export(tmp_path / "scorer.onnx", reject=0.47)
    logits = logits_of(classes)
    found = run(tmp_path / "scorer.onnx", logits=logits)
    # for a temperature, a sum of 10,000 logits of 1e4 is dominated by rounding
    assert_same(
        found, scorer, torch.as_tensor(logits), 0.47, slice(150) if calibration == "temperature" else slice(None)
    )


@pytest.mark.parametrize("head", ["slova", "ova", "softmax"])
def test_the_label_is_the_top_logit_even_where_the_head_saturates(head):
    """Probabilities that are all rounded to 1, or to 0, are tied."""
    for logits in ([[120.0, 300.0, 200.0]], [[-300.0, -120.0, -200.0]]):
        assert Scorer(classes=3, head=HEADS[head]).predict(np.array(logits, np.float32)).label.tolist() == [1]


def test_softmax_keeps_the_digits_of_a_probability_near_one():
    """A steep calibrator depends on them."""
    log_probs = slova.log_softmax(np.array([[20.0, 0.0, 1.0]], np.float32))
    assert log_probs[0, 0] == pytest.approx(-np.log1p(np.exp(-20.0) + np.exp(-19.0)), rel=1e-6)


def test_a_torch_program_computes_the_same_as_the_scorer(tmp_path):
    scorer = Scorer(classes=5, calibrator=FITTED["isotonic"], none_calibrator=NONE_CALIBRATOR)
    scorer.export(tmp_path / "scorer.pt2", reject=0.47)
    logits = torch.as_tensor(logits_of(5))
    found = torch.export.load(tmp_path / "scorer.pt2").module()(logits)
    assert_same({name: value.numpy() for name, value in zip(OUTPUTS, found, strict=True)}, scorer, logits, 0.47)


def test_outputs_have_names_and_types_and_a_dynamic_batch(tmp_path):
    Scorer(classes=3).export(tmp_path / "scorer.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "scorer.onnx")
    assert [(one.name, one.shape, one.type) for one in session.get_inputs()] == [
        ("logits", ["batch", 3], "tensor(float)")
    ]
    shapes = {one.name: (one.shape, one.type) for one in session.get_outputs()}
    assert tuple(shapes) == OUTPUTS
    assert shapes.pop("label") == (["batch"], "tensor(int64)")
    assert shapes.pop("log_probs") == (["batch", 3], "tensor(float)")
    assert set(map(str, shapes.values())) == {"(['batch'], 'tensor(float)')"}
    for rows in (1, 7):
        assert len(session.run(["label"], {"logits": logits_of(3)[:rows]})[0]) == rows
    keys = {entry.key for entry in onnx.load(tmp_path / "scorer.onnx").metadata_props}  # no names, no validation
    assert keys == {f"slova.{name}" for name in ("version", "classes", "head", "reject", "opset")}


ROWWISE = [name for name in CALIBRATORS if name != "affine"]
PAIRS = [  # of slova with every calibrator, and of every other head with two of them, with and without NONE
    (head, name, (i + j) % 2 == 0)
    for (i, head), (j, name) in itertools.product(enumerate(HEADS), enumerate(ROWWISE))
    if head == "slova" or i % 3 == j % 3
]


@pytest.mark.parametrize(("head", "calibration", "none"), PAIRS)
@pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning", "ignore::slova.CalibrationWarning")
def test_every_registered_head_and_calibrator_is_exported_without_torch(head, calibration, none):
    logits, labels = logits_of(5)[:150].astype(np.float64), np.arange(150) % (2 if HEADS[head].columns else 4)
    logits[np.arange(150), 0 if HEADS[head].columns else labels] += 3 * (labels if HEADS[head].columns else 1)
    labels[::9] = slova.NONE if none else labels[::9]
    values = inputs_of(head, logits).astype(np.float32)
    scorer = Scorer.fit(values, labels, head=head, calibration=calibration)
    found = scorer_graph(Job(Path("a.onnx"), scorer, None, 0.3)).answer({"logits": values})  # in ONNX Runtime
    assert compare(found, scorer, values, 0.3, Bounds.of(half=False, tolerance=None)).rows == 150


def test_the_graph_of_an_elementwise_calibrator_is_small():
    """ONNX Runtime loads a graph of 1,500 nodes for a second, and iterations are unrolled in it."""
    content = scorer_graph(Job(Path("a.onnx"), Scorer(classes=5, calibrator=FITTED["exponential"]), None, 0.3)).content
    assert len(onnx.load_from_string(content).graph.node) < 650


def test_a_scorer_that_takes_distances_records_itself():
    generator, labels = np.random.default_rng(0), np.arange(150) % 3
    values = (generator.normal(size=(150, 3)) + 3 * np.eye(3)[labels]).astype(np.float32)
    distances = generator.uniform(0, 2, (150, 2)).astype(np.float32)
    scorer = Scorer.fit(values, labels, distances=distances, head="slova")
    sizes = {"logits": 3, "distances": 2}
    infos = [onnx.helper.make_tensor_value_info(name, 1, ("batch", size)) for name, size in sizes.items()]
    imports = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", infos, infos), opset_imports=imports, ir_version=8)
    content = finished(model, Job(Path("a.onnx"), scorer, None, 0.3)).content
    found = tuple(run(content, logits=values, distances=distances).values())
    bounds = Bounds.of(half=False, tolerance=None)
    assert compare(found, scorer, values, 0.3, bounds, distances=distances).rows == 150


def test_torch_is_not_imported(tmp_path):
    Scorer(classes=3, calibrator=FITTED["beta"]).save(tmp_path / "scorer.slova")
    code = """
import sys
from slova import Scorer
Scorer.load(sys.argv[1] + "/scorer.slova").export(sys.argv[1] + "/scorer.onnx")
print(sorted({"torch", "onnxscript", "sklearn"} & set(sys.modules)))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(slova.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[]\n"


def test_a_head_that_needs_torch_is_traced_by_torch(tmp_path):
    head = Head(name="own", log_probs=lambda logits, ops: torch.log_softmax(torch.as_tensor(logits) / 2, -1))
    scorer = Scorer(classes=3, head=head)
    logits = torch.as_tensor(logits_of(3)[:150])
    scorer.export(tmp_path / "scorer.pt2", logits=logits)
    found = torch.export.load(tmp_path / "scorer.pt2").module()(logits)
    np.testing.assert_allclose(found[1], scorer.predict(logits).confidence, atol=1e-5)
    scorer.export(tmp_path / "scorer.onnx", logits=logits)
    found = run(tmp_path / "scorer.onnx", logits=logits.numpy())
    np.testing.assert_allclose(found["confidence"], scorer.predict(logits).confidence, atol=1e-5)
