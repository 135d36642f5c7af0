"""A file is written only if it agrees with the classifier: rounding is tolerated, lost digits are not."""

from dataclasses import replace

import numpy as np
import pytest

import slova
from slova import BetaCalibration, ExponentialCalibration, HistogramBinning, Scorer
from slova.export import ExportError, onnx_operators
from slova.export.onnx_operators import op
from slova.export.parity import Bounds, compare
from slova.export.scorer import random_inputs
from slova.heads import HEADS

RIVALS = np.where(np.arange(10_000) == 7, 5.0, np.full((4, 10_000), -8.5)).astype(np.float32)
STEEP = ExponentialCalibration([0.4, 1.5, 4e3], [0.5, 0.3, 0.1])


def inaccurate_log1p(x):
    return op.Log(x + 1.0)


def inaccurate_expm1(x):
    return op.Exp(x) - 1.0


@pytest.mark.parametrize(
    ("target", "name", "inaccurate", "scorer", "logits"),
    [
        (onnx_operators, "log1p", inaccurate_log1p, Scorer(classes=3, head=HEADS["softmax"], calibrator=STEEP), None),
        (
            onnx_operators,
            "expm1",
            inaccurate_expm1,
            Scorer(classes=3, calibrator=BetaCalibration(0.1, 0.9, -9.0)),
            None,
        ),
    ],
    ids=["log1p", "expm1"],
)
def test_a_graph_that_loses_digits_is_not_written(target, name, inaccurate, scorer, logits, tmp_path, monkeypatch):
    """The operators of ONNX are not accurate enough, which is why there are formulas of our own."""
    monkeypatch.setattr(target, name, inaccurate)
    with pytest.raises(ExportError, match=r"disagrees with the original: in .* rows, such as row"):
        scorer.export(tmp_path / "scorer.onnx", logits=logits)
    assert list(tmp_path.iterdir()) == []


def test_rows_at_an_edge_are_counted_with_their_largest_difference():
    """A step of a calibrator lies between a probability and the next larger one."""
    histogram = HistogramBinning([0.01, 0.1, 0.35, 0.8, 0.99], [0.0, 0.05, 0.2, 0.5, 0.9, 1.0])
    scorer = Scorer(classes=3, head=HEADS["softmax"], calibrator=histogram)
    logits = random_inputs(scorer)[::2]
    found = [*scorer.predict(logits), scorer(logits).log_probs]
    bounds = Bounds.of(half=False, tolerance=None)
    assert compare(tuple(found), scorer, logits, 0.0, bounds)[:4] == (32, 0, 0.0, 0.0)
    log_probs = slova.log_softmax(logits)
    top = int(np.argmin(np.abs(np.exp(log_probs.max(1)) - 0.8)))
    step = HistogramBinning([float(np.exp(log_probs[top].max())) * (1 + 1e-8)], [0.2, 0.9])
    edge = replace(scorer, calibrator=step)
    found = [*edge.predict(logits), edge(logits).log_probs]
    found[1] = np.where(np.arange(32) == top, np.where(found[1] > 0.5, 1 / 3, 0.9), found[1])
    parity = compare(tuple(found), edge, logits, 0.0, bounds)
    assert (parity.edge, parity.confidence, parity.at_edge) == (1, 0.0, pytest.approx(0.9 - 1 / 3))
    assert str(parity) == "confidence within 0 on 32 rows, 1 of them at an edge within 0.6"
    both = parity.joined(parity._replace(rows=3, edge=0, confidence=1e-6, at_edge=0.0))
    assert both == parity._replace(rows=35, confidence=1e-6)


def test_all_logits_given_are_compared(tmp_path):
    assert (
        Scorer(classes=3)
        .export(tmp_path / "scorer.onnx", logits=np.tile(random_inputs(Scorer(classes=3)), (10, 1)))
        .rows
        == 640
    )


def test_an_existing_file_is_kept_when_an_export_fails(tmp_path, monkeypatch):
    Scorer(classes=3).export(tmp_path / "scorer.onnx")
    before = (tmp_path / "scorer.onnx").read_bytes()
    monkeypatch.setattr(onnx_operators, "log1p", lambda x: x)
    with pytest.raises(ExportError):
        Scorer(classes=3).export(tmp_path / "scorer.onnx")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("scorer.bin", {}, r"must end in .onnx or .pt2, got .bin"),
        ("scorer", {}, r"must end in .onnx or .pt2, got no suffix"),
        ("scorer.onnx", {"names": ["a"]}, "got 1 names for 3 classes"),
        ("scorer.onnx", {"names": ["a", "b", "b"]}, "names must differ, 'b' occurs twice"),
        ("scorer.onnx", {"reject": 1.5}, r"reject must lie in \[0, 1\], got 1.5"),
        ("scorer.onnx", {"tolerance": 0.0}, r"tolerance must lie in \(0, 1\), got 0.0"),
        ("nowhere/scorer.onnx", {}, "there is no folder"),
    ],
)
def test_invalid_arguments_are_errors(name, options, error, tmp_path):
    with pytest.raises((ValueError, OSError), match=error):
        Scorer(classes=3).export(tmp_path / name, **options)
