"""Ratios of speed of the core, each pair measured side by side in this run. Machines are noisy: read ratios, not
seconds.

make bench-core
"""

from __future__ import annotations

import resource

import numpy as np
from slova_bench.paper_fit import paper_mixture
from timing import side_by_side, timed

from slova import ExponentialCalibration, PairHistogram, log_slova
from slova.calibration import Pairs
from slova.calibration.exponential import smoothed
from slova.calibration.mixture import best_mixture
from slova.metrics import Detection, Ece, Selection


def main() -> None:
    fits()
    histogram()
    states()


def fits() -> None:
    """The optimal fit against the paper's optimiser, on the same 50,000 pairs, for the paper's n_b and for every
    window."""
    logits, labels = validation(5_000, 10)
    pairs = Pairs.of(log_slova(logits), labels)
    print(f"fit of {pairs.total:,.0f} pairs        optimal     paper's   ratio   error: optimal (gap)     paper's")
    for points in (4000, None):
        data = smoothed(pairs, points=points)
        ours, theirs = side_by_side(
            lambda data=data: best_mixture(data), lambda data=data: paper_mixture(data), rounds=3
        )
        best, paper = best_mixture(data), paper_mixture(data)
        times = f"{ours * 1e3:10.1f} ms {theirs * 1e3:8.0f} ms {theirs / ours:7.1f}"
        print(f"  n_b = {len(data.t):<14,d} {times}   {best.error:.4e} ({best.gap:.0e})   {paper.error:.4e}")


def histogram() -> None:
    """Ten million pairs, never sorted."""
    logits, labels = validation(1_000_000, 10)
    log_probs = log_slova(logits)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = timed(lambda: ExponentialCalibration.fit_pairs(PairHistogram.of(log_probs, labels).pairs))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nsketch and fit of 10,000,000 pairs: {seconds:.2f} s, {grown:.0f} MiB beside the data, in all {peak:.0f} MiB"
    )


def states() -> None:
    """Ten million confidences through the mergeable states of metrics, against sorting them once."""
    generator = np.random.default_rng(0)
    probs, labels = generator.random((10_000_000, 1)), np.zeros(10_000_000, int)
    print("\n10,000,000 confidences through a state            of np.sort's time")
    for name, state in (
        ("ECE", lambda: Ece.of(probs, labels)),
        ("AURC, equal-mass ECE", lambda: Selection.of(probs, labels)),
        ("AUROC, AUPR, FPR95", lambda: Detection.of(probs[:5_000_000, 0], probs[5_000_000:, 0])),
    ):
        ours, sort = side_by_side(state, lambda: np.sort(probs[:, 0]), rounds=2)
        print(f"  {name:28s} {ours:14.2f} s {ours / sort:14.2f}")


def validation(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of an overconfident one-vs-all network: labels are drawn by softmax of what the logits exaggerate by a
    half."""
    generator = np.random.default_rng(0)
    truth = generator.normal(-5, 1.5, (rows, classes))
    truth[np.arange(rows), generator.integers(0, classes, rows)] += generator.gamma(3, 3, rows)
    chances = np.exp(truth - truth.max(axis=1, keepdims=True)).cumsum(axis=1)
    labels = (generator.random((rows, 1)) * chances[:, -1:] > chances).sum(axis=1)
    return (1.5 * truth + generator.normal(0, 0.5, truth.shape)).astype(np.float32), labels


if __name__ == "__main__":
    main()
