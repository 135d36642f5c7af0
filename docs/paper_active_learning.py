"""The section on active learning of docs/measurements/paper.md, empty as long as there are no rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

TEXT = """
## Active learning

A network of one hidden layer learns CIFAR-10 from {first:,} random images and {rounds} times from {step:,} more, each time from new weights; its inputs are the features of a ResNet-20 that was trained on CIFAR-100, which has other classes. The images are random ones or those of which the network is least sure, by its confidence, by the margin between its two largest probabilities or by its entropy; one-vs-all also by parts of SLOVA's answer. No network is calibrated. {seeds}, 10,000 test images (`python benchmarks/active_learning.py`). Mean accuracy ± standard error, and at {last:,} labels the mean difference from random images, paired by seed:

{table}

**Verdict**: {verdict}
"""  # noqa: E501
OURS, RANDOM = ("ova", "confidence"), "random"
SHOWN = 4  # numbers of labels in the table
NAMES = {"softmax": "softmax", "ova": "one-vs-all"}
CHOICES = {"random": "random", "confidence": "confidence", "largest sigmoid": "largest sigmoid, no SLOVA"}


def section(path: Path) -> str:
    if not path.exists():
        return ""
    found = pd.read_csv(path)
    labels, seeds = sorted(found["labels"].unique()), found["seed"].nunique()
    return TEXT.format(
        first=labels[0],
        rounds=len(labels) - 1,
        step=labels[1] - labels[0],
        last=labels[-1],
        seeds="One seed" if seeds == 1 else f"{seeds} seeds",
        table=table(found),
        verdict=verdict(found),
    )


def table(found: pd.DataFrame) -> str:
    every = sorted(found["labels"].unique())
    labels = [every[i] for i in np.linspace(0, len(every) - 1, min(SHOWN, len(every))).round().astype(int)]
    titles = ("network", "chosen by", *(f"{count:,} labels" for count in labels), "against random")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for (network, chosen), part in found.groupby(["network", "chosen_by"], sort=False):
        own = part.groupby("labels")["accuracy"]
        cells = [f"{own.mean()[count]:.3f} ± {own.sem()[count]:.3f}" for count in labels]
        gain = "" if chosen == RANDOM else _gain(_gaps(found, (network, chosen), (network, RANDOM)))
        lines.append(f"| {NAMES[network]} | {CHOICES.get(chosen, chosen)} | {' | '.join(cells)} | {gain} |")
    return "\n".join(lines)


def _gain(gaps: pd.Series) -> str:
    return f"{gaps.mean():+.3f} ± {gaps.sem():.3f}"


def verdict(found: pd.DataFrame) -> str:
    """By paired t-tests over seeds at the largest number of labels, p < .05."""
    kinds = list(dict.fromkeys(zip(found["network"], found["chosen_by"], strict=True)))
    helps = [kind for kind in kinds if kind[1] != RANDOM and _sign(_gaps(found, kind, (kind[0], RANDOM))) > 0]
    named = "; ".join(f"{NAMES[network]}, {chosen}" for network, chosen in helps) or "no choice"
    theirs = [kind for kind in kinds if kind[0] == "softmax" and kind[1] != RANDOM]
    against = "; ".join(f"{chosen} {_judged(_gaps(found, OURS, (name, chosen)))}" for name, chosen in theirs)
    return (
        f"better than random images: {named} (paired t-tests over seeds at the last number of labels, p < .05 each). "
        f"One-vs-all that chose by SLOVA's confidence, against softmax that chose by its {against}. "
        f"With random images one-vs-all, against softmax, is "
        f"{_judged(_gaps(found, (OURS[0], RANDOM), ('softmax', RANDOM)))}."
    )


def _judged(gaps: pd.Series) -> str:
    word = {1: "more accurate", 0: "not distinguished", -1: "less accurate"}[_sign(gaps)]
    return f"{word} ({_gain(gaps)})"


def _gaps(found: pd.DataFrame, ours: tuple[str, str], theirs: tuple[str, str]) -> pd.Series:
    """The differences in accuracy at the last number of labels, over the seeds that both have."""
    last = found[found["labels"] == found["labels"].max()].set_index(["network", "chosen_by", "seed"])
    accuracy = last["accuracy"].sort_index()
    return (accuracy.loc[ours] - accuracy.loc[theirs]).dropna()


def _sign(gaps: pd.Series) -> int:
    """1 or -1 where the mean differs significantly from zero, else 0."""
    if len(gaps) < 2 or not ttest_1samp(gaps, 0).pvalue < 0.05:
        return 0
    return 1 if gaps.mean() > 0 else -1
