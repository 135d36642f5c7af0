"""An experiment: which methods are asked about which sets, and what is measured. Running it is a stream of rows.

    for row in run(experiment, bench, results, methods, seeds): ...

Methods that share a network are asked together, so that every set passes through every network once. A row that is
there already is not computed again; work that leads only to such rows is not done.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slova._backend import Array
from slova.calibration import Calibrator
from slova.heads import Readout
from slova_bench.histograms import Histogram, Histograms
from slova_bench.method import Detector, Method, Outputs
from slova_bench.pipeline import Bench, Trained, calibration, pooled
from slova_bench.results import Cell, Results, Row
from slova_bench.store import describe
from slova_bench.test_sets import TestSet, clean

__all__ = ["Answers", "Experiment", "PerNetwork", "Variant", "run"]


@dataclass(frozen=True)
class Variant:
    """A method and what varies within it (M, n_b, …), which have columns of their own."""

    method: Method
    parameter: str = ""
    value: float = 0.0


@dataclass(frozen=True)
class Answers:
    """What a method says of a set: the calibrated read-out, the labels, an OOD score where it has one, and its
    confidence on the clean test set."""

    readout: Readout
    labels: Array
    score: Array
    inside: Array


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """`variants` expands a method into what is run, `sets` lists what it is asked about, `measure` gives the metrics of
    one answer."""

    name: str
    methods: tuple[str, ...]
    sets: Callable[[Bench], list[TestSet]]
    measure: Callable[[TestSet, Answers], dict[str, float]]
    metrics: Callable[[Method, TestSet, Bench], tuple[str, ...]]
    variants: Callable[[Method], list[Variant]] = lambda method: [Variant(method)]
    histograms: bool = True  # of confidence, one a cell, beside the rows

    def run(
        self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
    ) -> Iterator[list[Row]]:
        """The rows of each network and set, as they become known; they are in the results when they are seen here."""
        return run(self, bench, results, methods, seeds)

    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[int]:
        """How many sets each network is still to be asked about, in the order of the run."""
        return [len(asked) for _, asked in _left(self, bench, results, methods, seeds)]


@dataclass(frozen=True, kw_only=True)
class PerNetwork:
    """An experiment whose rows belong to a network rather than to sets: `done(bench, results)` tells which methods and
    seeds have all of theirs, and `rows(method, bench, results, seed)` measures those of one."""

    name: str
    methods: tuple[str, ...]
    done: Callable[[Bench, Results], Callable[[Method, int], bool]]
    rows: Callable[[Method, Bench, Results, int], list[Row]]

    def run(
        self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
    ) -> Iterator[list[Row]]:
        for method, seed in self._left(bench, results, methods, seeds):
            rows = self.rows(method, bench, results, seed)
            results.append(rows)
            yield rows

    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[int]:
        return [1 for _ in self._left(bench, results, methods, seeds)]

    def _left(
        self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
    ) -> list[tuple[Method, int]]:
        done = self.done(bench, results)
        return [(method, seed) for seed in dict.fromkeys(seeds) for method in methods if not done(method, seed)]


def run(
    experiment: Experiment, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
) -> Iterator[list[Row]]:
    """One network after the other, and every set through it once."""
    for seed, sets in _left(experiment, bench, results, methods, seeds):
        group = list(dict.fromkeys(variant for variants in sets.values() for variant in variants))
        asked = _Asked(bench, bench.trained(group[0].method, seed), group)
        for test, variants in sets.items():
            rows, histograms = asked.measured(experiment, test, variants)
            Histograms(results.path).append(histograms if experiment.histograms else [])
            results.append(rows)
            yield rows


def _left(
    experiment: Experiment, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
) -> list[tuple[int, dict[TestSet, list[Variant]]]]:
    """What is not in the results yet: for each seed and network, the sets to ask it about, and who wants to know."""
    done, tests, left = {row.key for row in results.read()}, experiment.sets(bench), []
    for seed in dict.fromkeys(seeds):
        for group in _sharing(experiment, bench, methods, seed):
            wanted = {t: [v for v in group if not _known(experiment, bench, v, t, seed, done)] for t in tests}
            sets = {test: variants for test, variants in wanted.items() if variants}
            left += [(seed, sets)] if sets else []
    return left


def _sharing(experiment: Experiment, bench: Bench, methods: Sequence[Method], seed: int) -> list[list[Variant]]:
    """Variants in groups that can be asked together: the same networks, adapted and sampled in the same way."""

    def key(variant: Variant) -> str:
        method = variant.method
        parts = (bench.weights(method, seed), method.members, method.samples, describe(method.adapt))
        return json.dumps(parts, sort_keys=True)

    variants = [variant for method in methods for variant in experiment.variants(method)]
    return [list(group) for _, group in itertools.groupby(sorted(variants, key=key), key)]


def _cell(experiment: Experiment, bench: Bench, variant: Variant, test: TestSet, seed: int) -> Cell:
    who = (experiment.name, variant.method.name, variant.method.preset)
    where = (bench.setting.train, test.test, test.shift, test.level, seed, 0)
    return Cell(*who, *where, variant.parameter, variant.value)


def _known(
    experiment: Experiment, bench: Bench, variant: Variant, test: TestSet, seed: int, done: set[tuple[object, ...]]
) -> bool:
    cell = _cell(experiment, bench, variant, test, seed)
    return all(Row.of(cell, metric, 0.0).key in done for metric in experiment.metrics(variant.method, test, bench))


class _Asked:
    """Trained networks, with what each of their methods has fitted and said of the clean test set."""

    def __init__(self, bench: Bench, trained: Trained, group: list[Variant]) -> None:
        self.bench, self.trained = bench, trained
        self.features = any(variant.method.detect for variant in group)
        self.maps: dict[Variant, Calibrator | None] = {v: calibration(v.method, bench, trained) for v in group}
        self.detectors: dict[Variant, Detector | None] = {v: self._detector(v.method) for v in group}
        outputs, _ = bench.ask(trained, clean(bench)[0], features=self.features)
        self.inside = {variant: self._score(variant, outputs) for variant in group}

    def measured(
        self, experiment: Experiment, test: TestSet, variants: list[Variant]
    ) -> tuple[list[Row], list[Histogram]]:
        """The rows of a set, and how confident each variant was on it."""
        outputs, labels = self.bench.ask(self.trained, test, features=self.features)
        rows, histograms = [], []
        for variant in variants:
            cell = _cell(experiment, self.bench, variant, test, self.trained.seed)._replace(n=len(labels))
            answers = self._answers(variant, outputs, labels)
            rows += [Row.of(cell, metric, value) for metric, value in experiment.measure(test, answers).items()]
            probs = np.exp(answers.readout.log_probs)
            histograms.append(Histogram.of(cell, probs.max(axis=-1), probs.argmax(axis=-1) == answers.labels))
        return rows, histograms

    def _answers(self, variant: Variant, outputs: Outputs, labels: Array) -> Answers:
        readout, score = self._readout(variant, outputs), self._score(variant, outputs)
        return Answers(readout, labels, score, self.inside[variant])

    def _readout(self, variant: Variant, outputs: Outputs) -> Readout:
        readout, fitted = pooled(variant.method.head, outputs.logits), self.maps[variant]
        return readout if fitted is None else readout._replace(log_probs=fitted(readout.log_probs))

    def _score(self, variant: Variant, outputs: Outputs) -> Array:
        """What tells the set from the training data: the method's own score, or else its confidence."""
        detector = self.detectors[variant]
        return np.exp(self._readout(variant, outputs).log_probs).max(axis=-1) if detector is None else detector(outputs)

    def _detector(self, method: Method) -> Detector | None:
        if method.detect is None:
            return None
        training = self.bench.training
        return method.detect(self.trained.outputs(training.images), training.labels.numpy())
