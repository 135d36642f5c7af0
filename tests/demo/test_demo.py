"""`slova demo`: pictures are what they are said to be, numbers follow from answers, and the page shows them."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from click.testing import CliRunner

pytest.importorskip("sklearn")

from slova.cli import main
from slova.demo import digits as pictures
from slova.demo import training
from slova.demo.page import COMMANDS, page
from slova.demo.results import EXAMPLES, PROMISE, RISKS, ROWS, SETTINGS, groups, measure, table
from slova.demo.verdict import Comparison, verdicts

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def run():
    """A short training: the classifiers, and the results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "STEPS", 40)
        torch.set_num_threads(1)
        digits = pictures.load()
        classifiers = training.train_all(digits)
    return classifiers, measure(classifiers, digits)


@pytest.fixture(scope="module")
def results(run):
    return run[1]


def test_shifts_begin_with_the_picture_itself_and_become_stronger():
    images = pictures.load().test[0][:40]
    distances = [float((pictures.shifted(images, strength) - images).abs().mean()) for strength in range(6)]
    assert distances[0] == 0
    assert distances == sorted(distances)


def test_all_pictures_are_images_in_the_unit_range():
    for images in (pictures.load().training[0], pictures.glyphs(), pictures.noise(), *_versions()):
        assert images.shape[1:] == (1, 16, 16)
        assert images.min() >= 0
        assert images.max() <= 1


def _versions():
    return [pictures.shifted(pictures.load().test[0], strength) for strength in range(pictures.STRENGTHS)]


def test_no_digit_is_in_two_parts():
    digits = pictures.load()
    mix, test, levels = groups(digits)
    parts = [digits.training[0], digits.validation[0], mix[0].images, test[0].images, mix[2].images, test[2].images]
    rows = [image.numpy().tobytes() for part in parts for image in part]
    assert len(rows) == len(set(rows))
    assert [len(group.images) for group in mix] == list(ROWS.values())
    assert torch.equal(levels[0].images, test[0].images)


def test_shares_follow_from_predictions_with_the_threshold(run):
    classifiers, results = run
    for name, classifier in classifiers.items():
        for group in results.groups:
            found = classifier.predict(group.images, reject=results.thresholds[name][PROMISE])
            answered = np.asarray(found.label) >= 0
            wrong = answered & (np.asarray(found.label) != group.labels.numpy())
            assert results.shares(name, group, PROMISE) == (answered.mean(), wrong.mean())


def test_the_risk_of_the_mix_weighs_groups_as_the_thresholds_did(results):
    answered, risk = results.risk("softmax", PROMISE)
    shares = np.array([results.shares("softmax", group, PROMISE) for group in results.groups])
    rows = np.array([ROWS[group.name] for group in results.groups])
    assert answered == pytest.approx(rows @ shares[:, 0] / rows.sum())
    assert risk == pytest.approx(rows @ shares[:, 1] / (rows @ shares[:, 0]))


def test_thresholds_are_one_minus_the_risk_or_guaranteed(results):
    for name, thresholds in results.thresholds.items():
        assert thresholds[: len(RISKS)] == [1 - risk for risk in RISKS]
        possible = [risk >= results.least[name] for risk in RISKS]
        assert [threshold is not None for threshold in thresholds[len(RISKS) :]] == possible
        assert results.shares(name, results.groups[0], len(RISKS)) == (0, 0) or possible[0]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [([1.0, 1, 1, 1, 0.9], "better"), ([0.0, 0, 0.1, 0, 0], "worse"), ([0.6, 0.5, 0.4, 0.7, 0.3], "unclear")],
)
def test_a_verdict_is_computed_from_paired_differences(ours, verdict):
    values = {"slova": np.array(ours), "first": np.full(5, 0.5), "second": np.full(5, 0.4)}
    found = Comparison("right", True, values)
    assert found.verdict("first") == verdict
    opposite = {"better": "worse", "worse": "better", "unclear": "unclear"}[verdict]
    assert Comparison("wrong", False, values).verdict("first") == opposite
    assert found.sentence("second") == f"right: {100 * np.mean(ours):.1f} against 40.0"


def test_the_table_has_both_ways_to_set_a_threshold(results):
    found = {row[0]: row[1:] for row in table(results)}
    for title, setting in (("All pictures", PROMISE), ("Guaranteed threshold:", len(RISKS) + PROMISE)):
        shares = [results.risk(name, setting) for name in results.answers]
        expected = [f"{100 * wrong:.1f}" if answered else "–" for answered, wrong in shares]
        assert found[f"{title}{',' if title == 'All pictures' else ''} wrong of 100 answers"] == expected
    nothing = replace(results, thresholds={name: [None] * len(SETTINGS) for name in results.answers})
    assert [row[1:] for row in table(nothing)[-3:-1]] == [["–"] * len(results.answers)] * 2
    assert table(nothing)[-1][1:] == [f"{100 * least:.1f}" for least in results.least.values()]


