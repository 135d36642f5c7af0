"""Where one classifier is better than each of its rivals, where it is not, and where the pictures cannot decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slova.demo.results import Group, Results

__all__ = ["Comparison", "comparisons", "verdicts"]

OURS = "slova"
ERROR = "squared error of the confidence x 100"
CLEAR = 2.0  # standard errors of a paired difference


class Comparison(NamedTuple):
    """A measure of each classifier, one value per picture; larger is better where `up`."""

    title: str
    up: bool
    values: Mapping[str, np.ndarray]

    def verdict(self, rival: str) -> str:
        """better, worse, or unclear: whether the mean of the paired differences is two standard errors from 0."""
        difference = (self.values[OURS] - self.values[rival]) * (1 if self.up else -1)
        error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
        if abs(difference.mean()) <= CLEAR * error:
            return "unclear"
        return "better" if difference.mean() > 0 else "worse"

    def sentence(self, rival: str) -> str:
        ours, theirs = (100 * float(self.values[name].mean()) for name in (OURS, rival))
        return f"{self.title}: {ours:.1f} against {theirs:.1f}"


def comparisons(results: Results, setting: int) -> list[Comparison]:
    """Accuracy, error of the confidence and right answers on digits; answers on pictures that belong to no class; the
    error of the confidence on all pictures, where each answer to one of no class is wrong."""
    names, found = list(results.answers), []
    of = [{name: _per_picture(results, name, group, setting) for name in names} for group in results.groups]
    for group, each in zip(results.groups[:2], of, strict=False):
        found += [
            Comparison(f"{group.title}, right of 100", True, {name: each[name][0] for name in names}),
            Comparison(f"{group.title}, {ERROR}", False, {name: each[name][1] for name in names}),
            Comparison(f"{group.title}, answered and right of 100", True, {n: each[n][0] * each[n][2] for n in names}),
        ]
    for group, each in zip(results.groups[2:], of[2:], strict=True):
        answered = {name: each[name][2] for name in names}
        found.append(Comparison(f"{group.title}, answered of 100 though no class fits", False, answered))
    whole = {name: np.concatenate([each[name][1] for each in of]) for name in names}
    return [*found, Comparison(f"All pictures, {ERROR}", False, whole)]


def _per_picture(results: Results, model: str, group: Group, setting: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the most probable class is right, the squared error of the confidence, and whether it is answered."""
    found = results.answers[model][group.name]
    right = (np.asarray(found.top) == group.labels.numpy()).astype(float)
    return right, (np.asarray(found.confidence) - right) ** 2, results.answered(model, group, setting)[0].astype(float)


def verdicts(results: Results, setting: int) -> dict[str, dict[str, list[str]]]:
    """The comparisons with each rival as sentences, by verdict."""
    found = comparisons(results, setting)
    return {
        rival: {
            verdict: [one.sentence(rival) for one in found if one.verdict(rival) == verdict]
            for verdict in ("better", "unclear", "worse")
        }
        for rival in results.answers
        if rival != OURS
    }
