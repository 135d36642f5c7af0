"""Two small networks trained on digits, five ways to read them, and what each is worth on each set of images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from slova import metrics
from slova.backend import Array
from slova.calibration import TemperatureScaling, complete
from slova.demo.images import ImageSet, digits, image_sets
from slova.demo.networks import Tell, train
from slova.heads import NONE, read_ova, read_slova, read_softmax
from slova.scorer import Scorer

__all__ = ["Cell", "Promise", "Report", "run"]


class Method(NamedTuple):
    """A way to read one of the two networks; `completed` rows sum to one, with "none" as an outcome of its own."""

    name: str
    network: str
    scorer: Scorer
    completed: bool = False

    def log_probs(self, logits: dict[str, Array]) -> Array:
        log_probs = self.scorer(logits[self.network]).log_probs
        return complete(log_probs).log_probs if self.completed else log_probs


class Cell(NamedTuple):
    """What one method does on one set; what needs digits is None where there are none, and the other way round."""

    method: str
    images: str
    kind: str
    accuracy: float | None = None
    ece: float | None = None
    nll: float | None = None
    brier: float | None = None
    mmc: float | None = None
    auroc: float | None = None


class Promise(NamedTuple):
    """What became of a promised risk: the threshold, and on the clean, shifted and foreign images how many were
    answered, of how many, and the share of errors among the answers (None where nothing was answered)."""

    method: str
    risk: float
    threshold: float
    answered: dict[str, int]
    images: dict[str, int]
    errors: dict[str, float | None]


@dataclass(frozen=True)
class Report:
    """All numbers of a run; `over_one` is the share of clean rows that SLOVA calibrated sums to more than one."""

    seed: int
    images: dict[str, int]
    cells: list[Cell]
    promises: list[Promise]
    over_one: float


def run(seed: int, *, risk: float = 0.02, tell: Tell = lambda share: None) -> Report:
    """Train, calibrate, judge. `tell` hears the share of the work that is done."""
    data = digits(seed)
    networks = {
        "softmax": train(data.train, seed, one_vs_all=False, tell=lambda share: tell(0.45 * share)),
        "ova": train(data.train, seed, one_vs_all=True, tell=lambda share: tell(0.45 + 0.45 * share)),
    }
    methods = _methods({name: network(data.val.images) for name, network in networks.items()}, data.val.labels)
    sets = image_sets(data.test, seed)
    logits = [{name: network(test.images) for name, network in networks.items()} for test in sets]
    cells = [
        _cell(method, test, known, logits[0]) for test, known in zip(sets, logits, strict=True) for method in methods
    ]
    promises = [found for method in methods if (found := _promise(method, sets, logits, risk))]
    over = np.exp(methods[4].log_probs(logits[0])).sum(axis=1) > 1
    counts = {"train": len(data.train.labels), "validation": len(data.val.labels), "test": len(data.test.labels)}
    tell(1.0)
    return Report(seed, counts, cells, promises, float(over.mean()))


def _methods(val: dict[str, Array], labels: Array) -> list[Method]:
    classes = val["ova"].shape[1]
    temperature = Scorer.fit(val["softmax"], labels, head=read_softmax, calibrate=TemperatureScaling.fit)
    slova = Scorer.fit(val["ova"], labels)
    return [
        Method("softmax", "softmax", Scorer(classes=classes, head=read_softmax)),
        Method("temperature", "softmax", temperature),
        Method("OVA", "ova", Scorer(classes=classes, head=read_ova)),
        Method("SLOVA raw", "ova", Scorer(classes=classes, head=read_slova)),
        Method("SLOVA calibrated", "ova", slova),
        Method("SLOVA completed", "ova", slova, completed=True),
    ]


def _cell(method: Method, test: ImageSet, logits: dict[str, Array], clean: dict[str, Array]) -> Cell:
    log_probs = method.log_probs(logits)
    probs = np.exp(log_probs)
    if test.kind == "foreign":
        inside = np.exp(method.log_probs(clean)).max(axis=1)
        auroc = metrics.auroc(inside, probs.max(axis=1))
        return Cell(method.name, test.name, test.kind, mmc=metrics.mmc(probs), auroc=auroc)
    return Cell(
        method.name,
        test.name,
        test.kind,
        accuracy=metrics.accuracy(probs, test.labels),
        ece=metrics.ece(probs, test.labels),
        nll=metrics.nll(log_probs, test.labels),
        brier=metrics.brier(probs, test.labels),
    )


def _promise(method: Method, sets: list[ImageSet], logits: list[dict[str, Array]], risk: float) -> Promise | None:
    """None for methods that were not fitted on validation images, or that cannot promise this much; completing rows
    changes no answer."""
    if method.scorer.validation is None or method.completed:
        return None
    try:
        threshold = method.scorer.threshold(risk=risk)
    except ValueError:
        return None
    answered, images, wrong = ({"clean": 0, "shifted": 0, "foreign": 0} for _ in range(3))
    for test, known in zip(sets, logits, strict=True):
        label = method.scorer.predict(known[method.network], reject=threshold).label
        images[test.kind] += len(label)
        answered[test.kind] += int((label != NONE).sum())
        wrong[test.kind] += int(((label != NONE) & (label != test.labels)).sum())
    errors = {kind: wrong[kind] / answered[kind] if answered[kind] else None for kind in wrong}
    return Promise(method.name, risk, threshold, answered, images, errors)
