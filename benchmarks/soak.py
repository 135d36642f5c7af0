"""`slova serve` for a long time at a bounded rate, beside a plain endpoint of the same framework: errors, p99, memory.

python benchmarks/soak.py [--minutes 30] [--rate 40]

Both get the same valid requests. `slova serve` also gets requests that it must refuse: malformed ones, bodies of a
megabyte of empty lists, and clients that disconnect within their body; its health route is asked meanwhile. An answer
other than the expected one is an error. One line per minute. At the end, eight bodies of 15 MiB come at once.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict

import numpy as np
from large_bodies import beside, connect
from serving import Load, both_servers, memory, request

KINDS = {"one row": 200, "32 rows": 200, "malformed": 400, "empty lists": 400, "disconnected": 0, "health": 200}
HOSTILE = 0.1  # the share of other requests, beside the valid ones
EMPTY = b'{"inputs":[' + b"[]," * (1 << 18) + b"[]]}"


class Tally:
    """Seconds and errors by server and kind of request, since the last report and in all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.wrong: list[str] = []
        self.count = 0

    def add(self, server: str, kind: str, seconds: float, status: int) -> None:
        with self.lock:
            self.seconds[server, kind].append(seconds)
            self.count += 1
            if status != KINDS[kind]:
                self.wrong.append(f"{server}: {kind} answered with {status}")

    def p99(self, server: str, *kinds: str) -> float:
        found = [second for kind in kinds for second in self.seconds[server, kind]]
        return 1e3 * float(np.percentile(found, 99)) if found else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=40, help="valid requests per second and server")
    options = parser.parse_args()
    with both_servers() as (ours, theirs):
        wrong = soak(options.minutes, options.rate, ours, theirs)
    sys.exit(bool(wrong))


def soak(minutes: float, rate: float, ours: tuple[int, int], theirs: tuple[int, int]) -> int:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{minutes:g} minutes, {rate:g} valid requests per second and server, commit {commit or 'unknown'}")
    heads = [f"{name:>8}" for name in ("requests", "errors", "p99 ms", "plain", "health", "MiB", "plain")]
    print(f"{'minute':>6} {' '.join(heads)}")
    whole, wrong, end = 0, 0, time.monotonic() + 60 * minutes
    tally, minute = Tally(), 0
    with Senders(ours[0], theirs[0], rate, lambda: tally) as stop:
        while time.monotonic() < end:
            stop.wait(min(60.0, max(0.0, end - time.monotonic())))
            done, tally = tally, Tally()
            minute, whole, wrong = minute + 1, whole + done.count, wrong + len(done.wrong)
            valid = [done.p99(server, "one row", "32 rows") for server in ("slova", "plain")]
            memories = f"{memory(ours[1]):8.0f} {memory(theirs[1]):8.0f}"
            times = f"{valid[0]:8.1f} {valid[1]:8.1f} {done.p99('slova', 'health'):8.1f}"
            print(f"{minute:6} {done.count:8,} {len(done.wrong):8} {times} {memories}", flush=True)
            for sentence in sorted(set(done.wrong))[:5]:
                print(f"       {sentence}")
    print(f"{whole:,} requests, {wrong} errors")
    flood(*ours)
    return wrong


def flood(port: int, process: int) -> None:
    """Eight bodies of 15 MiB at once, and the health route meanwhile."""
    for name, unit in (("empty lists", b"[],"), ("numbers", b"0.1234,")):
        body = b'{"inputs":[' + unit * ((15 << 20) // len(unit)) + unit[:-1] + b"]}"
        waits, _, peak, _ = beside(8 * [("/predict", body)], 1, port, process)
        print(f"eight bodies of 15 MiB of {name}: health at most {max(waits):.0f} ms, memory at most {peak:.0f} MiB")


class Senders:
    """Threads that send requests at a rate until the end of the block."""

    def __init__(self, port: int, plain_port: int, rate: float, tally: object) -> None:
        self.stop = threading.Event()
        targets = {"slova": port, "plain": plain_port}
        self.threads = [
            threading.Thread(target=send, args=(name, each, kind, share * rate / 2, seed, tally, self.stop))
            for name, each in targets.items()
            for seed in range(2)
            for kind, share in shares(name).items()
        ]

    def __enter__(self) -> threading.Event:
        for thread in self.threads:
            thread.start()
        return self.stop

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(60)


def shares(server: str) -> dict[str, float]:
    valid = {"one row": 0.8, "32 rows": 0.2}
    other = dict.fromkeys(("malformed", "empty lists", "disconnected"), HOSTILE / 4) | {"health": 0.1}
    return valid | (other if server == "slova" else {})


def send(server: str, port: int, kind: str, rate: float, seed: int, tally, stop: threading.Event) -> None:  # type: ignore[no-untyped-def]
    """Requests of one kind over one connection, at random times of this rate."""
    pauses, connection = random.Random(f"{server} {kind} {seed}"), connect(port)
    body = {
        "one row": request(Load(1, 1))[1],
        "32 rows": request(Load(32, 1))[1],
        "malformed": json.dumps({"inputs": [[1, "x"]]}).encode(),
        "empty lists": EMPTY,
    }.get(kind)
    while not stop.wait(pauses.expovariate(rate)):
        start = time.perf_counter()
        if kind == "disconnected":
            status = disconnect(port)
        else:
            try:
                method, path = ("GET", "/v2/health/live") if kind == "health" else ("POST", "/predict")
                connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except OSError:
                connection, status = connect(port), -1
        tally().add(server, kind, time.perf_counter() - start, status)
    connection.close()


def disconnect(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    return 0


if __name__ == "__main__":
    main()
