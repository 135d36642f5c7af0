"""Prometheus metrics: requests, their seconds, rows and batches, and what `slova.serve.drift` knows of the answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

import slova
from slova.export.contract import BINS
from slova.serve.drift import Watch
from slova.serve.limits import Admission
from slova.serve.model import Model

__all__ = ["Measures"]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = tuple(1 << power for power in range(13))
EDGES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 92, 94, 96, 98, 99)  # percent of confidence; fine where it crowds


class Measures:
    """The metrics of one model, in a registry of their own."""

    def __init__(self, model: Model, watch: Watch, admission: Admission) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("slova_requests", "Requests answered.", ["route", "code"], registry=self.registry)
        self.seconds = Histogram(
            "slova_request_seconds", "From the head of a request to the end of its answer.", ["route"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.batches = Histogram("slova_batch_rows", "Rows of a run.", buckets=ROWS, registry=self.registry)
        said = {"name": model.name, "head": model.head, "classes": str(model.classes), "slova": slova.__version__}
        Info("slova_model", "The model that is served.", registry=self.registry).info(said)
        self.registry.register(_Answers(model, watch, admission))
        ProcessCollector(registry=self.registry)

    def batch(self, rows: int) -> None:
        self.batches.observe(rows)

    def request(self, route: str, code: int, seconds: float) -> None:
        self.requests.labels(route, str(code)).inc()
        self.seconds.labels(route).observe(seconds)

    def page(self) -> bytes:
        return generate_latest(self.registry)


class _Answers(Collector):
    """Read from the counts when somebody asks, so that a thousand rows cost no more than one."""

    def __init__(self, model: Model, watch: Watch, admission: Admission) -> None:
        self.model, self.watch, self.admission = model, watch, admission

    def collect(self) -> Iterator[Metric]:
        watch = self.watch
        yield CounterMetricFamily("slova_rows", "Rows answered.", watch.rows)
        yield CounterMetricFamily("slova_none", "Rows answered with NONE.", watch.nones)
        yield _histogram(watch)
        yield GaugeMetricFamily("slova_requests_in_flight", "Requests being answered.", self.admission.requests)
        yield GaugeMetricFamily("slova_body_bytes", "Bytes of the bodies being answered.", self.admission.held)
        yield GaugeMetricFamily("slova_reject", "The threshold of requests that name none.", self.model.reject)
        yield from self._window()

    def _window(self) -> Iterator[Metric]:
        watch, drift = self.watch, self.watch.drift()
        yield GaugeMetricFamily("slova_window_rows", "The last rows, which the next numbers are about.", watch.seen)
        if watch.seen:
            share = watch.recent_nones / watch.seen
            yield GaugeMetricFamily("slova_none_share", "The share of NONE among the last rows.", share)
        if (expected := watch.expected_nones(self.model.reject)) is not None:
            said = "The share of the validation set below the threshold."
            yield GaugeMetricFamily("slova_none_share_validation", said, expected)
        if drift is not None:
            said = "Kolmogorov-Smirnov distance of the last confidences from the validation set."
            yield GaugeMetricFamily("slova_confidence_drift", said, drift.distance)
            said = "What this distance exceeds by chance in one window of 20."
            yield GaugeMetricFamily("slova_confidence_drift_chance", said, drift.chance)


def _histogram(watch: Watch) -> HistogramMetricFamily:
    below = np.append(0, watch.counts.cumsum())
    buckets = [(str(edge / BINS), float(below[edge])) for edge in EDGES]
    return HistogramMetricFamily(
        "slova_confidence", "Confidence of the answers.", [*buckets, ("+Inf", float(watch.rows))], watch.total
    )