def test_the_command_prints_the_table_the_verdicts_and_what_to_try_next(tmp_path, monkeypatch, run):
    monkeypatch.setattr("slova.demo.train_all", lambda digits, report: run[0])
    result = CliRunner().invoke(main, ["demo", "-o", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert [line for line in result.stdout.splitlines() if line.startswith("Noise")]
    for rival, found in verdicts(run[1], PROMISE).items():
        _, _, said = result.stdout.partition(f"\nAgainst {rival}:\n")
        assert all(f"    {sentence}\n" in said for sentences in found.values() for sentence in sentences)
    assert [command for command in COMMANDS if command not in result.stdout] == []
    assert (tmp_path / "page.html").read_text() == page(run[1])


def test_the_command_names_the_extra_that_is_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "slova.demo")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 2
    assert 'pip install "slova[sklearn]"' in result.stderr


def test_what_the_demo_recommends_exists():
    for command in COMMANDS:
        name, *words = command.split()[1:]
        help_text = CliRunner().invoke(main, [name, "--help"]).stdout
        assert [word for word in words if word.startswith("--") and word not in help_text] == []


@pytest.fixture(scope="module")
def path(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page(results), encoding="utf-8")
    return path


@pytest.fixture
def shown(blank, path):
    """The page as it is when it was just opened."""
    blank.goto(f"file://{path}")
    return blank


def cells(shown, table: str, group: str) -> list[list[float]]:
    """The numbers in the entries of a row, one list per network."""
    texts = shown.locator(f"#{table} tr[data-group='{group}'] td").all_inner_texts()
    return [[float(number) for number in re.findall(r"[\d.]+", text)] for text in texts]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_silent_fits_and_loads_nothing(shown, width):
    shown.set_viewport_size({"width": width, "height": 900})
    assert shown.locator(".card canvas").count() == 3 + 5 * EXAMPLES
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    assert shown.said == []
    assert [url for url in shown.asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("setting", [0, PROMISE, len(RISKS) - 1, len(RISKS), len(SETTINGS) - 1])
def test_the_tables_of_the_page_are_python_s_at_each_risk(shown, results, setting):
    shown.locator(f"input[name=way][value='{setting // len(RISKS)}']").check()
    shown.locator("#risk").fill(str(setting % len(RISKS)))
    for group in (results.groups[0], results.groups[2], results.groups[3], results.groups[4]):
        expected = [[100 * share for share in results.shares(name, group, setting)] for name in results.answers]
        assert np.array(cells(shown, "shares", group.name)) == pytest.approx(np.array(expected), abs=0.051)
    risks = [100 * results.risk(name, setting)[1] for name in results.answers if results.risk(name, setting)[0]]
    assert [found[0] for found in cells(shown, "shares", "mix") if found] == pytest.approx(risks, abs=0.051)


@pytest.mark.parametrize("strength", [0, 5])
def test_the_strength_slider_shows_these_digits(shown, results, strength):
    shown.locator("#strength").fill(str(strength))
    group = results.strengths[strength]
    expected = [[100 * share for share in results.shares(name, group, PROMISE)] for name in results.answers]
    assert np.array(cells(shown, "shares", group.name)) == pytest.approx(np.array(expected), abs=0.051)
    means = [100 * float(results.answers[name][group.name].confidence.mean()) for name in results.answers]
    assert [found[0] for found in cells(shown, "confidences", group.name)] == pytest.approx(means, abs=0.051)


def test_each_picture_has_the_answer_of_predict_and_the_reason(shown, run):
    classifiers, results = run
    shown.locator("#risk").fill("4")
    for group in (results.groups[0], *results.groups[2:]):
        for name, classifier in classifiers.items():
            found = classifier.predict(group.images[:EXAMPLES], reject=results.thresholds[name][4])
            expected = [_said(*row) for row in zip(found.label, found.none, found.ambiguous, strict=True)]
            answers = shown.locator(f"#cards-{group.name} .answer[data-model='{name}'] .what").all_inner_texts()
            assert [text.split()[0] for text in answers] == [label for label, _ in expected]
            assert all(why in text for text, (_, why) in zip(answers, expected, strict=True))


def _said(label, none, ambiguous) -> tuple[str, str]:
    if label >= 0:
        return str(int(label)), "confidence"
    return "NONE", "nothing fits" if none > ambiguous else "several fit"


def test_the_verdicts_of_the_page_are_those_of_the_run(shown, results):
    for rival, found in verdicts(results, PROMISE).items():
        for name, expected in found.items():
            lines = shown.locator(f'[data-rival="{rival}"] [data-verdict={name}] li')
            assert lines.all_inner_texts() == expected


def test_the_data_of_the_page_are_small(results):
    html = page(results)
    assert len(html.encode()) < 400_000
    assert json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])["risks"] == list(RISKS)
