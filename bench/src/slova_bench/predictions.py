"""The logits of a few networks on every set, in one small file: calibration, ablation, stability, statistics and the
report can be repeated on real data in seconds, without the images, the networks or a GPU.

    slova bench run shift --on cifar10 --embedded

A logit is kept in one byte, of all validation and clean test images, and of the same first images of each other set:
in steps of an eighth near zero and of 3 % far from it, and the top class stays the top class. Methods that need more
than logits (random passes, features, other images) cannot be evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from slova import artifact
from slova._backend import Array
from slova.artifact import atomic_path
from slova.heads import NONE, SOFTMAX
from slova_bench.dataset_recipes import dataset_recipe
from slova_bench.method import Method, Outputs
from slova_bench.methods import find
from slova_bench.pipeline import Bench, Trained, mean_readout
from slova_bench.store import XZ, compress, load
from slova_bench.test_sets import TestSet, ood_sets, shifted_sets

__all__ = ["Predictions", "StoredBench", "embedded", "record"]

NAMES = ("softmax", "ova", "ensemble", "slova_none")
SHIFTED, OOD, NOISE = 500, 1000, 0.1  # images of a set, and noise as a share of the validation set
VALIDATION = "validation"
LINEAR, STEPS = 4.0, 32  # a logit is kept as STEPS asinh(logit / LINEAR)
Entry = tuple[str, str, Array, Array]  # network, set, logits and labels


@dataclass(frozen=True)
class Predictions:
    """Logits (N, K) by network and set, and the labels (N,) of the test and the validation set. The validation set ends
    with noise, whose label is NONE."""

    on: str
    logits: Mapping[tuple[str, str], Array]
    labels: Mapping[str, Array]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.logits))

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets, apart from the validation set, as `test|shift|level`."""
        return tuple(dict.fromkeys(key for _, key in self.logits if key != VALIDATION))

    def save(self, path: str | Path) -> None:
        tensors = {f"logits|{name}|{key}": _rounded(values) for (name, key), values in self.logits.items()}
        tensors |= {f"labels|{key}": values.astype(np.int16) for key, values in self.labels.items()}
        with TemporaryDirectory() as folder, atomic_path(path) as temporary:
            plain = Path(folder) / "predictions"
            artifact.save(plain, "predictions", tensors, {"on": self.on})
            temporary.write_bytes(compress(plain.read_bytes()))

    @classmethod
    def load(cls, path: str | Path) -> Predictions:
        tensors, meta = load(Path(path), "predictions")
        logits, labels = dict[tuple[str, str], Array](), dict[str, Array]()
        for key, values in tensors.items():
            kind, _, rest = key.partition("|")
            if kind == "labels":
                labels[rest] = values.astype(np.int64)
            else:
                name, _, where = rest.partition("|")
                logits[name, where] = (LINEAR * np.sinh(values / STEPS)).astype(np.float32)
        return cls(meta["on"], logits, labels)


def _rounded(logits: Array) -> Array:
    """As whole numbers of one byte; where rounding has raised another class to the top one, that goes a step higher."""
    steps = np.clip(np.round(STEPS * np.arcsinh(logits.astype(np.float64) / LINEAR)), -127, 126).astype(np.int8)
    rows, top = np.arange(len(steps)), logits.argmax(-1)
    others = steps.copy()
    others[rows, top] = -128
    steps[rows, top] = np.maximum(steps[rows, top], others.max(-1) + 1)
    return steps


@lru_cache(maxsize=1)  # to unpack them takes a second, and every plan of a demo does
def embedded(on: str) -> Predictions:
    """The predictions that come with the package."""
    file = Path(__file__).parent / "embedded" / f"{on}.safetensors{XZ}"
    if not file.exists():
        raise ValueError(f"no predictions for {on} come with slova; omit --embedded")
    return Predictions.load(file)


def record(
    bench: Bench, names: tuple[str, ...] = NAMES, *, progress: Callable[[Iterator[Entry]], Iterable[Entry]] = iter
) -> Predictions:
    """The logits of the networks of seed 0 on every set; `progress` wraps the iteration over the sets."""
    logits, labels = dict[tuple[str, str], Array](), dict[str, Array]()
    for name, key, values, truth in progress(_entries(bench, names)):
        logits[name, key] = values
        if key in (VALIDATION, _key(TestSet(bench.dataset.test))):
            labels[key.partition("|")[0]] = truth
    return Predictions(bench.dataset.name, logits, labels)


