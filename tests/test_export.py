"""What a scorer's file answers, in ONNX Runtime and in torch: the same as the scorer, for every head, map and size."""

import json
import subprocess
import sys
from dataclasses import replace

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
from slova.export import OUTPUTS, ExportError, Metadata, metadata
from slova.export.onnx_operators import TABLE
from slova.export.parity import Bounds, compare
from slova.scorer import HEADS

CALIBRATORS = {
    "exponential": ExponentialCalibration([0.4, 1.5, 4e3], [0.5, 0.3, 0.1]),
    "temperature": TemperatureScaling(1.7),
    "beta": BetaCalibration(0.8, 0.3, -0.2),
    "isotonic": IsotonicCalibration([0.0, 0.01, 0.2, 0.6, 0.9, 1.0], [0.0, 0.01, 0.1, 0.7, 0.7, 0.95]),
    "histogram": HistogramBinning([0.01, 0.1, 0.35, 0.8, 0.99], [0.0, 0.05, 0.2, 0.5, 0.9, 1.0]),
    "none": None,
}
NONE_MAP = ExponentialCalibration([0.7], [0.9])


def logits_of(classes: int, rows: int = 200, seed: int = 1) -> np.ndarray:
    """Of a trained network: one class fits, more, or none; from the 150th row on from -1e4 to 1e4."""
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
    """To 1e-5, and to a hundred-thousandth of a log-probability; no row of these tests is at an edge."""
    wanted = {**scorer.predict(logits, reject=reject)._asdict(), "log_probs": scorer(logits).log_probs}
    for name in ("confidence", "none", "several"):
        np.testing.assert_allclose(found[name][rows], np.asarray(wanted[name])[rows], rtol=0, atol=1e-5, err_msg=name)
        assert np.isfinite(found[name]).all()
    np.testing.assert_allclose(found["log_probs"][rows], np.asarray(wanted["log_probs"])[rows], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["label"][rows], np.asarray(wanted["label"])[rows])


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("map", CALIBRATORS)
def test_onnx_runtime_answers_like_the_scorer(head, map, tmp_path):
    none_map = None if head == "softmax" else NONE_MAP
    before = AffineCalibration(0.9, 0.3)
    scorer = Scorer(classes=5, head=HEADS[head], map=CALIBRATORS[map], none_map=none_map, before=before)
    parity = scorer.export(tmp_path / "map.onnx", reject=0.47)
    logits = logits_of(5)
    assert_same(run(tmp_path / "map.onnx", logits=logits), scorer, torch.as_tensor(logits), 0.47)
    assert parity.confidence <= parity.tolerance == 1e-5
    numberless = run(tmp_path / "map.onnx", logits=np.array([[np.nan, 1, 2, 3, 4], [1, 0, 9, np.nan, 9]], np.float32))
    assert (numberless["label"] == slova.NONE).all()
    assert np.isnan(numberless["confidence"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "map"),
    [
        (1, "exponential"),
        (2, "beta"),
        (10_000, "exponential"),
        (10_000, "isotonic"),
        (10_000, "none"),
        (10_000, "temperature"),
    ],
)
def test_any_number_of_classes_gives_the_same_answers(classes, map, tmp_path):
    scorer = Scorer(classes=classes, map=CALIBRATORS[map])
    scorer.export(tmp_path / "map.onnx", reject=0.47)
    logits = logits_of(classes)
    found = run(tmp_path / "map.onnx", logits=logits)
    # a sum of 10,000 logits of 1e4 leaves nothing but its own rounding to a temperature
    assert_same(found, scorer, torch.as_tensor(logits), 0.47, slice(150) if map == "temperature" else slice(None))


@pytest.mark.parametrize("head", HEADS)
def test_the_label_is_the_top_logit_even_where_the_head_saturates(head):
    """Where every probability is 1, or 0, rounding ties them, and a graph that rounds otherwise names another class."""
    for logits in ([[120.0, 300.0, 200.0]], [[-300.0, -120.0, -200.0]]):
        assert Scorer(classes=3, head=HEADS[head]).predict(np.array(logits, np.float32)).label.tolist() == [1]


def test_softmax_keeps_the_digits_of_a_probability_near_one():
    """Which a steep map would show."""
    log_probs = slova.log_softmax(np.array([[20.0, 0.0, 1.0]], np.float32))
    assert log_probs[0, 0] == pytest.approx(-np.log1p(np.exp(-20.0) + np.exp(-19.0)), rel=1e-6)


def test_a_torch_program_answers_like_the_scorer(tmp_path):
    scorer = Scorer(classes=5, map=CALIBRATORS["isotonic"], none_map=NONE_MAP)
    scorer.export(tmp_path / "map.pt2", reject=0.47)
    logits = torch.as_tensor(logits_of(5))
    found = torch.export.load(tmp_path / "map.pt2").module()(logits)
    assert_same({name: value.numpy() for name, value in zip(OUTPUTS, found, strict=True)}, scorer, logits, 0.47)


