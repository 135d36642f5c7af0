"""Compute shifted images in advance on several processes, so that a GPU does not wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from slova_bench.pipeline import Bench
from slova_bench.test_sets import TestSet, shifted_sets

__all__ = ["prepare"]


def prepare(bench: Bench, workers: int) -> Iterator[TestSet]:
    """Store every shifted set of the data set, and yield each when it is done."""
    if bench.store.folder is None:
        raise ValueError("a store is needed to keep the images")
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = {pool.submit(_make, bench, test): test for test in shifted_sets(bench) if test.shift}
        for job in as_completed(jobs):
            job.result()
            yield jobs[job]


def _make(bench: Bench, test: TestSet) -> None:
    import torch

    torch.set_num_threads(1)
    test.load(bench)
