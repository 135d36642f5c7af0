"""Where one classifier is better than its rivals, where it is not, and where the pictures cannot decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from slova.demo.results import Group, Results

__all__ = ["Comparison", "comparisons", "verdicts"]

OURS = "slova"
CLEAR = 2.0  # standard errors of a paired difference


class Comparison(NamedTuple):
    """A measure of each classifier, one value per picture; larger is better where `up`."""

    title: str
    up: bool
    values: Mapping[str, np.ndarray]

    @property
    def rival(self) -> str:
        """The best of the rivals."""
        means = {name: float(each.mean()) for name, each in self.values.items() if name != OURS}
        return max(means, key=lambda name: means[name] if self.up else -means[name])

    @property
    def verdict(self) -> str:
        """better, worse, or unclear: whether the mean of the paired differences is two standard errors from 0."""
        difference = (self.values[OURS] - self.values[self.rival]) * (1 if self.up else -1)
        error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
        if abs(difference.mean()) <= CLEAR * error:
            return "unclear"
        return "better" if difference.mean() > 0 else "worse"

    def __str__(self) -> str:
        ours, theirs = (100 * float(self.values[name].mean()) for name in (OURS, self.rival))
        return f"{self.title}: {ours:.1f} against {theirs:.1f} ({self.rival})"


def comparisons(results: Results, setting: int) -> list[Comparison]:
    """Accuracy, error of the confidence and answers on digits; answers on pictures that belong to no class."""
    names, found = list(results.answers), []
    for group in results.groups[:2]:
        of = {name: _per_picture(results, name, group, setting) for name in names}
        found += [
            Comparison(f"{group.title}, right of 100", True, {name: of[name][0] for name in names}),
            Comparison(f"{group.title}, squared error of the confidence x 100", False, {n: of[n][1] for n in names}),
            Comparison(f"{group.title}, answered of 100", True, {name: of[name][2] for name in names}),
        ]
    for group in results.groups[2:]:
        answered = {name: _per_picture(results, name, group, setting)[2] for name in names}
        found.append(Comparison(f"{group.title}, answered of 100 though no class fits", False, answered))
    return found


def _per_picture(results: Results, model: str, group: Group, setting: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the most probable class is right, the squared error of the confidence, and whether it is answered."""
    found = results.answers[model][group.name]
    right = (np.asarray(found.top) == group.labels.numpy()).astype(float)
    return right, (np.asarray(found.confidence) - right) ** 2, results.answered(model, group, setting)[0].astype(float)


def verdicts(results: Results, setting: int) -> dict[str, list[str]]:
    """The comparisons as sentences, by verdict."""
    told: dict[str, list[str]] = {"better": [], "unclear": [], "worse": []}
    for each in comparisons(results, setting):
        told[each.verdict].append(str(each))
    return told
