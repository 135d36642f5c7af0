"""Calibrate on more pairs than fit in memory: each batch becomes a histogram of fixed size, and histograms add up."""

import functools
import operator

import numpy as np

from slova import ExponentialCalibration, PairHistogram, log_slova

generator = np.random.default_rng(0)


def batches(count: int, rows: int = 20_000, classes: int = 10):
    """What a validation job on many machines would yield: overconfident logits and labels."""
    for _ in range(count):
        truth = generator.normal(-5, 1.5, (rows, classes))
        truth[np.arange(rows), generator.integers(0, classes, rows)] += generator.gamma(3, 3, rows)
        chances = np.exp(truth).cumsum(axis=1)
        labels = (generator.random((rows, 1)) * chances[:, -1:] > chances).sum(axis=1)
        yield 1.5 * truth, labels


histograms = (PairHistogram.of(log_slova(logits), labels) for logits, labels in batches(10))
total = functools.reduce(operator.add, histograms)
fitted = ExponentialCalibration.fit_pairs(total.pairs)
print(f"{fitted.report.pairs:,.0f} pairs in {total.count.nbytes * 3 / 1024:.0f} KiB")
print("p     ", np.array([0.1, 0.5, 0.9, 0.99]))
print("c(p)  ", np.exp(fitted(np.log([0.1, 0.5, 0.9, 0.99]))).round(3))
print(f"A raw probability of .9 is calibrated to {np.exp(fitted(np.log(0.9))):.2f}; no two batches were in memory.")
