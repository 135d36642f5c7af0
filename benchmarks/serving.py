"""`slova serve` under load, beside a plain FastAPI endpoint that runs the same ONNX file and has none of the rest: no
dynamic batching, limits, metrics or checks. Loopback, a fixed number of requests, clients in separate processes.

python benchmarks/serving.py [--requests 2000] [--clients 1 16 64 256]

Each pair is measured side by side in this run, in alternating rounds. Machines are noisy: compare ratios, not seconds.
The time of a processor per request depends least on what else runs. Both servers read HTTP with h11, as `slova serve`
always does.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PROCESSES, ROUNDS = 2, 3
FEATURES, CLASSES = 64, 10
PLAIN = """
import sys, numpy as np, onnxruntime, uvicorn
from fastapi import FastAPI

options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(sys.argv[1], options)
name = session.get_inputs()[0].name
app = FastAPI()

@app.post("/predict")
def predict(body: dict):
    rows = np.asarray(body["inputs"], np.float32)
    columns = session.run(["label", "confidence", "none", "ambiguous"], {name: rows})
    names = ("label", "confidence", "none", "ambiguous")
    return [dict(zip(names, row)) for row in zip(*(column.tolist() for column in columns))]

@app.get("/v2/health/live")
async def live():
    return {"live": True}

uvicorn.run(app, port=0, access_log=False, http="h11")
"""


@dataclass(frozen=True)
class Load:
    """Requests of `rows` rows over `connections` connections, as JSON or as binary tensors."""

    rows: int
    connections: int
    binary: bool = False

    def __str__(self) -> str:
        return f"{self.rows:>4} rows {'binary' if self.binary else 'JSON':<6} {self.connections:>3} connections"


LOADS = [Load(1, 1), Load(1, 8), Load(1, 32), Load(32, 8), Load(256, 8), Load(32, 8, True), Load(256, 8, True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=2000, help="of a round")
    help_text = "of one row and one request at a time, in place of the usual loads"
    parser.add_argument("--clients", type=int, nargs="+", metavar="N", help=help_text)
    chosen = parser.parse_args()
    loads = LOADS if chosen.clients is None else [Load(1, clients) for clients in chosen.clients]
    with both_servers() as (ours, theirs):
        compare(loads, chosen.requests, ours, theirs)


def compare(loads: list[Load], requests: int, ours: tuple[int, int], theirs: tuple[int, int]) -> None:
    for each in (ours, theirs):
        measure(Load(1, 8), 500, *each)  # warms up
    before, counted, failed = (memory(ours[1]), memory(theirs[1])), 0, 0
    print(f"{requests:,} requests a round, median of {ROUNDS}; {PROCESSES} client processes, {os.cpu_count()} cores")
    names = f"{'req/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU us':>8}"
    print(f"{'':30} {'slova serve':>36} {'plain FastAPI':>36}   ratio of\n{'':30} {names} {names}   req/s")
    for load in loads:
        rounds = [[measure(load, requests, *each) for each in servers(load, ours, theirs)] for _ in range(ROUNDS)]
        columns = [np.median([each[i][:4] for each in rounds], axis=0) for i in range(len(rounds[0]))]
        failed += sum(each[4] for one in rounds for each in one)
        counted += sum(each[5] for one in rounds for each in one)
        ratio = f"{columns[0][0] / columns[1][0]:7.2f}" if len(columns) > 1 else ""
        print(f"{load!s:30} " + " ".join("{:10,.0f}{:9.2f}{:9.2f}{:8.0f}".format(*each) for each in columns) + ratio)
    after = memory(ours[1]), memory(theirs[1])
    print(f"{counted:,} requests, {failed} errors")
    for name, first, last in zip(("slova serve", "plain"), before, after, strict=True):
        print(f"memory of {name}: {first:.0f} MiB before, {last:.0f} MiB after")


def servers(load: Load, ours: tuple[int, int], theirs: tuple[int, int]) -> list[tuple[int, int]]:
    return [ours] if load.binary else [ours, theirs]


def measure(load: Load, requests: int, port: int, process: int) -> tuple[float, float, float, float, int, int]:
    """Requests per second, median and 99th percentile in milliseconds, microseconds of a processor per request, number
    of errors, number of requests."""
    each = max(1, load.connections // PROCESSES)
    processes = min(PROCESSES, load.connections)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(time.sleep, [0.05] * processes)
        start, before = time.perf_counter(), processor(process)
        found = pool.starmap(client, [(load, requests // processes, each, port)] * processes)
        seconds, used = time.perf_counter() - start, processor(process) - before
    times = np.concatenate([np.asarray(one[0]) for one in found]) * 1e3
    p50, p99 = np.percentile(times, [50, 99])
    return len(times) / seconds, p50, p99, used / len(times) * 1e6, sum(one[1] for one in found), len(times)


def client(load: Load, requests: int, connections: int, port: int) -> tuple[list[float], int]:
    """The seconds of each request of one process, and the number of errors."""
    path, body, headers = request(load)
    with ThreadPoolExecutor(connections) as pool:
        parts = pool.map(lambda _: send_all(requests // connections, port, path, body, headers), range(connections))
        found = list(parts)
    return [second for part in found for second in part[0]], sum(part[1] for part in found)


def send_all(requests: int, port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[list[float], int]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    seconds, failed = [], 0
    for _ in range(requests):
        start = time.perf_counter()
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        seconds.append(time.perf_counter() - start)
        failed += answer.status != 200
    connection.close()
    return seconds, failed


def request(load: Load) -> tuple[str, bytes, dict[str, str]]:
    rows = np.random.default_rng(0).normal(size=(load.rows, FEATURES)).astype(np.float32)
    if not load.binary:
        return "/predict", json.dumps({"inputs": rows.round(4).tolist()}).encode(), {"Content-Type": "application/json"}
    tensor: dict[str, Any] = {"name": "input", "shape": list(rows.shape), "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": rows.nbytes}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}
    return "/v2/models/model/infer", head + rows.tobytes(), headers


@contextmanager
def both_servers(features: int = FEATURES) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Port and process of `slova serve`, and those of a plain endpoint of the same model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write_model(path, features)
        (Path(folder) / "plain.py").write_text(PLAIN)
        ours = [sys.executable, "-m", "slova", "serve", str(path), "--port", "0"]
        theirs = [sys.executable, str(Path(folder) / "plain.py"), str(path)]
        with started(ours) as one, started(theirs) as other:
            yield one, other


@contextmanager
def started(command: list[str]) -> Iterator[tuple[int, int]]:
    """The port and the process of a server, which prints its address when it is ready."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stderr or [])
            found = next(filter(None, (re.search(r"http://127.0.0.1:(\d+)", line) for line in lines)))
            yield int(found[1]), process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def processor(process: int) -> float:
    """Seconds of a processor that a process has used, on Linux."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Resident memory of a process in MiB, on Linux."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def write_model(path: Path, features: int) -> None:
    """A network of two layers, calibrated and exported."""
    import torch
    from torch import nn

    import slova

    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(features, 256), nn.ReLU(), nn.Linear(256, CLASSES))
    rows = torch.randn(2000, features)
    with torch.no_grad():
        labels = network(rows).argmax(-1)
    slova.Classifier.fit(network, (rows, labels), rescale=True).export(path)


if __name__ == "__main__":
    main()
