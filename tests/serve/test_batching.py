"""Requests are batched and separated again; a failed or cancelled one does not affect the others."""

import asyncio
import threading

import numpy as np
import pytest
from starlette.requests import ClientDisconnect

from slova.serve import Batching, batching
from slova.serve.batching import Batcher, Job
from slova.serve.limits import RequestError


class Recorder:
    """A model that doubles numbers, records its batches, fails on 13 and waits for its gate."""

    def __init__(self) -> None:
        self.batches, self.wanted = [], []
        self.started, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def __call__(self, inputs, wanted):
        self.started.set()
        self.gate.wait(60)
        values = inputs["x"]
        self.batches.append(values[:, 0].tolist())
        self.wanted.append(wanted)
        if 13 in values:
            raise RequestError(400, "13 is not served")
        return dict.fromkeys(wanted, 2 * values)


def together(jobs, *, rows=8, seconds=0.0, recorder=None, held=True):
    """The outcomes of jobs (numbers, or numbers and options) that are queued while a first one runs, if held."""
    recorder = recorder or Recorder()

    async def run():
        batcher = Batcher(recorder, Batching(rows=rows, seconds=seconds), lambda rows: None)
        async with batcher.working():
            if held:
                recorder.gate.clear()
                first = await running(batcher, recorder, [0])
            tasks = [asyncio.create_task(batcher.outputs(made(one))) for one in jobs]
            await asyncio.sleep(0)  # all of them are in the queue
            recorder.gate.set()
            if held:
                await first
            return await asyncio.gather(*tasks, return_exceptions=True)

    return recorder, asyncio.run(run())


async def running(batcher, recorder, numbers):
    """A job that the model is working on."""
    task = asyncio.create_task(batcher.outputs(made(numbers)))
    assert await asyncio.to_thread(recorder.started.wait, 60)
    return task


def made(numbers, width=1, disconnected=False, wanted=("label",)):
    async def is_disconnected():
        return disconnected

    if isinstance(numbers, tuple):
        numbers, extra = numbers
        return made(numbers, **extra)
    return Job({"x": np.repeat(np.asarray(numbers, float)[:, None], width, axis=1)}, wanted, is_disconnected)


@pytest.mark.parametrize(("short", "expected"), [(float("inf"), "MainThread"), (0.0, "slova-model_0")])
def test_a_lone_request_runs_at_once_where_the_last_run_of_such_rows_was_short(monkeypatch, short, expected):
    threads, recorder = [], Recorder()
    monkeypatch.setattr(batching, "SHORT", short)

    def run(inputs, wanted):
        threads.append(threading.current_thread().name)
        return recorder(inputs, wanted)

    async def ask():
        batcher = Batcher(run, Batching(), lambda rows: None)
        async with batcher.working():
            for job in ([1, 2], [3], [4, 5], [6, 7, 8], ([9], {"width": 2}), ([9], {"width": 2})):
                await batcher.outputs(made(job))
            await asyncio.gather(*(batcher.outputs(made(([number], {"width": 2}))) for number in (10, 11)))

    asyncio.run(ask())
    new = "slova-model_0"  # more rows, or another shape, or more than one request
    assert threads == [new, expected, expected, new, new, expected, new]
    assert sorted(recorder.batches[-1]) == [10, 11]


def test_the_model_runs_once_at_a_time_when_a_running_request_is_cancelled(monkeypatch):
    recorder, threads = Recorder(), []
    monkeypatch.setattr(batching, "SHORT", float("inf"))

    def run(inputs, wanted):
        threads.append(threading.current_thread().name)
        return recorder(inputs, wanted)

    async def ask():
        batcher = Batcher(run, Batching(), lambda rows: None)
        async with batcher.working():
            await batcher.outputs(made([1]))
            recorder.started.clear()
            recorder.gate.clear()
            first = await running(batcher, recorder, [2, 3])
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            second = asyncio.create_task(batcher.outputs(made([4])))
            await asyncio.sleep(0)
            recorder.gate.set()
            await second

    asyncio.run(ask())
    assert set(threads) == {"slova-model_0"}


def test_queued_requests_run_in_one_batch_and_each_gets_its_own_rows():
    recorder, found = together([[1, 2], [3], [4, 5, 6]])
    assert recorder.batches == [[0], [1, 2, 3, 4, 5, 6]]
    assert [each["label"][:, 0].tolist() for each in found] == [[2, 4], [6], [8, 10, 12]]


