"""An experiment: the methods, the test sets, and the metrics. Its work is a stream of rows per network.

Methods that share networks are evaluated together, so that every set passes through every network once. Existing rows
are not computed again, nor is anything that only they depend on.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from slova._backend import Array
from slova.heads import Readout
from slova_bench.calibrate import calibration_rows, readout_of
from slova_bench.histograms import Histogram, Histograms
from slova_bench.method import Detector, Fitted, Method, Outputs
from slova_bench.pipeline import Bench, Trained
from slova_bench.results import Cell, Results, Row
from slova_bench.store import describe
from slova_bench.test_sets import TestSet, clean

__all__ = ["Evaluation", "Evaluator", "Experiment", "PerNetwork", "Runnable", "Variant", "Work"]


class Work(NamedTuple):
    """What is left to measure with one network: the number of steps, and the rows of each in turn."""

    steps: int
    rows: Callable[[], Iterator[list[Row]]]


class Runnable(Protocol):
    """An experiment: its name, its default methods, and the work that is left."""

    @property
    def name(self) -> str: ...
    @property
    def methods(self) -> tuple[str, ...]: ...
    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[Work]: ...


@dataclass(frozen=True)
class Variant:
    """A method and what varies within it (M, n_b, …), which have columns of their own."""

    method: Method
    parameter: str = ""
    value: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """A method on one test set: calibrated readout, labels, the score that ranks images (the confidence, unless the
    method has a score of its own), the same score on the clean test set, and readout and labels of that set."""

    readout: Readout
    labels: Array
    score: Array
    clean_score: Array
    clean_readout: Readout
    clean_labels: Array
    has_none: bool  # the readout is that of the classes given "not none", and a calibrated P(none)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment on test sets.

    `variants` expands a method into its variants, `sets` lists the test sets, `measure` computes the metrics of one
    evaluation, and `metrics` names them in advance.
    """

    name: str
    methods: tuple[str, ...]
    sets: Callable[[Bench], list[TestSet]]
    measure: Callable[[TestSet, Evaluation], dict[str, float]]
    metrics: Callable[[Method, TestSet, Bench], tuple[str, ...]]
    variants: Callable[[Method], list[Variant]] = lambda method: [Variant(method)]
    histograms: bool = True  # store a confidence histogram per cell beside the rows

    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[Work]:
        """A step per test set without rows, for each seed and group of variants that share networks."""
        done, tests, found = {row.key for row in results.read()}, self.sets(bench), []
        for seed in dict.fromkeys(seeds):
            for group in _sharing(self, bench, methods, seed):
                by_set = {t: [v for v in group if not _known(self, bench, v, t, seed, done)] for t in tests}
                sets = {test: variants for test, variants in by_set.items() if variants}
                if sets:
                    found.append(Work(len(sets), partial(self._rows, bench, results, seed, sets)))
        return found

    def _rows(
        self, bench: Bench, results: Results, seed: int, sets: dict[TestSet, list[Variant]]
    ) -> Iterator[list[Row]]:
        """The rows of each set; its histograms are stored already when they are yielded."""
        group = list(dict.fromkeys(variant for variants in sets.values() for variant in variants))
        evaluator = Evaluator(bench, bench.trained(group[0].method, seed), group)
        for test, variants in sets.items():
            rows, histograms = evaluator.measure(self, test, variants)
            Histograms(results.path).append(histograms if self.histograms else [])
            yield rows


@dataclass(frozen=True, kw_only=True)
class PerNetwork:
    """An experiment whose rows belong to a network rather than to test sets.

    `required(method, bench, seed)` are rows that are there, with any value, if the network has all of its rows.
    `rows(method, bench, results, seed)` computes them.
    """

    name: str
    methods: tuple[str, ...]
    required: Callable[[Method, Bench, int], Iterable[Row]]
    rows: Callable[[Method, Bench, Results, int], list[Row]]

    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[Work]:
        known = {row.key for row in results.read()}
        return [
            Work(1, partial(self._rows, method, bench, results, seed))
            for seed in dict.fromkeys(seeds)
            for method in methods
            if not known.issuperset(row.key for row in self.required(method, bench, seed))
        ]

    def _rows(self, *what: Any) -> Iterator[list[Row]]:
        yield self.rows(*what)