def test_outputs_are_named_typed_and_of_any_number_of_rows(tmp_path):
    Scorer(classes=3).export(tmp_path / "map.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "map.onnx")
    assert [(one.name, one.shape, one.type) for one in session.get_inputs()] == [
        ("logits", ["batch", 3], "tensor(float)")
    ]
    shapes = {one.name: (one.shape, one.type) for one in session.get_outputs()}
    assert tuple(shapes) == OUTPUTS
    assert shapes.pop("label") == (["batch"], "tensor(int64)")
    assert shapes.pop("log_probs") == (["batch", 3], "tensor(float)")
    assert set(map(str, shapes.values())) == {"(['batch'], 'tensor(float)')"}
    for rows in (1, 7):
        assert len(run(tmp_path / "map.onnx", logits=logits_of(3)[:rows])["label"]) == rows
    keys = {entry.key for entry in onnx.load(tmp_path / "map.onnx").metadata_props}  # no names, no validation
    assert keys == {f"slova.{name}" for name in ("version", "classes", "head", "reject", "opset")}


def test_a_file_says_what_it_is(tmp_path):
    labels = np.arange(600) % 3
    logits = np.random.default_rng(0).normal(-3, 1, (600, 3))
    logits[np.arange(600), labels] += 5
    scorer = Scorer.fit(logits, labels)
    wanted = {"version": slova.__version__, "classes": 3, "head": "slova", "reject": 0.25, "names": ("a", 'b"', "ö")}
    for suffix, opset in ((".onnx", 18), (".pt2", None)):
        path = tmp_path / f"map{suffix}"
        scorer.export(path, reject=0.25, names=wanted["names"])
        found = metadata(path)
        assert {name: getattr(found, name) for name in wanted} == wanted
        assert found.opset == opset
        confidence = scorer.predict(logits).confidence
        assert np.abs(np.histogram(confidence, 100, (0, 1))[0] - found.validation.counts).sum() <= 4
        assert sum(found.validation.hits) == (scorer.predict(logits).label == labels).sum()
        assert b".py" not in path.read_bytes()  # no trace of the code it was made from
    model = onnx.load(tmp_path / "map.onnx")
    assert [entry.version for entry in model.opset_import if entry.domain == ""] == [18]
    assert Metadata.of({entry.key: entry.value for entry in model.metadata_props}) == metadata(tmp_path / "map.onnx")


RIVALS = np.where(np.arange(10_000) == 7, 5.0, np.full((4, 10_000), -8.5)).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "scorer", "logits"),
    [
        (torch.ops.aten.log1p.default, Scorer(classes=3, head=HEADS["softmax"], map=CALIBRATORS["exponential"]), None),
        (torch.ops.aten.cumsum.default, Scorer(classes=10_000), RIVALS),
        (torch.ops.aten.expm1.default, Scorer(classes=3, map=BetaCalibration(0.1, 0.9, -9.0)), None),
    ],
    ids=["log1p", "cumsum", "expm1"],
)
def test_a_graph_that_loses_digits_is_not_written(op, scorer, logits, tmp_path, monkeypatch):
    """What ONNX has of its own for these is what the table of operators is there to replace."""
    monkeypatch.delitem(TABLE, op)
    with pytest.raises(ExportError, match=r"does not answer like this one: in .* rows, such as row"):
        scorer.export(tmp_path / "map.onnx", logits=logits)
    assert list(tmp_path.iterdir()) == []


def test_rows_at_an_edge_are_counted_and_the_largest_difference_among_them_is_told(tmp_path):
    """A step of a map between what a row of logits says and what it says a last digit higher."""
    scorer, logits = Scorer(classes=3, head=HEADS["softmax"], map=CALIBRATORS["histogram"]), logits_of(3)[:150]
    found = [*scorer.predict(logits), scorer(logits).log_probs]
    bounds = Bounds.of(half=False, tolerance=None)
    assert compare(tuple(found), scorer, logits, 0.0, bounds)[:4] == (150, 0, 0.0, 0.0)
    log_probs = slova.log_softmax(logits)
    top = int(np.argmin(np.abs(np.exp(log_probs.max(1)) - 0.8)))
    step = HistogramBinning([float(np.exp(log_probs[top].max())) * (1 + 1e-8)], [0.2, 0.9])
    edge = replace(scorer, map=step)
    found = [*edge.predict(logits), edge(logits).log_probs]
    found[1] = np.where(np.arange(150) == top, 1.1 - found[1], found[1])
    parity = compare(tuple(found), edge, logits, 0.0, bounds)
    assert (parity.edge, parity.confidence, parity.at_edge) == (1, 0.0, pytest.approx(0.7))
    assert str(parity) == "confidence within 0 on 150 rows, 1 of them at an edge within 0.7"
    both = parity.joined(parity._replace(rows=3, edge=0, confidence=1e-6, at_edge=0.0))
    assert both == parity._replace(rows=153, confidence=1e-6)


