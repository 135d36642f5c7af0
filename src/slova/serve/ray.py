"""The same server on Ray Serve, which starts and replaces the replicas, distributes the requests and forms the batches.

    from ray import serve
    from slova.serve.ray import application

    serve.run(application("model.slova", num_replicas=2))

Routes, answers and errors are those of `slova serve`. Limits are those of one replica. The time limits for headers and
for clients that do not read their responses are those of Ray's proxy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from slova.serve.application import DEFAULT_BATCHING, DEFAULT_LIMITS, Service, asgi
from slova.serve.batching import Job, Run, outcomes
from slova.serve.limits import Batching, Limits, RequestError
from slova.serve.load import load_model
from slova.serve.model import Arrays
from slova.serve.monitoring import WINDOW

__all__ = ["application"]


def application(
    path: str | Path,
    *,
    name: str | None = None,
    reject: float | None = None,
    threads: int = 1,
    limits: Limits = DEFAULT_LIMITS,
    batching: Batching = DEFAULT_BATCHING,
    token: str | None = None,
    window: int = WINDOW,
    **options: Any,
) -> Any:
    """An application for `ray.serve.run`. The file must be at the same path on every node; a file that cannot be served
    is an error here, not in the replicas.

    name, reject, threads: as for `slova.serve.load_model`; one thread, because Ray gives a replica one core
    limits, batching, token, window: as for `slova.serve.application`, per replica
    options: those of `ray.serve.deployment`, such as num_replicas, autoscaling_config and health_check_period_s
    """
    serve = _ray_serve()
    file: dict[str, Any] = {"path": Path(path).resolve(), "name": name, "reject": reject, "threads": threads}
    load_model(**file)
    given = {"name": "slova", "max_ongoing_requests": max(limits.requests, batching.rows)} | options
    deployment = serve.deployment(**given)(serve.ingress()(Replica))
    return deployment.bind(file, limits, batching, token, window)


class Replica:
    """A process of Ray with the model in it."""

    def __init__(
        self, file: dict[str, Any], limits: Limits, batching: Batching, token: str | None, window: int
    ) -> None:
        self._service = Service(load_model(**file), limits, batching, window, RayBatcher)
        self._token = token

    def __serve_build_asgi_app__(self) -> FastAPI:
        return asgi(self._service, self._token)

    async def check_health(self) -> None:
        """Run the model on a row. Ray replaces a replica in which this fails or takes too long."""
        if (zeros := self._service.model.zeros(1)) is not None:
            with suppress(RequestError):  # an answer: not every model takes zeros
                await self._service.batcher.outputs(Job(zeros, ("label",), _connected))


class RayBatcher:
    """The queue of a replica: that of `ray.serve.batch`. Rows are counted, not requests. In a batch of different
    shapes requests run one at a time. Ray itself drops those of disconnected clients."""

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None]) -> None:
        pool = self._pool = ThreadPoolExecutor(1, "slova-model")

        @_ray_serve().batch(
            max_batch_size=batching.rows,
            batch_wait_timeout_s=batching.seconds,
            batch_size_fn=lambda jobs: sum(min(job.rows, batching.rows) for job in jobs),  # a large one runs alone
        )  # type: ignore[untyped-decorator]
        async def outcomes_of(jobs: list[Job]) -> list[Any]:
            observe(sum(job.rows for job in jobs))
            return await asyncio.get_running_loop().run_in_executor(pool, outcomes, run, jobs)

        self._outcome = outcomes_of

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        yield
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def outputs(self, job: Job) -> Arrays:
        outcome: Arrays | Exception = await self._outcome(job)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def _connected() -> bool:
    return False


def _ray_serve() -> Any:
    try:
        from ray import serve
    except ImportError as error:
        raise ImportError('slova.serve.ray needs Ray Serve: pip install "slova[ray-serve]"') from error
    return serve