def _sharing(experiment: Experiment, bench: Bench, methods: Sequence[Method], seed: int) -> list[list[Variant]]:
    """Group the variants that use the same networks, adapted and sampled in the same way."""

    def key(variant: Variant) -> str:
        method = variant.method
        parts = (bench.weights(method, seed), method.members, method.samples, describe(method.adapt))
        return json.dumps(parts, sort_keys=True)

    variants = [variant for method in methods for variant in experiment.variants(method)]
    return [list(group) for _, group in itertools.groupby(sorted(variants, key=key), key)]


def _cell(experiment: Experiment, bench: Bench, variant: Variant, test: TestSet, seed: int) -> Cell:
    method, train = variant.method, bench.dataset.train
    cell = Cell(experiment.name, method.name, method.preset, train, test.test, test.shift, test.level, seed, n=0)
    return cell._replace(parameter=variant.parameter, parameter_value=variant.value)


def _known(
    experiment: Experiment, bench: Bench, variant: Variant, test: TestSet, seed: int, done: set[tuple[object, ...]]
) -> bool:
    cell = _cell(experiment, bench, variant, test, seed)
    return all(Row.of(cell, metric, 0.0).key in done for metric in experiment.metrics(variant.method, test, bench))


class Evaluator:
    """Trained networks with the fitted calibrators and detectors of the variants that share them.

    Readouts are computed once per variant and test set; those of the clean test set, which every score is compared
    with, are kept.
    """

    def __init__(self, bench: Bench, trained: Trained, group: list[Variant]) -> None:
        self.bench, self.trained, self.test = bench, trained, clean(bench)[0]
        self.features = any(variant.method.detect for variant in group)
        self.readouts: dict[Variant, Fitted] = {v: readout_of(v.method, bench, trained) for v in group}
        self.detectors: dict[Variant, Detector | None] = {v: self._detector(v.method) for v in group}
        outputs, self.labels = bench.logits(trained, self.test, features=self.features)
        self.clean = {variant: self._scored(variant, outputs) for variant in group}

    def measure(
        self, experiment: Experiment, test: TestSet, variants: list[Variant]
    ) -> tuple[list[Row], list[Histogram]]:
        """The rows and the confidence histograms of the variants on one test set."""
        rows, histograms = [], []
        for variant, evaluation in self._evaluations(test, variants):
            n = len(evaluation.labels)
            cell = _cell(experiment, self.bench, variant, test, self.trained.seed)._replace(n=n)
            rows += [Row.of(cell, metric, value) for metric, value in experiment.measure(test, evaluation).items()]
            probs = np.exp(evaluation.readout.log_probs)
            histograms.append(Histogram.of(cell, probs.max(axis=-1), probs.argmax(axis=-1) == evaluation.labels))
        return rows, histograms

    def _evaluations(self, test: TestSet, variants: list[Variant]) -> Iterator[tuple[Variant, Evaluation]]:
        outputs, labels = None, self.labels
        if test != self.test:
            outputs, labels = self.bench.logits(self.trained, test, features=self.features)
        for variant in variants:
            clean, clean_score = self.clean[variant]
            readout, score = (clean, clean_score) if outputs is None else self._scored(variant, outputs)
            has_none = variant.method.score == "none"
            yield variant, Evaluation(readout, labels, score, clean_score, clean, self.labels, has_none)

    def _scored(self, variant: Variant, outputs: Outputs) -> tuple[Readout, Array]:
        """The calibrated readout, and the score of the method: its own, P(none), or else the confidence."""
        readout, detector = self.readouts[variant](outputs.logits), self.detectors[variant]
        if detector is not None:
            return readout, detector(outputs)
        if variant.method.score == "none":
            return readout, -readout.log_none
        if callable(variant.method.score):
            return readout, variant.method.score(outputs.logits)
        return readout, np.exp(readout.log_probs).max(axis=-1)

    def _detector(self, method: Method) -> Detector | None:
        if method.rank is not None:
            score = method.rank(calibration_rows(method, self.bench, self.trained))
            return lambda outputs: score(outputs.logits)
        if method.detect is None:
            return None
        training = self.bench.training
        return method.detect(self.trained.outputs(training.images), training.labels.numpy())