def test_all_logits_given_are_compared(tmp_path):
    assert Scorer(classes=3).export(tmp_path / "map.pt2", logits=logits_of(3, rows=1000)).rows == 1000


def test_a_file_that_was_there_stays_when_an_export_fails(tmp_path, monkeypatch):
    Scorer(classes=3).export(tmp_path / "map.onnx")
    before = (tmp_path / "map.onnx").read_bytes()
    monkeypatch.setitem(TABLE, torch.ops.aten.log1p.default, lambda self: self)
    with pytest.raises(ExportError):
        Scorer(classes=3).export(tmp_path / "map.onnx")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("map.bin", {}, r"ends in .onnx or .pt2, got .bin"),
        ("map", {}, r"ends in .onnx or .pt2, got no suffix"),
        ("map.onnx", {"names": ["a"]}, "got 1 names for 3 classes"),
        ("map.onnx", {"reject": 1.5}, r"reject must lie in \[0, 1\], got 1.5"),
        ("map.onnx", {"tolerance": 0.0}, r"tolerance must lie in \(0, 1\), got 0.0"),
        ("nowhere/map.onnx", {}, "there is no folder"),
    ],
)
def test_what_cannot_be_is_one_sentence(name, options, error, tmp_path):
    with pytest.raises((ValueError, OSError), match=error):
        Scorer(classes=3).export(tmp_path / name, **options)


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_a_file_that_is_not_ours_is_one_sentence(suffix, tmp_path):
    path = tmp_path / f"map{suffix}"
    with pytest.raises(FileNotFoundError):
        metadata(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ExportError, match="or is damaged"):
        metadata(path)
    if suffix == ".onnx":
        logits = onnx.helper.make_tensor_value_info("logits", 1, [None])
        label = onnx.helper.make_tensor_value_info("label", 1, [None])
        graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["logits"], ["label"])], "g", [logits], [label])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), path)
        with pytest.raises(ExportError, match="was not exported by slova"):
            metadata(path)
    with pytest.raises(ExportError, match="is damaged"):
        Metadata.of({"slova.version": "1", "slova.classes": "three"})
    with pytest.raises(ExportError, match=r"ends in .onnx or .pt2"):
        metadata(__file__)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    for module in ("slova.export.onnx_graph", "slova.export.onnx_operators"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r'needs onnxscript: pip install "slova\[onnx\]"'):
        Scorer(classes=3).export(tmp_path / "map.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "map.onnx").touch()
    with pytest.raises(ImportError, match=r'needs onnxruntime: pip install "slova\[onnx\]"'):
        metadata(tmp_path / "map.onnx")


def test_the_command_writes_a_graph(tmp_path):
    from click.testing import CliRunner

    from slova.cli import main

    Scorer(classes=3).save(tmp_path / "map.slova")
    words = ["export", f"{tmp_path}/map.slova", "-o", f"{tmp_path}/map.onnx", "--reject", "0.5", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tolerance"] == 1e-5
    assert metadata(tmp_path / "map.onnx").reject == 0.5
    failed = CliRunner().invoke(main, [*words, "--risk", "0.1"])
    assert failed.exit_code == 2
    assert failed.stderr == "slova: error: wanted one of --reject, --risk and --coverage, got --reject and --risk\n"


def test_the_command_takes_names_and_threshold_of_a_saved_classifier_unless_told(tmp_path):
    from click.testing import CliRunner

    from slova.cli import main

    classifier = slova.Classifier(torch.nn.Linear(6, 3), Scorer(classes=3), names=["ash", "elm", "oak"], reject=0.7)
    classifier.save(tmp_path / "model.slova")
    words = ["export", f"{tmp_path}/model.slova", "-o", f"{tmp_path}/map.pt2"]
    for more, names, reject in (
        ([], ("ash", "elm", "oak"), 0.7),
        (["--names", "a,b,c", "--reject", "0"], ("a", "b", "c"), 0.0),
    ):
        done = CliRunner().invoke(main, [*words, *more])
        assert done.exit_code == 0, done.output
        found = metadata(tmp_path / "map.pt2")
        assert (found.names, found.reject) == (names, reject)
    said = " ".join(CliRunner().invoke(main, ["export", "--help"]).output.split())
    assert said.count("[a saved classifier's") == 2


def test_reading_what_a_file_says_needs_neither_torch_nor_onnx():
    code = "import sys, slova.export; print(sorted({'torch', 'onnx', 'onnxruntime', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
