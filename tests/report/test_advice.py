"""The report advises: a verdict in words, thresholds, classes, subgroups, examples of rows and drift."""

import base64
import json
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import nn

import slova
from slova.cli import main
from slova.metrics import Ece, Selection
from slova.report.advice import covered, drift, verdict
from slova.report.details import EXAMPLES, Details, details_of, usage_of
from slova.report.thumbnails import picture_of
from slova.scorer import Scorer
from slova.thresholds import selection_of

CLASSES = 4


def rows(count: int, seed: int, scale: float = 1.0):
    """Calibrated softmax logits, sharpened by `scale`, and labels drawn from them."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, 2, (count, CLASSES))
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (probs.cumsum(1) < generator.random((count, 1))).sum(1)
    return scale * logits, labels


def said(scale: float, count: int = 4000, *, calibrated: bool = False) -> str:
    logits, labels = rows(count, 0, scale)
    found = Scorer(classes=CLASSES, head=slova.heads.SOFTMAX).predict(logits)
    hits = found.top == labels
    state = Ece.binned(found.confidence, hits, 15, "width")
    return verdict(state, Selection.histogram(found.confidence, hits), calibrated=calibrated)[0]


def block(logits, labels):
    from slova.io import Block

    return Block(logits, labels, 1.0)


def page(*arguments: object) -> dict:
    result = CliRunner().invoke(main, ["report", *map(str, arguments), "-o", "-"])
    assert result.exit_code == 0, result.stderr
    return json.loads(re.search(r'id="data">(.*?)</script>', result.stdout, re.S)[1])["panels"][0]


def tables(panel: dict) -> dict[str, list[list[dict]]]:
    return {table["title"]: table["rows"] for table in panel["details"]}


@pytest.mark.parametrize(
    ("scale", "word"), [(1.0, "Calibrated,"), (3.0, "Overconfident by"), (0.4, "Underconfident by")]
)
def test_the_verdict_says_in_which_direction_confidences_are_wrong(scale, word):
    assert said(scale).startswith(word)


def test_the_points_of_the_verdict_are_confidence_minus_accuracy():
    logits, labels = rows(4000, 0, 3.0)
    found = Scorer(classes=CLASSES, head=slova.heads.SOFTMAX).predict(logits)
    points = 100 * (found.confidence.mean() - (found.top == labels).mean())
    assert f"Overconfident by {points:.1f} points" in said(3.0)


def test_the_remedy_depends_on_whether_there_is_a_calibrator():
    assert "slova fit" in said(3.0)
    assert "slova fit" not in said(3.0, calibrated=True)
    assert "rows like these" in said(3.0, calibrated=True)


def test_confidences_that_are_right_only_on_average_are_found():
    hits = np.random.default_rng(0).random(8000) < np.repeat([0.5, 0.9], 4000)
    confidence = np.repeat([0.9, 0.5], 4000)
    state = Ece.binned(confidence, hits, 15, "width")
    assert verdict(state, Selection.histogram(confidence, hits), calibrated=True)[0].startswith("Right on average")


def test_a_threshold_of_the_table_is_the_library_s_with_its_coverage_and_errors():
    generator = np.random.default_rng(0)
    confidence = generator.beta(4, 1, 3000)
    hits = generator.random(3000) < confidence
    threshold, coverage, errors = covered(selection_of(confidence, hits), 0.1)
    kept = confidence >= threshold
    assert coverage == pytest.approx(kept.mean())
    assert errors == pytest.approx(1 - hits[kept].mean())
    assert errors <= 0.1
    assert covered(selection_of(confidence[:20], hits[:20]), 0.005) is None


def test_details_of_blocks_are_those_of_all_rows():
    logits, labels = rows(600, 1)
    groups = {"camera": ["left", "right", "right"] * 200}
    scorer = Scorer(classes=CLASSES)
    whole = details_of(scorer, [block(logits, labels)], groups)
    parts = details_of(scorer, [block(logits[a:b], labels[a:b]) for a, b in ((0, 77), (77, 400), (400, 600))], groups)
    assert {kind: [each for _, each in found] for kind, found in whole.examples.items()} == {
        kind: [each for _, each in found] for kind, found in parts.examples.items()
    }
    for name in ("labels", "right", "confidence"):
        np.testing.assert_allclose(getattr(whole, name), getattr(parts, name))
    assert {key: found.tolist() for key, found in whole.cuts.items()} == {
        key: pytest.approx(found.tolist()) for key, found in parts.cuts.items()
    }


def test_examples_are_the_extreme_rows():
    logits, labels = rows(500, 2)
    found = Scorer(classes=CLASSES).predict(logits)
    details = details_of(Scorer(classes=CLASSES), [block(logits, labels)])
    assert isinstance(details, Details)
    wrong = np.flatnonzero(found.top != labels)
    expected = wrong[np.argsort(-found.confidence[wrong])][:EXAMPLES]
    assert [each.row for _, each in details.examples["Confident and wrong"]] == expected.tolist()
    assert [each.row for _, each in details.examples["Nothing fits"]] == np.argsort(-found.none)[:EXAMPLES].tolist()
    assert [each.row for _, each in details.examples["Several fit"]] == np.argsort(-found.ambiguous)[:EXAMPLES].tolist()


def test_drift_is_what_chance_does_not_explain():
    scorer = Scorer(classes=CLASSES, head=slova.heads.SOFTMAX)
    before, same, other = (usage_of(scorer, [block(rows(2000, *given)[0], None)]) for given in ((1,), (2,), (3, 0.5)))
    assert drift(before, same).startswith("No drift beyond chance")
    assert drift(before, other).startswith("The inputs have drifted")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("advice")
    logits, labels = rows(1500, 0, 2.0)
    np.savez(folder / "test.npz", logits=logits, labels=labels)
    np.save(folder / "before.npy", rows(1500, 5, 0.5)[0])
    sides = np.where(labels == 0, "left", "right")
    (folder / "groups.csv").write_text("camera,label\n" + "".join(f"{side},0\n" for side in sides))
    return folder


def test_the_command_shows_verdict_classes_subgroups_and_drift(files):
    panel = page(
        files / "test.npz", "--head", "softmax", "--before", files / "before.npy", "--groups", files / "groups.csv"
    )
    assert panel["notices"][0].startswith("Overconfident by")
    assert panel["notices"][-1].startswith("The inputs have drifted")
    found = tables(panel)
    assert list(found)[:3] == ["Thresholds for a promised risk", "By class", "By camera"]
    logits, labels = rows(1500, 0, 2.0)
    answers = Scorer(classes=CLASSES, head=slova.heads.SOFTMAX).predict(logits)
    by_side = {row[0]["text"]: [entry["value"] for entry in row[1:]] for row in found["By camera"]}
    assert by_side.keys() == {"left", "right"}
    left = labels == 0
    hits = answers.top == labels
    assert by_side["left"][:3] == pytest.approx(
        [left.sum(), hits[left].mean(), answers.confidence[left].mean()], rel=1e-5
    )
    by_class = {row[0]["text"]: [entry.get("value") for entry in row[1:]] for row in found["By class"]}
    one = labels == 1
    assert by_class["class 1"][:2] == pytest.approx([one.sum(), hits[one].mean()], rel=1e-5)
    assert by_class["class 1"][3] == pytest.approx(hits[answers.top == 1].mean(), rel=1e-5)
    assert {row[0]["text"]: row[1].get("value") for row in found["Drift"]}["Rows"] == 1500


def test_groups_of_another_length_are_refused(files, tmp_path):
    (tmp_path / "short.csv").write_text("camera\nleft\n")
    command = [
        "report",
        str(files / "test.npz"),
        "--head",
        "softmax",
        "--groups",
        str(tmp_path / "short.csv"),
        "-o",
        "-",
    ]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert "'camera' of groups has 1 values for 1500 or more rows" in result.stderr


def test_a_thumbnail_is_a_png_of_the_image():
    image = torch.zeros(2, 1, 4, 4)
    image[1, 0, 2, 3] = 1
    address = picture_of(image, 1)
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    lines = zlib.decompress(re.search(rb"IDAT(.*).{4}\x00\x00\x00\x00IEND", content, re.S)[1])
    assert np.frombuffer(lines, np.uint8).reshape(4, 5)[:, 1:].tolist() == (255 * image[1, 0]).int().tolist()
    assert picture_of(torch.zeros(3, 8), 0) is None


def test_one_call_of_a_classifier_shows_images_names_and_unknown_inputs(tmp_path):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(90, 1, 8, 8, generator=generator)
    labels = torch.arange(90) % 3
    images[torch.arange(90), 0, labels, labels] = 3 * torch.rand(90, generator=generator).clamp(max=1 / 3)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    classifier = slova.Classifier.fit(network, images, labels, names=["ash", "elm", "oak"], head="slova")
    path = classifier.report(
        images[:50], labels[:50], tmp_path / "page.html",
        ood=torch.rand(40, 1, 8, 8), before=images[50:], groups={"half": [0] * 25 + [1] * 25},
    )  # fmt: skip
    panel = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.S)[1])["panels"][0]
    found = tables(panel)
    assert {row[0]["text"] for row in found["By class"]} == {"ash", "elm", "oak"}
    assert {row[0]["text"] for row in found["By half"]} == {"0", "1"}
    assert "Drift" in found
    assert [row[0]["text"] for row in panel["summary"][1]["rows"]] == ["out-of-distribution"] * 2
    assert found["Several fit"][0][0]["image"].startswith("data:image/png;base64,")


def test_a_report_names_the_extra_that_is_missing():
    code = """
import sys
sys.modules["altair"] = None
try:
    import slova.report.arrays
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == 'a report needs altair: pip install "slova[report]"'
