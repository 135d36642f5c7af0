"""What the answer of a scorer costs, as Markdown tables of ratios measured side by side in this run.

    python benchmarks/scoring.py                     # on a GPU if there is one, otherwise on the CPU; about a minute
    python benchmarks/scoring.py --cpu --json FILE   # on the CPU, numbers to a file as well

The first table compares `Scorer.predict` on logits with `softmax().max()`, which gives label and confidence alone. On a
GPU it also has their shares of the copy bandwidth: (bytes of the logits / time) / (2 x bytes of the logits / time of a
copy). The second one compares `Classifier.predict` with the network alone, ResNet-20 on images of 32 x 32 pixels, and
measures all but the network, which is `Classifier.predict` of stored logits.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from core import validation
from slova_bench.networks import resnet20
from timing import seconds_on_gpu, side_by_side
from torch import Tensor

from slova import NONE, Classifier, Scorer
from slova.calibration import PosteriorCalibration
from slova.heads import SOFTMAX

CLASSES = (10, 100, 1000)
ON_CPU, ON_GPU = 2_000_000, 1 << 28  # logits
BATCH, IMAGES = 256, 512
CALLS = 5  # of one function, one after the other, on a GPU


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = "cpu" if options.cpu or not torch.cuda.is_available() else "cuda"
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(f"{name}, torch {torch.__version__}\n", flush=True)
    found = {"device": name, "torch": torch.__version__, "logits": logits_alone(device), "network": end_to_end(device)}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def logits_alone(device: str) -> list[dict[str, Any]]:
    print("| K | calibrator | predict, ms | softmax().max(), ms | ratio |" + " of a copy |" * (device == "cuda"))
    print("|---|---|---|---|---|" + "---|" * (device == "cuda"))
    rows = []
    for classes in CLASSES:
        logits = torch.empty((ON_CPU if device == "cpu" else ON_GPU) // classes, classes, device=device).normal_(-3, 3)
        copy = seconds_on_gpu(lambda f=logits: f.clone(), calls=CALLS) if device == "cuda" else 0.0
        for name, scorer in scorers(classes).items():
            ours, theirs = compared(lambda s=scorer, f=logits: s.predict(f), lambda f=logits: softmax_top(f), device)
            row = {"classes": classes, "calibrator": name, "predict": ours, "softmax": theirs, "ratio": ours / theirs}
            line = f"| {classes} | {name} | {ours * 1e3:.2f} | {theirs * 1e3:.2f} | {ours / theirs:.2f} |"
            if device == "cuda":
                row["share of copy"], row["softmax share"] = copy / 2 / ours, copy / 2 / theirs
                line += f" {row['share of copy']:.2f} (softmax {row['softmax share']:.2f}) |"
            print(line, flush=True)
            rows.append(row)
    return rows


def scorers(classes: int) -> dict[str, Scorer]:
    """The calibrators of interest, fitted; the default one with each of its parts by hand, so that all are measured."""
    logits, labels = validation(2_000, classes)
    fitted = {
        f"{word}, {head}": Scorer.fit(logits, labels, head=head, calibration=word)
        for word, head in (("posterior", "slova"), ("exponential", "slova"), ("temperature", "softmax"))
    }
    numbers = (np.full(1, 0.7), np.full(1, 0.4), *np.random.default_rng(0).normal(0, 0.1, (3, classes)))
    whole = PosteriorCalibration(*numbers, smoothing=1e-3, none=np.array([-1.0, 0.3, 0.4]), none_share=0.1)
    more = {
        "posterior per class with NONE, slova": Scorer(classes=classes, calibrator=whole),
        "posterior per class with NONE, softmax": Scorer(classes=classes, head=SOFTMAX, calibrator=whole),
    }
    if classes <= 50:
        pairs = np.random.default_rng(0).normal(0, 0.05, (classes, classes))
        calibrator = PosteriorCalibration(*numbers, pairs=pairs, smoothing=1e-3)
        more["posterior with pairs, slova"] = Scorer(classes=classes, calibrator=calibrator)
    return {"none, slova": Scorer(classes=classes), **fitted, **more}


def end_to_end(device: str) -> dict[str, float]:
    """`Classifier.predict` of images against the network on the same batches."""
    images, network = torch.rand(IMAGES, 3, 32, 32, device=device), resnet20(10).eval().to(device)
    labels = torch.randint(NONE, 10, (IMAGES,))
    classifier = Classifier.fit(network, images, labels, head="slova", progress=False)
    batches = images.split(BATCH)

    @torch.no_grad()
    def alone() -> Tensor:
        return torch.cat([network(batch).cpu() for batch in batches])

    def predict() -> object:
        return classifier.predict(images, batch_size=BATCH, progress=False)

    stored = alone().to(device)
    answers = Classifier(torch.nn.Identity(), classifier.scorer)

    def answer() -> object:
        return answers.predict(stored, batch_size=BATCH, progress=False)

    ours, theirs = compared(predict, alone, device)
    rest, _ = compared(answer, answer, device)
    print(f"\n| {IMAGES} images | `Classifier.predict` | ResNet-20 alone | all but the network | its share |")
    print("|---|---|---|---|---|")
    print(f"| | {ours * 1e3:.1f} ms | {theirs * 1e3:.1f} ms | {rest * 1e3:.2f} ms | {rest / theirs:.1%} |", flush=True)
    return {"predict": ours, "network": theirs, "answer": rest}


def compared(ours: Callable[[], object], theirs: Callable[[], object], device: str) -> tuple[float, float]:
    if device == "cpu":
        return side_by_side(ours, theirs)
    return seconds_on_gpu(ours, calls=CALLS), seconds_on_gpu(theirs, calls=CALLS)


def softmax_top(logits: Tensor) -> object:
    return torch.softmax(logits, -1).max(-1)


if __name__ == "__main__":
    main()
