"""Networks as `Classifier.fit` reads them: with distances beside their logits, which tell how far an image is from the
validation images, per layer, and with the rows of its fit; and with logits that are averaged over views."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from slova._batches import device_of
from slova._collect import collect
from slova.vision.passes import Passes
from slova.vision.shift_aware import FitRows, ShiftOptions, fit_rows
from slova.vision.versions import VersionReader
from slova_bench.method import Splits
from slova_bench.stable import stable

__all__ = ["BATCH", "WithDistances", "flip_averaged", "read_versions", "with_distances"]

BATCH = 256
PARTS = ("clean", "degraded", "synthetic")  # of the rows of a fit, in their order, each with one row per image


class WithDistances(nn.Module):
    """A network whose outputs (N, K + D) are its logits, the mean over `passes.views`, and the distances log(1 + d^2 /
    channels) of the image in D layers. `rows` are those that its classifier is fitted to: the validation images as they
    are, degraded, and as synthetic images of no class, each with distances from the other images."""

    def __init__(self, network: nn.Sequential, passes: Passes, rows: FitRows | None = None) -> None:
        super().__init__()
        self.network, self.passes, self.rows = network, passes.to(device_of(network)), rows

    def read(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits, and distances or None without layers."""
        return self.passes(self.network, ((images,), {}), lambda batch: self.network(*batch[0]).float())  # type: ignore[no-any-return]

    def forward(self, images: Tensor) -> Tensor:
        logits, distances = self.read(images)
        return logits if distances is None else torch.cat([logits, distances], dim=1)


@stable("with_distances", version=2)  # 2: statistics, held-out distances and versions of `Classifier.fit`
def with_distances(network: nn.Sequential, splits: Splits, *, views: str | None = None) -> nn.Sequential:
    """The network with distances from the validation images, in the last layer of each resolution."""
    reader = read_versions(network, splits, ShiftOptions(shift_aware=True, views=views))
    clean, degraded, synthetic = (reader.of(name) for name in PARTS)
    assert clean is not None
    rows, statistics = fit_rows(clean, splits.validation.labels.numpy(), degraded, synthetic, None)
    passes = Passes(dict(zip(reader.layers, statistics, strict=True)), views=views)
    return nn.Sequential(WithDistances(network, passes, rows))


def read_versions(network: nn.Sequential, splits: Splits, options: ShiftOptions) -> VersionReader:
    """The reader of `Classifier.fit` after the validation images, each as it is, degraded, and as one of no class."""
    reader = VersionReader(network, options, synthetic=True, seed=0)
    images, labels = splits.validation.images.float() / 255, splits.validation.labels.numpy()
    collect(network, images, labels, labelled=True, read=reader, batch_size=BATCH, progress=False)
    return reader


@stable("flip_averaged")
def flip_averaged(network: nn.Sequential, splits: Splits) -> nn.Sequential:
    """The network with flip test-time augmentation: the mean logits of an image and its horizontal flip."""
    return nn.Sequential(WithDistances(network, Passes(views="flip")))
