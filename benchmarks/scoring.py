"""What the answer of a scorer costs: the rows of the tables of docs/speed.md, times measured side by side.

    python benchmarks/scoring.py        # on a GPU if there is one, otherwise on one thread of a CPU; minutes

`scoring-cpu.csv` or `scoring-gpu.csv`: `Scorer.predict` of logits beside `softmax().max()`, which gives label and
confidence alone. `answer_cost.csv`, on a CPU: the answers beside the forward pass of ResNet-20 on images of 32 x 32
pixels; an answer is all that `Classifier.predict` does but the network. All in seconds.
"""

from __future__ import annotations

import numpy as np
import torch
from core import validation
from slova_bench.networks import resnet20
from timing import seconds_on_gpu, side_by_side, timed, write
from torch import Tensor

from slova import Classifier, ExponentialCalibration, Scorer
from slova.calibration import PosteriorCalibration
from slova.heads import SOFTMAX

CLASSES = (10, 100, 1000)
ON_CPU, ON_GPU = 2_000_000, 1 << 28  # logits
BATCH, IMAGES = 100, 500  # activations of 100 images fit into a processor's caches
CALLS = 5  # of one function, one after the other, on a GPU
ANSWERS = 20  # in a row, since one is shorter than the time that a busy machine gives to another program
TERMS = 50  # of the exponential calibrator, the most of App. B


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if torch.cuda.is_available():
        write("scoring-gpu", [row for classes in CLASSES for row in logits_alone(classes, "cuda")])
    else:
        write("answer_cost", answer_cost(repetitions=10))
        found = [logits_alone(classes, "cpu") for _ in range(3) for classes in CLASSES]
        write("scoring-cpu", [row for rows in found for row in rows])


def logits_alone(classes: int, device: str) -> list[dict[str, object]]:
    logits = torch.empty((ON_CPU if device == "cpu" else ON_GPU) // classes, classes, device=device).normal_(-3, 3)
    rows = []
    for name, scorer in scorers(classes).items():
        functions = (lambda s=scorer: s.predict(logits)), (lambda: softmax_top(logits))
        if device == "cpu":
            ours, theirs = side_by_side(*functions)
        else:
            ours, theirs = (seconds_on_gpu(function, calls=CALLS) for function in functions)
        rows.append(
            {"classes": classes, "calibrator": name, "predict": ours, "softmax": theirs, "ratio": ours / theirs}
        )
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


@torch.no_grad()
def answer_cost(repetitions: int) -> list[dict[str, object]]:
    """The forward pass and each answer, one after the other in each repetition; the network is as fast as it can be."""
    images = torch.rand(IMAGES, 3, 32, 32)
    network = resnet20(10).eval().to(memory_format=torch.channels_last)
    batches = [batch.contiguous(memory_format=torch.channels_last) for batch in images.split(BATCH)]

    def forward() -> Tensor:
        return torch.cat([network(batch) for batch in batches])

    stored, found = forward(), scorers(10)
    powers = ExponentialCalibration(np.geomspace(0.01, 100, TERMS), np.full(TERMS, 1 / TERMS))
    answers = {
        "readout alone": found["none, slova"],
        f"readout and exponential calibration, M = {TERMS}": Scorer(classes=10, calibrator=powers),
        "readout and posterior calibration": found["posterior, slova"],
    }
    classifiers = {name: Classifier(torch.nn.Identity(), scorer) for name, scorer in answers.items()}
    rows = []
    for repetition in range(-1, repetitions):  # the first one warms up
        seconds = timed(forward)
        for name, classifier in classifiers.items():
            answer = timed(lambda c=classifier: answer_often(c, stored)) / ANSWERS
            row = {"repetition": repetition, "images": IMAGES, "answer": name, "network_seconds": seconds}
            rows.append({**row, "answer_seconds": answer, "share": answer / seconds})
    return rows[len(answers) :]


def answer_often(classifier: Classifier, logits: Tensor) -> None:
    for _ in range(ANSWERS):
        classifier.predict(logits, batch_size=BATCH, progress=False)


def softmax_top(logits: Tensor) -> object:
    return torch.softmax(logits, -1).max(-1)


if __name__ == "__main__":
    main()
