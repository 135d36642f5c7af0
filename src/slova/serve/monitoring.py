"""Prometheus metrics: requests and their latency, rows, batches, and the confidence of the predictions with its drift.

Confidence is counted in 100 bins of equal width: of all rows since the start, and of a window of recent rows, which is
compared with the validation set. Drift is the Kolmogorov-Smirnov distance between the two: the largest difference of
their cumulative distributions at an edge of a bin, from 0 for equal distributions to 1 for disjoint ones. For
comparison, `chance` is its 95 % quantile for independent rows without drift.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

import slova
from slova.export.file_metadata import BINS
from slova.heads import NONE
from slova.metrics.binning import bin_index
from slova.serve.limits import Admission
from slova.serve.model import Model, Values

__all__ = ["WINDOW", "Drift", "DriftMonitor", "ServerMetrics"]

WINDOW = 10_000
CHANCE_QUANTILE = math.sqrt(-math.log(0.05 / 2) / 2)  # 95 % quantile of the limiting Kolmogorov-Smirnov distribution
EMPTY = -1
TOGETHER = 64  # requests
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
EDGES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 92, 94, 96, 98, 99)  # percent of confidence; finer where it is high


class Drift(NamedTuple):
    """The distance, and the 95 % quantile of the distance without drift."""

    distance: float
    chance: float


class DriftMonitor:
    """Counts of all rows, and a ring buffer of the last `window` rows."""

    def __init__(self, validation: Values | None = None, window: int = WINDOW) -> None:
        self.validation = validation
        self.rows = self.nones = self.recent_none_rows = 0
        self.counts, self.recent, self.total = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64), 0.0
        self._bins, self._none = np.full(window, EMPTY, np.int8), np.zeros(window, bool)

    def add(self, confidence: Values, label: Values) -> None:
        """Count answered rows; a confidence of NaN counts as 0."""
        confidence, none = np.nan_to_num(confidence).astype(np.float64), label == NONE
        bins = bin_index(confidence, BINS, "width")
        self.counts += np.bincount(bins, minlength=BINS)
        self.total += float(confidence.sum())
        self.rows, self.nones = self.rows + len(bins), self.nones + int(none.sum())
        bins, none = bins[-len(self._bins) :], none[-len(self._bins) :]
        place = np.arange(self.rows - len(bins), self.rows) % len(self._bins)
        old = self._bins[place]
        self.recent += np.bincount(bins, minlength=BINS) - np.bincount(old[old != EMPTY], minlength=BINS)
        self.recent_none_rows += int(none.sum()) - int(self._none[place].sum())
        self._bins[place], self._none[place] = bins, none

    @property
    def seen(self) -> int:
        """The number of rows in the window."""
        return min(self.rows, len(self._bins))

    def drift(self) -> Drift | None:
        if self.validation is None or not self.seen:
            return None
        known = self.validation.sum()
        gap = self.recent.cumsum() / self.seen - self.validation.cumsum() / known
        return Drift(float(np.abs(gap).max()), CHANCE_QUANTILE * math.sqrt(1 / self.seen + 1 / known))

    def expected_none_share(self, reject: float) -> float | None:
        """The share of the validation set below `reject`, interpolated linearly within its bin."""
        if self.validation is None:
            return None
        edges = np.arange(BINS + 1) / BINS
        return float(np.interp(reject, edges, np.append(0, self.validation.cumsum())) / self.validation.sum())


class ServerMetrics(Collector):
    """The metrics of one model, in a registry of their own. Those of predictions are computed from counts when they are
    collected, so that their cost does not depend on the number of rows."""

    def __init__(self, model: Model, monitor: DriftMonitor, admission: Admission) -> None:
        self.model, self.monitor, self.admission, self.registry = model, monitor, admission, CollectorRegistry()
        self.requests = Counter("slova_requests", "Requests answered.", ["route", "code"], registry=self.registry)
        help_text = "Seconds from the headers of a request to the end of its response."
        self.seconds = Histogram("slova_request_seconds", help_text, ["route"], buckets=SECONDS, registry=self.registry)
        sizes = [1 << power for power in range(13)]
        self.batches = Histogram("slova_batch_rows", "Rows per batch.", buckets=sizes, registry=self.registry)
        info = {"name": model.name, "head": model.head, "classes": str(model.classes), "slova": slova.__version__}
        Info("slova_model", "The model that is served.", registry=self.registry).info(info)
        self._uncounted: list[tuple[Values, Values]] = []
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def request(self, route: str, code: int, seconds: float) -> None:
        self.requests.labels(route, str(code)).inc()
        self.seconds.labels(route).observe(seconds)

    def predicted(self, confidence: Values, label: Values) -> None:
        """Count answered rows, many requests at a time: counting takes about as long for one row as for hundreds."""
        self._uncounted.append((confidence, label))
        if len(self._uncounted) >= TOGETHER:
            self._count()

    def _count(self) -> None:
        if self._uncounted:
            confidence, label = map(np.concatenate, zip(*self._uncounted, strict=True))
            self._uncounted.clear()
            self.monitor.add(confidence, label)

    def collect(self) -> Iterator[Metric]:
        self._count()
        monitor = self.monitor
        yield CounterMetricFamily("slova_rows", "Rows answered.", monitor.rows)
        yield CounterMetricFamily("slova_none", "Rows answered with NONE.", monitor.nones)
        below = np.append(0, monitor.counts.cumsum())
        buckets = [*((str(edge / BINS), float(below[edge])) for edge in EDGES), ("+Inf", float(monitor.rows))]
        yield HistogramMetricFamily("slova_confidence", "Confidence of the predictions.", buckets, monitor.total)
        for name, help_text, value in self._gauges():
            if value is not None:
                yield GaugeMetricFamily(f"slova_{name}", help_text, value)

    def _gauges(self) -> list[tuple[str, str, float | None]]:
        """None where there is nothing to say yet."""
        monitor, reject = self.monitor, self.model.reject
        distance, chance = monitor.drift() or (None, None)
        share = monitor.recent_none_rows / monitor.seen if monitor.seen else None
        distant = "Kolmogorov-Smirnov distance of the confidences in the window from the validation set."
        expected = "The share of the validation set below the default threshold."
        return [
            ("requests_in_flight", "Requests in progress.", self.admission.requests),
            ("body_bytes", "Bytes of the bodies of requests in progress.", self.admission.held),
            ("reject", "The default threshold.", reject),
            ("window_rows", "Rows in the window of recent rows.", monitor.seen),
            ("none_share", "The share of NONE in the window.", share),
            ("none_share_validation", expected, monitor.expected_none_share(reject)),
            ("confidence_drift", distant, distance),
            ("confidence_drift_chance", "95 % quantile of this distance without drift.", chance),
        ]
