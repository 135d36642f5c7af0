"""On Ray Serve the routes, answers and errors are those of `slova serve`, and a killed replica is replaced."""

import asyncio
import json
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pytest

from slova.serve import Batching, Limits, ModelError, application, listen, load_model
from slova.serve import ray as on_ray
from slova.serve.batching import Batcher

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ray's own
    ray = pytest.importorskip("ray")
    serve = pytest.importorskip("ray.serve", reason="Ray Serve is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
LIMITS = Limits(body=20_000, rows=200)
ROW = [[4.0, -4.0, -5.0]]
TENSOR = {"name": "logits", "shape": [1, 3], "datatype": "FP32", "data": ROW[0]}
REQUESTS = {
    "predict": ("POST", "/predict", {"inputs": ROW}),
    "a threshold": ("POST", "/predict", {"inputs": ROW, "reject": 1.0}),
    "infer": ("POST", "/v2/models/model/infer", {"inputs": [TENSOR], "parameters": {"binary_data_output": True}}),
    "one output": ("POST", "/v2/models/model/infer", {"inputs": [TENSOR], "outputs": [{"name": "log_probs"}]}),
    "the model": ("GET", "/v2/models/model", None),
    "the description": ("GET", "/predict", None),
    "health": ("GET", "/v2/health/ready", None),
    "a wrong shape": ("POST", "/predict", {"inputs": [[1.0]]}),
    "an unknown key": ("POST", "/predict", {"inputs": ROW, "rejct": 0.5}),
    "text": ("POST", "/predict", {"inputs": [["a", "b", "c"]]}),
    "no JSON": ("POST", "/predict", "no"),
    "too many rows": ("POST", "/predict", {"inputs": ROW * 201}),
    "too large": ("POST", "/predict", {"inputs": [[0.123456789] * 3] * 1000}),
    "an unknown model": ("POST", "/v2/models/other/infer", {"inputs": [TENSOR]}),
    "an unknown path": ("GET", "/nowhere", None),
}


@pytest.fixture(scope="module")
def file(scorer, tmp_path_factory):
    path = tmp_path_factory.mktemp("ray") / "model.slova"
    scorer.save(path)
    return path


@pytest.fixture(scope="module")
def cluster(file, client_of):
    """Two replicas on a local cluster, which may have been started by the tests of the batch engines."""
    ours = not ray.is_initialized()
    if ours:
        ray.init("local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    options = {"num_replicas": 2, "ray_actor_options": {"num_cpus": 0.1}, "health_check_period_s": 0.5}
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(on_ray.application(file, limits=LIMITS, batching=Batching(seconds=0.1), **options))
    except Exception as error:  # on a busy machine Ray kills its own proxy when that is not ready in a few seconds
        pytest.skip(f"Ray Serve did not start: {str(error).splitlines()[0]}")
    else:
        yield client_of(port)
    finally:
        serve.shutdown()
        if ours:
            ray.shutdown()


@pytest.fixture(scope="module")
def plain(file, running_server):
    with running_server(application(load_model(file), limits=LIMITS), LIMITS) as client:
        yield client


@pytest.mark.parametrize("case", REQUESTS)
def test_answers_and_errors_are_those_of_the_server(cluster, plain, case):
    method, path, content = REQUESTS[case]
    body = content if isinstance(content, str | None) else json.dumps(content)
    (status, headers, found), (code, others, expected) = (each.ask(method, path, body) for each in (cluster, plain))
    assert (status, headers["content-type"], found) == (code, others["content-type"], expected)


def test_requests_at_once_are_answered_in_batches_with_the_predictions_of_the_scorer(cluster, scorer, logits):
    def one(row):
        return cluster.predict({"inputs": [row]})

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, logits[:64].tolist()))
    assert {status for status, _ in found} == {200}
    expected = scorer.predict(logits[:64])
    rows = [content[0] for _, content in found]
    assert [-1 if row["label"] is None else row["label"] for row in rows] == expected.label.tolist()
    for name in ("confidence", "none", "ambiguous"):
        np.testing.assert_allclose([row[name] for row in rows], getattr(expected, name), atol=1e-6)
    metrics = cluster.metrics()
    assert metrics['slova_batch_rows_bucket{le="16.0"}'] > metrics['slova_batch_rows_bucket{le="1.0"}']


def test_a_killed_replica_is_replaced_and_every_request_is_answered_after_retries(cluster, scorer, logits):
    before, stop, answers = replicas(), threading.Event(), []

    def ask():
        while not stop.is_set():
            answers.append(retried(cluster, {"inputs": [logits[len(answers) % len(logits)].tolist()]}))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        ray.kill(ray.get_actor(min(before), namespace="serve"))
        while not (min(before) not in replicas() and replicas() - before):
            stop.wait(0.1)
        count = len(answers)
        while len(answers) < count + 20:
            stop.wait(0.01)
    finally:
        stop.set()
        thread.join()
    expected = np.resize(scorer.predict(logits).confidence, len(answers))
    np.testing.assert_allclose([answer[0]["confidence"] for answer in answers], expected, atol=1e-6)


def retried(client, content):
    """As a client does for which the connection broke, or which was told that the server failed."""
    for _ in range(1000):
        try:
            status, answer = client.predict(content)
        except (OSError, HTTPException, ValueError):  # the proxy says it in plain text, not in JSON
            continue
        assert status == 200 or status >= 500, answer
        if status == 200:
            return answer
    raise AssertionError("a thousand retries")


def replicas():
    """The names of the replicas."""
    named = ray.util.list_named_actors(all_namespaces=True)
    return {each["name"] for each in named if each["name"].startswith("SERVE_REPLICA::")}


@pytest.mark.parametrize("broken", [False, True])
def test_a_replica_is_healthy_if_the_model_runs(file, monkeypatch, broken):
    def fail(inputs, wanted):
        raise RuntimeError("out of memory")

    model = load_model(file)
    monkeypatch.setattr(on_ray, "load_model", lambda **_: replace(model, run=fail if broken else model.run))
    monkeypatch.setattr(on_ray, "RayBatcher", Batcher)
    replica = on_ray.Replica({}, LIMITS, Batching(), None, 100)

    async def check():
        async with replica._service.batcher.working():
            await replica.check_health()

    if broken:
        with pytest.raises(RuntimeError, match="out of memory"):
            asyncio.run(check())
    else:
        asyncio.run(check())


def test_a_file_that_cannot_be_served_is_an_error_before_ray_has_it(tmp_path):
    with pytest.raises(ModelError, match=r"must end in \.onnx or \.slova"):
        on_ray.application(tmp_path / "model.pt")


def test_the_snippet_of_the_guide_deploys_the_model(file, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    found = []
    monkeypatch.chdir(file.parent)
    monkeypatch.setattr(serve, "run", lambda app, **_: found.append(app))
    exec(compile(re.search(r"```python ray\n(.*?)```", page, re.DOTALL)[1], "serving.md", "exec"), {})
    assert isinstance(found[0], serve.Application)
