"""How long the health route takes beside large JSON bodies: `slova serve`, and a plain endpoint of the same framework.

python benchmarks/large_bodies.py [--bodies 1 6 8] [--rounds 3] [--only rows …]

Bodies of 15 MiB are sent at once by another process. Health is asked over and over, each time over a new connection,
until all bodies are answered. The first line of a server is health beside nothing, which is the noise of the machine.
Peak memory is that of the server, its resident memory before included.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import re
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
from serving import both_servers

MIB = 1 << 20
SIZE, ROWS, FEATURES = 15 * MIB, 4096, 548
ROW = b"[" + b",".join([b"0.1234"] * FEATURES) + b"]"
INFER = "/v2/models/model/infer"
LEAST = 500  # how often health is asked beside nothing
PLAIN = ("rows", "late error")  # what is also sent to the plain endpoint


def bodies() -> dict[str, tuple[str, bytes]]:
    """Path and body by name: three valid ones, and others that are refused."""
    rows = b",".join([ROW] * ROWS)
    head = b'{"inputs":[{"name":"input","shape":[%d,%d],"datatype":"FP32","data":[' % (ROWS, FEATURES)
    return {
        "rows": ("/predict", b'{"inputs":[' + rows + b"]}"),
        "tensor": (INFER, head + rows + b"]}]}"),
        "flat tensor": (INFER, head + rows.replace(b"[", b"").replace(b"]", b"") + b"]}]}"),
        "late error": ("/predict", b'{"inputs":[' + rows + b"]x"),
        "late short row": ("/predict", b'{"inputs":[' + rows[:-8] + b"]]}"),
        "late text": ("/predict", b'{"inputs":[' + rows[:-7] + b'"text"]]}'),
        "empty lists": ("/predict", b'{"inputs":[' + b"[]," * (SIZE // 3) + b"[]]}"),
        "spaces": ("/predict", b'{"inputs":' + b" " * SIZE + b"[]}"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, nargs="+", default=[1, 6, 8], help="at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=bodies(), default=list(bodies()), help="kinds of bodies")
    chosen = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"bodies of 15 MiB, {chosen.rounds} rounds, commit {commit or 'unknown'}; health in ms, memory in MiB")
    heads = "".join(f"{name:>9}" for name in ("asked", "median", "p99", "max", "seconds", "memory"))
    print(f"{'server':<12}{'body':<16}{'at once':>8}{heads}  answers")
    with both_servers(FEATURES) as servers:
        for server, where in zip(("slova serve", "plain"), servers, strict=True):
            report(server, "nothing", [], chosen.rounds, *where)
            for name in chosen.only:
                for count in chosen.bodies if server != "plain" or name in PLAIN else []:
                    report(server, name, count * [bodies()[name]], chosen.rounds, *where)


def report(server: str, name: str, requests: list[tuple[str, bytes]], rounds: int, port: int, process: int) -> None:
    waits, seconds, peak, answers = beside(requests, rounds, port, process)
    times = "".join(f"{each:9.1f}" for each in (*np.percentile(waits, [50, 99, 100]), seconds))
    line = f"{len(requests):>8}{len(waits):9}{times}{peak:9.0f}  {dict(answers)}"
    print(f"{server:<12}{name:<16}{line}", flush=True)


def beside(
    requests: list[tuple[str, bytes]], rounds: int, port: int, process: int
) -> tuple[list[float], float, float, Counter[int]]:
    """The milliseconds of health beside these requests, sent at once; the seconds of a round; the peak of memory; how
    often the requests got each status."""
    waits: list[float] = []
    answers: Counter[int] = Counter()
    Path(f"/proc/{process}/clear_refs").write_text("5")  # the peak begins anew
    start = time.perf_counter()
    for _ in range(rounds):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(int)
            sent = pool.apply_async(send, (port, requests))
            while not sent.ready() or (not requests and len(waits) < LEAST):
                waits.append(health(port))
            answers.update(sent.get())
    seconds = (time.perf_counter() - start) / rounds
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    peak = int(found[1]) / 1024 if found else float("nan")
    return waits, seconds, peak, answers


def health(port: int) -> float:
    """The milliseconds until health is answered."""
    start = time.perf_counter()
    connection = connect(port)
    connection.request("GET", "/v2/health/live")
    connection.getresponse().read()
    connection.close()
    return 1e3 * (time.perf_counter() - start)


def send(port: int, requests: list[tuple[str, bytes]]) -> list[int]:
    """The status of each."""
    found: list[int] = []
    threads = [threading.Thread(target=lambda each=each: found.append(post(port, *each))) for each in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def post(port: int, path: str, body: bytes) -> int:
    connection = connect(port)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120)


if __name__ == "__main__":
    main()
