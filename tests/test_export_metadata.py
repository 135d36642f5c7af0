"""The metadata of exported files, and the command that writes them."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from click.testing import CliRunner

import slova
from slova import Scorer
from slova.cli import main
from slova.export import ExportError, Metadata, Validation, metadata


def test_metadata_describe_the_scorer(tmp_path):
    labels = np.arange(600) % 3
    logits = np.random.default_rng(0).normal(-3, 1, (600, 3))
    logits[np.arange(600), labels] += 5
    scorer = Scorer.fit(logits, labels)
    expected = {"version": slova.__version__, "classes": 3, "head": "slova", "reject": 0.25, "names": ("a", 'b"', "ö")}
    for suffix, opset in ((".onnx", 18), (".pt2", None)):
        path = tmp_path / f"scorer{suffix}"
        scorer.export(path, reject=0.25, names=expected["names"])
        found = metadata(path)
        assert {name: getattr(found, name) for name in expected} == expected
        assert found.opset == opset
        assert found.validation == Validation.of(scorer.validation)
        assert sum(found.validation.counts) == 600
        assert b".py" not in path.read_bytes()  # no paths of source files
    model = onnx.load(tmp_path / "scorer.onnx")
    assert [entry.version for entry in model.opset_import if entry.domain == ""] == [18]
    assert Metadata.of({entry.key: entry.value for entry in model.metadata_props}) == metadata(tmp_path / "scorer.onnx")


@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_other_files_are_errors(suffix, tmp_path):
    path = tmp_path / f"scorer{suffix}"
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
    with pytest.raises(ExportError, match=r"must end in .onnx or .pt2"):
        metadata(__file__)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "slova.export.scorer_graph", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r'needs onnxruntime: pip install "slova\[onnx\]"'):
        Scorer(classes=3).export(tmp_path / "scorer.onnx")
    (tmp_path / "scorer.onnx").touch()
    with pytest.raises(ImportError, match=r'needs onnxruntime: pip install "slova\[onnx\]"'):
        metadata(tmp_path / "scorer.onnx")


def test_the_command_writes_a_graph(tmp_path):
    Scorer(classes=3).save(tmp_path / "scorer.slova")
    words = ["export", f"{tmp_path}/scorer.slova", "-o", f"{tmp_path}/scorer.onnx", "--reject", "0.5", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tolerance"] == 1e-5
    assert metadata(tmp_path / "scorer.onnx").reject == 0.5
    failed = CliRunner().invoke(main, [*words, "--risk", "0.1"])
    assert failed.exit_code == 2
    assert (
        failed.stderr == "slova: error: give at most one of --reject, --risk and --coverage, got --reject and --risk\n"
    )


def test_the_command_uses_names_and_threshold_of_a_saved_classifier_by_default(tmp_path):
    classifier = slova.Classifier(torch.nn.Linear(6, 3), Scorer(classes=3), names=["ash", "elm", "oak"], reject=0.7)
    classifier.save(tmp_path / "model.slova")
    words = ["export", f"{tmp_path}/model.slova", "-o", f"{tmp_path}/scorer.onnx"]
    for more, names, reject in (
        ([], ("ash", "elm", "oak"), 0.7),
        (["--names", "a,b,c", "--reject", "0"], ("a", "b", "c"), 0.0),
    ):
        done = CliRunner().invoke(main, [*words, *more])
        assert done.exit_code == 0, done.output
        found = metadata(tmp_path / "scorer.onnx")
        assert (found.names, found.reject) == (names, reject)
    shown = " ".join(CliRunner().invoke(main, ["export", "--help"]).output.split())
    assert shown.count("a saved classifier") >= 2


def test_importing_the_package_imports_neither_torch_nor_onnx():
    code = "import sys, slova.export; print(sorted({'torch', 'onnx', 'onnxruntime', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