def test_a_batch_is_no_larger_than_its_limit_unless_one_request_is():
    recorder, _ = together([[1, 2], [3, 4], [5], [6] * 7, [7]], rows=4)
    assert recorder.batches == [[0], [1, 2, 3, 4], [5, 7], [6] * 7]


def test_no_request_starves():
    recorder, _ = together([[1] * 3, [2] * 3, *[[9]] * 6], rows=4)
    assert recorder.batches[2][:3] == [2] * 3


def test_rows_of_different_shapes_are_not_batched():
    recorder, found = together([[1], ([2], {"width": 3}), [3], ([4], {"width": 3})])
    assert recorder.batches == [[0], [1, 3], [2, 4]]
    assert found[1]["label"].tolist() == [[4, 4, 4]]


def test_each_request_gets_the_outputs_that_it_requested():
    jobs = [([1], {"wanted": ("label",)}), ([2], {"wanted": ("label", "none")})]
    recorder, found = together(jobs)
    assert recorder.wanted[1] == ("label", "none")
    assert [list(each) for each in found] == [["label"], ["label", "none"]]


def test_a_failed_batch_is_repeated_one_request_at_a_time():
    recorder, found = together([[1], [13], [3]])
    assert isinstance(found[1], RequestError)
    assert [found[i]["label"].tolist() for i in (0, 2)] == [[[2]], [[6]]]
    assert recorder.batches == [[0], [1, 13, 3], [1], [13], [3]]


def test_cancelled_and_disconnected_requests_are_not_run(monkeypatch):
    monkeypatch.setattr(batching, "DISCONNECT_CHECK_SECONDS", -1.0)

    async def run():
        recorder = Recorder()
        recorder.gate.clear()
        batcher = Batcher(recorder, Batching(), lambda rows: None)
        async with batcher.working():
            tasks = [await running(batcher, recorder, [0])]
            jobs = [[1], ([2], {"disconnected": True}), [3]]
            tasks += [asyncio.create_task(batcher.outputs(made(job))) for job in jobs]
            await asyncio.sleep(0)
            tasks[1].cancel()
            recorder.gate.set()
            return recorder, await asyncio.gather(*tasks, return_exceptions=True)

    recorder, found = asyncio.run(run())
    assert recorder.batches == [[0], [3]]
    assert [type(found[i]) for i in (1, 2)] == [asyncio.CancelledError, ClientDisconnect]
    assert found[3]["label"].tolist() == [[6]]


def test_a_request_waits_for_others_until_the_batch_is_full():
    recorder = Recorder()

    async def run():
        async with (batcher := Batcher(recorder, Batching(rows=4, seconds=3600), lambda rows: None)).working():
            first = asyncio.create_task(batcher.outputs(made([1])))
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert recorder.batches == []
            async with asyncio.timeout(60):
                await asyncio.gather(first, *(batcher.outputs(made([n])) for n in (2, 3, 4)))

    asyncio.run(run())
    assert recorder.batches == [[1, 2, 3, 4]]


def test_a_request_does_not_wait_forever_for_others():
    async def run():
        async with (batcher := Batcher(Recorder(), Batching(rows=4, seconds=0.01), lambda rows: None)).working():
            async with asyncio.timeout(60):
                return await batcher.outputs(made([1]))

    assert asyncio.run(run())["label"].tolist() == [[2]]


def test_unfinished_requests_get_an_error_at_shutdown():
    async def run():
        recorder = Recorder()
        recorder.gate.clear()
        batcher = Batcher(recorder, Batching(), lambda rows: None)
        async with batcher.working():
            first = await running(batcher, recorder, [1])
            second = asyncio.create_task(batcher.outputs(made([2])))
            await asyncio.sleep(0)
        recorder.gate.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    assert [(type(found), found.status) for found in asyncio.run(run())] == [(RequestError, 503)] * 2


def test_a_model_that_returns_another_number_of_rows_is_an_error():
    def run(inputs, wanted):
        return {name: np.zeros(1) for name in wanted}

    _, found = together([[1, 2]], recorder=Recorder())
    assert found[0]["label"].shape == (2, 1)

    async def wrong():
        async with (batcher := Batcher(run, Batching(), lambda rows: None)).working():
            return await batcher.outputs(made([1, 2]))

    with pytest.raises(ValueError, match=r"the model returned label \(1,\) for 2 rows"):
        asyncio.run(wrong())
