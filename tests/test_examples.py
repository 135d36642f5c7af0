"""Every example runs, is short, ends in a sentence about what came out, and what it claims is so."""

import importlib.util
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def a_guaranteed_risk_is_exceeded_in_at_most_delta_of_the_draws_and_an_observed_one_more_often(names):
    for method in ("softmax", "SLOVA"):
        probs = names["confidences"][method]
        confidence, hits = probs.max(axis=1), probs.argmax(axis=1) == names["labels"]
        exceeded = {
            delta: np.mean([risk > 0.02 for risk, _ in names["draws"](confidence, hits, delta)])
            for delta in (0.05, None)
        }
        assert exceeded[0.05] <= 0.05
        assert exceeded[None] > 0.1


def the_least_confident_digits_are_worth_more_than_random_ones(names):
    gain = names["tables"]["1 - confidence"][:, -1] - names["tables"]["random"][:, -1]
    assert gain.mean() > 0.015
    assert (gain > 0).sum() >= 4


def augmented_digits_are_recognised_degraded_and_outliers_are_not(names):
    (_, degraded, seen), (_, degraded_with, seen_with) = names["table"]
    assert degraded_with > degraded
    assert seen_with > seen


def a_new_last_layer_has_evidence_of_noise_that_two_numbers_do_not_give(names):
    softmax, rescaled, renewed, own = np.mean(names["table"], axis=0)
    assert max(softmax[0], rescaled[0], renewed[0], own[0]) < 0.06  # ECE
    assert renewed[1] > max(softmax[1], rescaled[1]) + 0.05  # AUROC of noise


def the_mean_confidence_in_sets_comes_nearer_to_their_accuracy_and_the_guarantee_holds(names):
    logits, targets = names["logits"][names["test"]], names["targets"][names["test"]].numpy() > 0
    raw, fitted = names["SetScorer"]().predict(logits), names["fitted"].predict(logits)
    right = names["subset_accuracy"](raw.sets, targets)
    assert abs(fitted.confidence.mean() - right) < abs(raw.confidence.mean() - right)
    answered = fitted.confidence >= names["fitted"].threshold(risk=0.1)
    assert names["subset_accuracy"](fitted.sets[answered], targets[answered.numpy()]) >= 0.9


CLAIMS = {
    "selective_prediction": a_guaranteed_risk_is_exceeded_in_at_most_delta_of_the_draws_and_an_observed_one_more_often,
    "active_learning": the_least_confident_digits_are_worth_more_than_random_ones,
    "images_augment": augmented_digits_are_recognised_degraded_and_outliers_are_not,
    "retrofit": a_new_last_layer_has_evidence_of_noise_that_two_numbers_do_not_give,
    "multilabel": the_mean_confidence_in_sets_comes_nearer_to_their_accuracy_and_the_guarantee_holds,
}


SELECTIVE = Path(__file__).parents[1] / "docs" / "selective.md"
BLOCKS = re.findall(r"```text\n(.*?)```", SELECTIVE.read_text(encoding="utf-8"), re.DOTALL)
QUOTED = {"selective_prediction": BLOCKS[:1], "active_learning": BLOCKS[1:]}
NUMBER = re.compile(r"\d+\.?\d*")


def similar(block: str, printed: str) -> bool:
    """Whether the text begins with the block, up to what other processors change: three points or seeds."""
    words, numbers = NUMBER.sub("#", block).split(), [float(one) for one in NUMBER.findall(block)]
    others = [float(one) for one in NUMBER.findall(printed)][: len(numbers)]
    same = NUMBER.sub("#", printed).split()[: len(words)] == words
    return same and max(abs(a - b) for a, b in zip(numbers, others, strict=True)) <= 3


def test_what_an_example_prints_is_compared_by_words_and_numbers():
    assert len(BLOCKS) == 2
    assert similar("labels 30 65\nrandom 71.1%", "labels 30 65\nrandom 72.0%\nAnd so on.")
    assert not similar("labels 30 50\nrandom 71.1%", "labels 30 65\nrandom 71.1%")
    assert not similar("softmax 71.1%", "random 71.1%")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_is_short_runs_and_ends_in_a_sentence_that_is_so(script, capsys):
    """Each of them is run once, in this process: starting another takes longer than most of them."""
    assert len(script.read_text().splitlines()) <= 40
    absent = script.stem == "timm_network" and importlib.util.find_spec("timm") is None
    if absent:
        with pytest.raises(SystemExit):
            runpy.run_path(str(script))
    else:
        CLAIMS.get(script.stem, lambda names: None)(runpy.run_path(str(script)))
    printed = capsys.readouterr().out
    last = printed.strip().splitlines()[-1]
    for block in QUOTED.get(script.stem, []):
        assert similar(block, printed), f"{SELECTIVE.name} shows something else than {script.name} prints"
    assert re.fullmatch(r"(?:[A-Z]|timm ).{40,}\.", last)
    assert last.startswith("timm is not installed here") == absent
