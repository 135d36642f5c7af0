"""The section on active learning of docs/measurements/paper.md, empty as long as there are no rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import ttest_1samp

TEXT = """
## Active learning

A network of one hidden layer learns CIFAR-10 from {first:,} random images and {rounds} times from {step:,} more, each time from new weights; its inputs are the features of a ResNet-20 that was trained on CIFAR-100, which has other classes. The images are random ones or those of which the network is least sure; calibration changes no order of one-vs-all confidences. {seeds}, 10,000 test images (`python benchmarks/active_learning.py`). Mean accuracy ± standard error, and at {last:,} labels the mean difference from random images, paired by seed:

{table}

**Verdict**: {verdict}
"""  # noqa: E501
SOFTMAX, OURS = ("softmax", "confidence"), ("ova", "confidence")
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
    labels = sorted(found["labels"].unique())
    titles = ("network", "chosen by", *(f"{count:,} labels" for count in labels), "against random")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for (network, chosen), part in found.groupby(["network", "chosen_by"], sort=False):
        every = part.groupby("labels")["accuracy"]
        cells = [f"{every.mean()[count]:.3f} ± {every.sem()[count]:.3f}" for count in labels]
        gain = "" if chosen == "random" else _gain(_gaps(found, (network, chosen), (network, "random")))
        lines.append(f"| {NAMES[network]} | {CHOICES.get(chosen, chosen)} | {' | '.join(cells)} | {gain} |")
    return "\n".join(lines)


def _gain(gaps: pd.Series) -> str:
    return f"{gaps.mean():+.3f} ± {gaps.sem():.3f}"


def verdict(found: pd.DataFrame) -> str:
    """By paired t-tests over seeds at the largest number of labels, p < .05."""
    kinds = list(dict.fromkeys(zip(found["network"], found["chosen_by"], strict=True)))
    helps = [kind for kind in kinds if kind[1] != "random" and _sign(_gaps(found, kind, (kind[0], "random"))) > 0]
    named = "; ".join(f"{NAMES[network]}, {chosen}" for network, chosen in helps) or "no choice"
    gaps = _gaps(found, OURS, SOFTMAX)
    words = {1: "is more accurate", 0: "cannot be distinguished", -1: "is less accurate"}[_sign(gaps)]
    joint = "from" if _sign(gaps) == 0 else "than"
    return (
        f"better than random images: {named} (paired t-tests over seeds at the last number of labels, p < .05 each). "
        f"A network that chose by SLOVA's confidence {words} {joint} a softmax network that chose by its own "
        f"({_gain(gaps)})."
    )


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
