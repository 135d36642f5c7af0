"""Prometheus metrics: requests and their latency, rows, batches, and the confidence and drift of the predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

import slova
from slova.export.file_metadata import BINS
from slova.serve.drift import DriftMonitor
from slova.serve.limits import Admission
from slova.serve.model import Model

__all__ = ["ServerMetrics"]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = tuple(1 << power for power in range(13))
EDGES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 92, 94, 96, 98, 99)  # percent of confidence; finer where it is high


class ServerMetrics:
    """The metrics of one model, in a separate registry."""

    def __init__(self, model: Model, monitor: DriftMonitor, admission: Admission) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("slova_requests", "Requests answered.", ["route", "code"], registry=self.registry)
        self.seconds = Histogram(
            "slova_request_seconds", "Seconds from the headers of a request to the end of its response.", ["route"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.batches = Histogram("slova_batch_rows", "Rows per batch.", buckets=ROWS, registry=self.registry)
        info = {"name": model.name, "head": model.head, "classes": str(model.classes), "slova": slova.__version__}
        Info("slova_model", "The model that is served.", registry=self.registry).info(info)
        self.registry.register(_PredictionCollector(model, monitor, admission))
        ProcessCollector(registry=self.registry)

    def batch(self, rows: int) -> None:
        self.batches.observe(rows)

    def request(self, route: str, code: int, seconds: float) -> None:
        self.requests.labels(route, str(code)).inc()
        self.seconds.labels(route).observe(seconds)

    def page(self) -> bytes:
        return generate_latest(self.registry)


class _PredictionCollector(Collector):
    """Computed from counts when metrics are collected, so that the cost does not depend on the number of rows."""

    def __init__(self, model: Model, monitor: DriftMonitor, admission: Admission) -> None:
        self.model, self.drift_monitor, self.admission = model, monitor, admission

    def collect(self) -> Iterator[Metric]:
        monitor = self.drift_monitor
        yield CounterMetricFamily("slova_rows", "Rows answered.", monitor.rows)
        yield CounterMetricFamily("slova_none", "Rows answered with NONE.", monitor.nones)
        yield _histogram(monitor)
        yield GaugeMetricFamily("slova_requests_in_flight", "Requests in progress.", self.admission.requests)
        yield GaugeMetricFamily("slova_body_bytes", "Bytes of the bodies of requests in progress.", self.admission.held)
        yield GaugeMetricFamily("slova_reject", "The default threshold.", self.model.reject)
        yield from self._window()

    def _window(self) -> Iterator[Metric]:
        monitor, drift = self.drift_monitor, self.drift_monitor.drift()
        yield GaugeMetricFamily("slova_window_rows", "Rows in the window of recent rows.", monitor.seen)
        if monitor.seen:
            share = monitor.recent_none_rows / monitor.seen
            yield GaugeMetricFamily("slova_none_share", "The share of NONE in the window.", share)
        if (expected := monitor.expected_none_share(self.model.reject)) is not None:
            help_text = "The share of the validation set below the default threshold."
            yield GaugeMetricFamily("slova_none_share_validation", help_text, expected)
        if drift is not None:
            help_text = "Kolmogorov-Smirnov distance of the confidences in the window from the validation set."
            yield GaugeMetricFamily("slova_confidence_drift", help_text, drift.distance)
            help_text = "95 % quantile of this distance without drift."
            yield GaugeMetricFamily("slova_confidence_drift_chance", help_text, drift.chance)


def _histogram(monitor: DriftMonitor) -> HistogramMetricFamily:
    below = np.append(0, monitor.counts.cumsum())
    buckets = [(str(edge / BINS), float(below[edge])) for edge in EDGES]
    return HistogramMetricFamily(
        "slova_confidence", "Confidence of the predictions.", [*buckets, ("+Inf", float(monitor.rows))], monitor.total
    )
