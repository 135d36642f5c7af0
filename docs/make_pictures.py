"""Draw the picture of the README and of the home page from the library itself: `make docs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from matplotlib import pyplot

import slova
from slova.demo import load, train_all
from slova.demo.results import Group, groups

FOLDER = Path(__file__).parent
COLUMNS, REJECT = 7, 0.8
SHOWN = {"clean": "Digits 0 to 7", "unseen": "8 and 9, never seen", "glyphs": "Letters and shapes", "noise": "Noise"}
ANSWER, REFUSAL, ERROR = "#2f7d4f", "#5b6b7b", "#c0392b"


def refusals() -> pyplot.Figure:
    """The first pictures of each kind, none chosen: what the networks of `slova demo` say at a threshold of .8."""
    torch.set_num_threads(1)
    digits = load()
    return drawn([group for group in groups(digits)[1] if group.name in SHOWN], train_all(digits))


def drawn(kinds: Sequence[Group], models: Mapping[str, slova.Classifier]) -> pyplot.Figure:
    figure, axes = pyplot.subplots(len(kinds), COLUMNS, figsize=(7.4, 6.4))
    figure.subplots_adjust(left=0.13, right=0.99, top=0.95, bottom=0.09, hspace=1.15, wspace=0.35)
    for row, group in zip(axes, kinds, strict=True):
        row[0].set_title(title(group, models), loc="left", x=-0.95, fontsize=9.5)
        for ax, image in zip(row, group.images, strict=False):
            ax.imshow(image[0], cmap="gray_r")
            ax.set(xticks=[], yticks=[])
        for line, name in enumerate(("softmax", "slova")):
            place = {"va": "top", "fontsize": 9}
            answer, height = models[name].predict(group.images[:COLUMNS], reject=REJECT), -0.1 - 0.3 * line
            row[0].text(-0.25, height, name, transform=row[0].transAxes, ha="right", **place)
            for ax, label, confidence, truth in zip(row, answer.label, answer.confidence, group.labels, strict=False):
                said = "NONE" if label == slova.NONE else f"{label} ({confidence:.2f})"
                colour = REFUSAL if label == slova.NONE else ANSWER if label == truth else ERROR
                ax.text(0.5, height, said, transform=ax.transAxes, ha="center", color=colour, **place)
    return figure


def title(group: Group, models: Mapping[str, slova.Classifier]) -> str:
    """How many pictures of a kind each network answers."""
    names = ("softmax", "softmax, same images", "slova")
    shares = [float((models[name].predict(group.images).confidence >= REJECT).float().mean()) for name in names]
    words = "of {}, softmax answers {:.0%}, softmax with degraded images {:.0%}, slova {:.0%}"
    return f"{SHOWN[group.name]}: {words.format(len(group.images), *shares)}"


if __name__ == "__main__":
    refusals().savefig(FOLDER / "refusals.png", dpi=130)
    print(FOLDER / "refusals.png")
