"""What three classifiers say of five groups of pictures: answers, thresholds for promised risks, shares, sentences.

A threshold for a risk r is set in two ways. At face value, a classifier answers where its confidence is at least 1 - r;
where confidences are calibrated, at most r of the answers is wrong. Guaranteed, the threshold is chosen on labelled
pictures, the same ones for all classifiers. No training and no fit has seen the pictures, and the numbers are about
those that chose no threshold. An answer to a picture that
is no digit from 0 to 7 counts as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from slova._validation import NONE_INDEX
from slova.classifier import Classifier
from slova.demo.digits import STRENGTHS, Digits, glyphs, noise, shifted
from slova.metrics import Selection
from slova.prediction import Prediction
from slova.thresholds import selection_of, threshold_for

__all__ = ["EXAMPLES", "PROMISE", "RISKS", "ROWS", "SETTINGS", "Group", "Results", "groups", "measure", "table"]

RISKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
PROMISE = 3  # the place of the setting that is shown first
SETTINGS = [(way, risk) for way in ("face value", "guaranteed") for risk in RISKS]
EXAMPLES = 6  # pictures per group, the first ones
ROWS = {"clean": 180, "shifted": 100, "unseen": 60, "glyphs": 60, "noise": 60}  # that choose thresholds
TITLES = {
    "clean": "Digits 0 to 7",
    "shifted": "Shifted digits",
    "unseen": "Digits 8 and 9",
    "glyphs": "Letters and shapes",
    "noise": "Noise",
}
TENTHS = [tenths / 1000 for tenths in range(1, 1001)]  # of a percent


class Group(NamedTuple):
    """Pictures of one kind with their labels, NONE for those that belong to no class."""

    name: str
    title: str
    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Results:
    """Every number of the demo.

    answers: per classifier and group, the prediction of each picture without a threshold.
    thresholds: per classifier and setting, None where this risk cannot be guaranteed; `least` can be guaranteed.
    """

    groups: Sequence[Group]
    strengths: Sequence[Group]
    answers: Mapping[str, Mapping[str, Prediction]]
    thresholds: Mapping[str, Sequence[float | None]]
    least: Mapping[str, float]
    chosen_on: int

    def shares(self, model: str, group: Group, setting: int) -> tuple[float, float]:
        """The shares of the pictures of a group that are answered, and that are answered wrongly."""
        answered, wrong = self.answered(model, group, setting)
        return float(answered.mean()), float(wrong.mean())

    def risk(self, model: str, setting: int) -> tuple[float, float]:
        """Of the mix that the thresholds were chosen for: the share that is answered, and of these the wrong ones."""
        parts = [(ROWS[group.name], *self.shares(model, group, setting)) for group in self.groups]
        rows, answered, wrong = (sum(column) for column in zip(*((n, n * a, n * w) for n, a, w in parts), strict=True))
        return answered / rows, wrong / answered if answered else 0.0

    def answered(self, model: str, group: Group, setting: int) -> tuple[np.ndarray, np.ndarray]:
        """Per picture: whether it is answered, and whether that answer is wrong."""
        found, threshold = self.answers[model][group.name], self.thresholds[model][setting]
        answered = np.asarray(found.confidence) >= (np.inf if threshold is None else threshold)
        return answered, answered & (np.asarray(found.top) != group.labels.numpy())


def groups(digits: Digits) -> tuple[list[Group], list[Group], list[Group]]:
    """The pictures that choose thresholds and the other ones, in five groups, and the latter digits at each strength of
    the shift. A digit is in one of them only."""
    images, labels = digits.test
    versions = torch.stack([shifted(images, strength) for strength in range(STRENGTHS)])
    rows = torch.arange(len(images))
    cuts = [ROWS["clean"], ROWS["clean"] + ROWS["shifted"]]
    for_clean, for_shifted, rest = rows.tensor_split(cuts)
    moved = versions[1 + rows % (STRENGTHS - 1), rows]
    unknown = {"unseen": digits.unseen, "glyphs": glyphs(), "noise": noise()}
    mix = [_known("clean", images, labels, for_clean), _known("shifted", moved, labels, for_shifted)]
    mix += [_none(name, part[: ROWS[name]]) for name, part in unknown.items()]
    test = [_known("clean", images, labels, rest), _known("shifted", moved, labels, rest)]
    test += [_none(name, part[ROWS[name] :]) for name, part in unknown.items()]
    levels = [Group(f"shift {i}", f"strength {i}", versions[i, rest], labels[rest]) for i in range(STRENGTHS)]
    return mix, test, levels


def _known(name: str, images: Tensor, labels: Tensor, rows: Tensor) -> Group:
    return Group(name, TITLES[name], images[rows], labels[rows])


def _none(name: str, images: Tensor) -> Group:
    return Group(name, TITLES[name], images, torch.full((len(images),), NONE_INDEX))


def measure(classifiers: Mapping[str, Classifier], digits: Digits) -> Results:
    """Choose the thresholds on some pictures, and answer the others."""
    mix, test, levels = groups(digits)
    images, labels = torch.cat([group.images for group in mix]), torch.cat([group.labels for group in mix])
    answers = {
        name: {group.name: model.predict(group.images, progress=False) for group in [*test, *levels]}
        for name, model in classifiers.items()
    }
    found = {name: model.predict(images, progress=False) for name, model in classifiers.items()}
    chosen = {name: selection_of(one.confidence, one.top == labels) for name, one in found.items()}
    thresholds = {
        name: [1 - risk if way == "face value" else _threshold(one, risk) for way, risk in SETTINGS]
        for name, one in chosen.items()
    }
    least = {name: min(risk for risk in TENTHS if _threshold(one, risk) is not None) for name, one in chosen.items()}
    return Results(test, levels, answers, thresholds, least, len(images))


def _threshold(chosen: Selection, risk: float) -> float | None:
    try:
        return threshold_for(chosen, risk=risk)
    except ValueError:  # too few pictures for this guarantee
        return None


def table(results: Results, setting: int = PROMISE) -> list[list[str]]:
    """Rows of text: per group, how many pictures each classifier answers, and how many of these answers are wrong."""
    rows = [["Of 100: answered (wrong)", *results.answers]]
    for group in [*results.groups[:1], *results.strengths[1:], *results.groups[2:]]:
        title = f"Shifted digits, {group.title}" if group in results.strengths else group.title
        rows.append([title, *(_said(*results.shares(name, group, setting)) for name in results.answers)])
    rows.append(["All pictures, wrong of 100 answers", *_wrong(results, setting)])
    guaranteed = len(RISKS) + setting % len(RISKS)
    shares = {name: results.shares(name, results.groups[0], guaranteed) for name in results.answers}
    found = {name: results.thresholds[name][guaranteed] is not None for name in shares}
    rows.append(["Guaranteed threshold: digits 0 to 7", *(_said(*shares[n]) if found[n] else "–" for n in shares)])
    rows.append(["Guaranteed threshold: wrong of 100 answers", *_wrong(results, guaranteed)])
    return [*rows, ["The least wrong of 100 that it can guarantee", *(f"{100 * results.least[n]:.1f}" for n in shares)]]


def _wrong(results: Results, setting: int) -> list[str]:
    shares = [results.risk(name, setting) for name in results.answers]
    return [f"{100 * wrong:.1f}" if answered else "–" for answered, wrong in shares]


def _said(answered: float, wrong: float) -> str:
    return f"{100 * answered:.0f} ({100 * wrong:.0f})"
