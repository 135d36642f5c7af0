"""Risk-coverage curves: the error among predictions above a threshold of confidence, by their share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from slova_bench.figures.drawing import below, beside, finished, groups, keyed, looked, panel, scaled
from slova_bench.frame import NAME, Frame, Name, names, of, total

__all__ = ["curve", "plot"]

TITLES = {False: "clean test set", True: "all shifts and severities"}


def plot(histograms: Frame) -> dict[str, Any]:
    """The clean test set on the left, all shifts and severities together on the right; at most eight methods in a
    row."""
    shifted = histograms["shift"] != ""
    found = {side: _curves(histograms[shifted == side]) for side in TITLES}
    return finished(below((_row(found, group) for group in groups(names(histograms))), own_keys=True))


def curve(histograms: Frame) -> Frame:
    """Coverage and risk at each threshold that accepts something, the highest first."""
    answers, hits, _ = np.cumsum(total(histograms)[:, ::-1], axis=1)
    some = np.flatnonzero(np.diff(answers, prepend=0))
    return pd.DataFrame({"coverage": answers[some] / answers[-1], "risk": 1 - hits[some] / answers[some]})


def _curves(histograms: Frame) -> Frame:
    own = {name: curve(found) for name, found in histograms.groupby(NAME)}
    parts = [one.assign(method=method, variant=variant) for (method, variant), one in own.items()]
    return pd.concat(parts) if parts else pd.DataFrame(columns=[*NAME, "coverage", "risk"])


def _row(found: dict[bool, Frame], group: list[Name]) -> dict[str, Any]:
    panels = []
    for side, title in TITLES.items():
        every = found[side]
        points = looked(of(every, group), group)
        drawn = panel("risk", title, width=400, height=260, points=points, marks=points.iloc[:0])
        panels.append(scaled(drawn, "y", domain=[0, every["risk"].max()], nice=True))
    return keyed(beside(panels), group, columns=4, symbol="stroke")
