"""Draw the pictures of the README and of the home page from the library itself: `make docs`."""

from __future__ import annotations

from pathlib import Path

import torch
from matplotlib import pyplot
from sklearn.datasets import load_digits
from slova_bench.figures import confidence_map, save
from torch import Tensor, nn

import slova

FOLDER = Path(__file__).parent
COLUMNS = 7
ANSWER, REFUSAL, ERROR = "#2f7d4f", "#5b6b7b", "#c0392b"


def refusals() -> pyplot.Figure:
    """The first pictures of each kind, none chosen: what softmax with a temperature and slova say at a threshold of .8.

    Both networks have one architecture, the same 700 training images of the digits 0 to 7 and 400 validation images.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    pixels, digits = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    pictures, known = pixels.float().reshape(-1, 1, 8, 8) / 16, digits < 8
    images, labels = pictures[known], digits[known]
    train, val, test = torch.randperm(len(labels)).split([700, 400, len(labels) - 1100])
    softmax = trained(nn.CrossEntropyLoss(), images[train], labels[train], outliers=False)
    ova = trained(slova.ova_loss, images[train], labels[train], outliers=True)
    none = slova.add_outliers(images[val], labels[val])[0][len(val) :]
    models = {
        "softmax": slova.Classifier.fit(softmax, images[val], labels[val], calibration="temperature"),
        "slova": slova.Classifier.fit(ova, images[val], labels[val], none_inputs=none),
    }
    kinds = {
        "digits that they know": (images[test], labels[test]),
        "8 and 9, never seen": (pictures[~known], None),
        "noise": (torch.rand(300, 1, 8, 8), None),
    }
    return drawn(kinds, models)


def trained(loss, images: Tensor, labels: Tensor, *, outliers: bool) -> nn.Module:
    torch.manual_seed(1)
    parts = nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3), nn.ReLU(), nn.Flatten(), nn.Linear(864, 8)
    network = slova.prepare(nn.Sequential(*parts)) if outliers else nn.Sequential(*parts)
    optimiser = torch.optim.Adam(network.parameters(), 5e-3)
    for _ in range(30):
        for rows in torch.randperm(len(labels)).split(64):
            batch = images[rows], labels[rows]
            batch = slova.add_outliers(*batch) if outliers else batch
            optimiser.zero_grad()
            loss(network(batch[0]), batch[1]).backward()
            optimiser.step()
    return network


def drawn(kinds: dict[str, tuple[Tensor, Tensor | None]], models: dict[str, slova.Classifier]) -> pyplot.Figure:
    figure, axes = pyplot.subplots(len(kinds), COLUMNS, figsize=(7.4, 5.0))
    figure.subplots_adjust(left=0.13, right=0.99, top=0.93, bottom=0.12, hspace=1.15, wspace=0.35)
    for row, (kind, (images, labels)) in zip(axes, kinds.items(), strict=True):
        shares = [(model.predict(images).confidence >= 0.8).float().mean() for model in models.values()]
        words = f"{kind}: of {len(images)}, softmax answers {shares[0]:.0%}, slova {shares[1]:.0%}"
        row[0].set_title(words, loc="left", fontsize=10)
        for ax, image in zip(row, images, strict=False):
            ax.imshow(image[0], cmap="gray_r")
            ax.set(xticks=[], yticks=[])
        for line, (name, model) in enumerate(models.items()):
            place = {"va": "top", "fontsize": 9}
            answer, height = model.predict(images[:COLUMNS], reject=0.8), -0.1 - 0.3 * line
            row[0].text(-0.25, height, name, transform=row[0].transAxes, ha="right", **place)
            for column, ax in enumerate(row):
                label = int(answer.label[column])
                truth = None if labels is None else int(labels[column])
                said = "NONE" if label == slova.NONE else f"{label} ({answer.confidence[column]:.2f})"
                colour = REFUSAL if label == slova.NONE else ANSWER if label == truth else ERROR
                ax.text(0.5, height, said, transform=ax.transAxes, ha="center", color=colour, **place)
    return figure


if __name__ == "__main__":
    (path,) = save(confidence_map.plot(), FOLDER / "confidence-map", kinds=["png"])
    refusals().savefig(FOLDER / "refusals.png", dpi=130)
    print(path, FOLDER / "refusals.png")