def _entries(bench: Bench, names: tuple[str, ...]) -> Iterator[Entry]:
    """Ensembles are averaged and kept as log-probabilities. So is a softmax: near 0, where precision matters."""
    some, more = replace(bench, limit=SHIFTED), replace(bench, limit=OOD)
    for method in find(names):
        trained = bench.trained(method, 0)
        logits, labels = bench.validation_logits(trained, NOISE)
        yield method.name, VALIDATION, _averaged(method, logits), labels
        for source, test in [(bench, TestSet(bench.dataset.test)), *_other_sets(some, more)]:
            outputs, labels = source.logits(trained, test, features=False)
            yield method.name, _key(test), _averaged(method, outputs.logits), labels


def _other_sets(some: Bench, more: Bench) -> list[tuple[Bench, TestSet]]:
    shifted = [(some, test) for test in shifted_sets(some) if test.shift]
    return shifted + [(more, test) for test in ood_sets(more) if test.test != more.dataset.test]


def _averaged(method: Method, logits: Array) -> Array:
    one = len(logits) == 1 and method.head is not SOFTMAX
    return logits[0] if one else mean_readout(method.head, logits).log_probs


def _key(test: TestSet) -> str:
    return f"{test.test}|{test.shift}|{test.level:g}"


@dataclass(frozen=True)
class _Stored(Trained):
    """Networks whose logits are stored."""

    name: str = ""

    def outputs(self, images: object) -> Outputs:
        raise ValueError(f"only logits of {self.name} are stored, and none of other images")


@dataclass(frozen=True)
class StoredBench(Bench):
    """A bench that looks up logits in predictions instead of computing them."""

    predictions: Predictions = field(default_factory=lambda: embedded("cifar10"))

    @classmethod
    def of(cls, predictions: Predictions) -> StoredBench:
        return cls(dataset_recipe(predictions.on), predictions=predictions)

    @cached_property
    def ood(self) -> tuple[str, ...]:
        sets = [key.split("|") for key in self.predictions.sets]
        return tuple(test for test, shift, _ in sets if not shift and "-" in test and test != self.dataset.test)

    def trained(self, method: Method, seed: int) -> Trained:
        name = self._source(method)
        if name is None or seed != 0:
            held = ", ".join(self.predictions.names)
            raise ValueError(f"{method.name}, seed {seed}: only seed 0 of {held} is stored; omit --embedded")
        return _Stored([], method.samples, seed, self.execution.device, name=name)

    def logits(self, trained: Trained, test: TestSet, *, features: bool = False) -> tuple[Outputs, Array]:
        assert isinstance(trained, _Stored)
        logits = self._logits(trained, _key(test))
        inside = test.test == self.dataset.test
        labels = self.predictions.labels[self.dataset.test][: len(logits)]
        return Outputs(logits[None], np.empty((len(logits), 0))), labels if inside else np.full(len(logits), NONE)

    def validation_logits(self, trained: Trained, noise: float) -> tuple[Array, Array]:
        assert isinstance(trained, _Stored)
        logits, labels = self._logits(trained, VALIDATION), self.predictions.labels[VALIDATION]
        own = int((labels != NONE).sum())
        rows = own + int(noise * own)
        if rows > len(logits):
            raise ValueError(f"noise {noise:g} needs more than the {len(logits) - own} noise images that are stored")
        return logits[None, :rows], labels[:rows]

    def _logits(self, trained: _Stored, key: str) -> Array:
        found = self.predictions.logits.get((trained.name, key))
        if found is None:
            raise ValueError(f"there are no stored logits of {key.replace('|', ' ')}; omit --embedded")
        return found

    def holds(self, method: Method) -> bool:
        """Whether the networks of a method are stored, and logits are all that it needs."""
        return self._source(method) is not None

    def _source(self, method: Method) -> str | None:
        more = method.samples > 1 or method.adapt or method.detect or len(method.calibrate_on) > 1
        names = (known.name for known in find(self.predictions.names) if _training(known) == _training(method))
        return None if more else next(names, None)


def _training(method: Method) -> tuple[object, ...]:
    return method.network, method.loss, method.family, method.recipe, method.members
