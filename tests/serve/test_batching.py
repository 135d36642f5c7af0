"""Requests run together and come apart again; whoever is at fault, or gone, concerns nobody else."""

import asyncio
import threading
import time

import numpy as np
import pytest
from starlette.requests import ClientDisconnect

from slova.serve import Batching
from slova.serve.batching import Batcher, Job
from slova.serve.limits import Refused


class Recorder:
    """A model that doubles numbers, remembers its batches, refuses 13 and waits for its gate."""

    def __init__(self) -> None:
        self.batches, self.wanted, self.gate = [], [], threading.Event()
        self.gate.set()

    def __call__(self, inputs, wanted):
        self.gate.wait(10)
        values = inputs["x"]
        self.batches.append(values[:, 0].tolist())
        self.wanted.append(wanted)
        if 13 in values:
            raise Refused(400, "13 is not served")
        return dict.fromkeys(wanted, 2 * values)


def together(jobs, *, rows=8, seconds=0.0, recorder=None, held=True):
    """The outcomes of jobs (lists of numbers, or `job` objects) that wait while a first one runs, if held."""
    recorder = recorder or Recorder()

    async def run():
        batcher = Batcher(recorder, Batching(rows=rows, seconds=seconds), lambda rows: None)
        async with batcher.working():
            if held:
                recorder.gate.clear()
                first = asyncio.create_task(batcher.outputs(made([0])))
                await asyncio.sleep(0.02)
            tasks = [asyncio.create_task(batcher.outputs(made(one))) for one in jobs]
            await asyncio.sleep(0.02)
            recorder.gate.set()
            if held:
                await first
            return await asyncio.gather(*tasks, return_exceptions=True)

    return recorder, asyncio.run(run())


def made(numbers, width=1, gone=False, wanted=("label",)):
    async def is_gone():
        return gone

    if isinstance(numbers, tuple):
        numbers, extra = numbers
        return made(numbers, **extra)
    return Job({"x": np.repeat(np.asarray(numbers, float)[:, None], width, axis=1)}, wanted, is_gone)


def test_what_waits_runs_at_once_and_everyone_gets_their_own_rows():
    recorder, found = together([[1, 2], [3], [4, 5, 6]])
    assert recorder.batches == [[0], [1, 2, 3, 4, 5, 6]]
    assert [each["label"][:, 0].tolist() for each in found] == [[2, 4], [6], [8, 10, 12]]


def test_a_batch_is_no_larger_than_its_limit_unless_one_request_is():
    recorder, _ = together([[1, 2], [3, 4], [5], [6] * 7, [7]], rows=4)
    assert recorder.batches == [[0], [1, 2, 3, 4], [5, 7], [6] * 7]


def test_nobody_is_overtaken_for_ever():
    recorder, _ = together([[1] * 3, [2] * 3, *[[9]] * 6], rows=4)
    assert recorder.batches[2][:3] == [2] * 3


def test_rows_of_different_shapes_are_not_put_together():
    recorder, found = together([[1], ([2], {"width": 3}), [3], ([4], {"width": 3})])
    assert recorder.batches == [[0], [1, 3], [2, 4]]
    assert found[1]["label"].tolist() == [[4, 4, 4]]


def test_everyone_gets_the_outputs_they_asked_for_and_no_others():
    jobs = [([1], {"wanted": ("label",)}), ([2], {"wanted": ("label", "none")})]
    recorder, found = together(jobs)
    assert recorder.wanted[1] == ("label", "none")
    assert [list(each) for each in found] == [["label"], ["label", "none"]]


def test_a_run_that_fails_is_the_fault_of_one():
    recorder, found = together([[1], [13], [3]])
    assert isinstance(found[1], Refused)
    assert [found[i]["label"].tolist() for i in (0, 2)] == [[[2]], [[6]]]
    assert recorder.batches == [[0], [1, 13, 3], [1], [13], [3]]


def test_whoever_left_while_waiting_is_not_run():
    async def run():
        recorder = Recorder()
        recorder.gate.clear()
        batcher = Batcher(recorder, Batching(), lambda rows: None)
        async with batcher.working():
            tasks = [asyncio.create_task(batcher.outputs(made([0])))]
            await asyncio.sleep(0.02)
            jobs = [[1], ([2], {"gone": True}), [3]]
            tasks += [asyncio.create_task(batcher.outputs(made(job))) for job in jobs]
            await asyncio.sleep(0.1)
            tasks[1].cancel()
            recorder.gate.set()
            return recorder, await asyncio.gather(*tasks, return_exceptions=True)

    recorder, found = asyncio.run(run())
    assert recorder.batches == [[0], [3]]
    assert [type(found[i]) for i in (1, 2)] == [asyncio.CancelledError, ClientDisconnect]
    assert found[3]["label"].tolist() == [[6]]


def test_a_request_waits_for_company_no_longer_than_it_is_told():
    recorder = Recorder()

    async def run():
        async with (batcher := Batcher(recorder, Batching(rows=4, seconds=0.3), lambda rows: None)).working():
            start = time.perf_counter()
            first = asyncio.create_task(batcher.outputs(made([1])))
            await asyncio.sleep(0.05)
            await asyncio.gather(first, batcher.outputs(made([2])))
            waited = time.perf_counter() - start
            start = time.perf_counter()
            await asyncio.gather(*(batcher.outputs(made([n])) for n in range(4)))
            return waited, time.perf_counter() - start

    waited, full = asyncio.run(run())
    assert recorder.batches == [[1, 2], [0, 1, 2, 3]]
    assert 0.25 < waited < 0.6
    assert full < 0.25


def test_who_waits_when_the_server_ends_is_told():
    async def run():
        recorder = Recorder()
        recorder.gate.clear()
        batcher = Batcher(recorder, Batching(), lambda rows: None)
        async with batcher.working():
            first = asyncio.create_task(batcher.outputs(made([1])))
            await asyncio.sleep(0.02)
            second = asyncio.create_task(batcher.outputs(made([2])))
            await asyncio.sleep(0.02)
        recorder.gate.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    assert [(type(found), found.status) for found in asyncio.run(run())] == [(Refused, 503)] * 2


def test_a_model_that_gives_another_number_of_rows_is_an_error():
    def run(inputs, wanted):
        return {name: np.zeros(1) for name in wanted}

    _, found = together([[1, 2]], recorder=Recorder())
    assert found[0]["label"].shape == (2, 1)

    async def wrong():
        async with (batcher := Batcher(run, Batching(), lambda rows: None)).working():
            return await batcher.outputs(made([1, 2]))

    with pytest.raises(ValueError, match=r"the model gave label \(1,\) for 2 rows"):
        asyncio.run(wrong())
