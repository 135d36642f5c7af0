"""Draw the pictures of the README and docs from the library itself: `make docs`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from slova import log_ova, log_slova

HERE = Path(__file__).parent


def confidence_map() -> plt.Figure:
    """Two classes: the confidence of max sigmoid and of SLOVA over the two probabilities (the paper's first figure)."""
    p = np.linspace(1e-6, 1 - 1e-6, 301)
    logit = np.log(p) - np.log1p(-p)
    logits = np.stack(np.meshgrid(logit, logit), axis=-1)
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.0), sharey=True, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    for axis, head, name in zip(
        axes, (log_ova, log_slova), ("one-vs-all: max p", "SLOVA: this and no other"), strict=True
    ):
        picture = axis.imshow(
            np.exp(head(logits)).max(-1), origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap="cividis"
        )
        axis.set(title=name, xlabel="p(class 1)", xticks=[0, 0.5], yticks=[0, 0.5, 1])
        for x, y, what in ((0.17, 0.12, "none fits"), (0.83, 0.93, "both fit"), (0.86, 0.12, "one fits")):
            dark = np.exp(head(np.log([x, y]) - np.log1p(-np.array([x, y])))).max() > 0.6
            axis.text(x, y, what, ha="center", va="center", color="black" if dark else "white", fontsize=10)
    axes[0].set_ylabel("p(class 2)")
    figure.colorbar(picture, ax=axes, label="confidence", shrink=0.9)
    return figure


if __name__ == "__main__":
    path = HERE / "confidence-map.png"
    confidence_map().savefig(path, dpi=110, metadata={"Software": None})
    print(path)
