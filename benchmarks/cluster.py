"""`slova score` on a cluster of several nodes, one of which is killed in the middle: nothing may be lost.

A folder of parquet files is scored by one process, then on Ray and on Spark: each a cluster of real nodes on this
machine (a head or master without a core, and one node per core). When a third of the parts is written, one node is
killed with all its processes. Afterwards every row must be there, bit for bit as one process scored it. Compare
ratios, not seconds.

python benchmarks/cluster.py --rows 100_000_000 --folder /a/disk/with/12/GB
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from engines import CLASSES, Generated, cut, memory

from slova import Scorer

NODES = 2
SLOVA = str(Path(sys.executable).with_name("slova"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--engines", default="ray,spark", help="separated by commas")
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="for 120 bytes per row")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        parts = write_rows(folder, arguments.rows)
        print(f"{arguments.rows:,} rows of {CLASSES} classes, {NODES} nodes, {os.cpu_count()} cores", flush=True)
        print("engine              seconds   ratio   memory of all processes   killed after", flush=True)
        alone = timed("one process", [*words(folder, "alone", "local"), "--workers", "1"], None)
        for engine in filter(None, arguments.engines.split(",")):
            with CLUSTERS[engine]() as (environment, kill):
                killer = Killer(folder, engine, parts, kill)
                with killer:
                    timed(engine, words(folder, engine, engine), alone, environment, killer)
            compare(folder / "alone", folder / engine, arguments.rows)
            shutil.rmtree(folder / engine)
    print("every row was scored as by one process, bit for bit")


def write_rows(folder: Path, rows: int) -> int:
    """Parquet files of logits and a calibrator fitted to the first of them; the number of parts of the output."""
    (folder / "rows").mkdir()
    for number, partition in enumerate(cut(rows)):
        with pq.ParquetWriter(folder / "rows" / f"{number:05d}.parquet", SCHEMA, compression="none") as writer:
            for first, block in partition.blocks(CLASSES, labelled=True):
                logits = pa.FixedSizeListArray.from_arrays(pa.array(block.logits.ravel()), CLASSES)
                numbers = pa.array(np.arange(first, first + len(block.logits)))
                writer.write_batch(pa.RecordBatch.from_arrays([numbers, logits], schema=SCHEMA))
    _, block = next(Generated(0, 1 << 16).blocks(CLASSES, labelled=True))
    Scorer.fit(block.logits, block.labels).save(folder / "model.slova")
    return len(cut(rows))


SCHEMA = pa.schema([("id", pa.int64()), ("logits", pa.list_(pa.float32(), CLASSES))])


def words(folder: Path, output: str, engine: str) -> list[str]:
    model = str(folder / "model.slova")
    return [SLOVA, "score", str(folder / "rows"), "--model", model, "--engine", engine, "-o", str(folder / output)]


def timed(
    name: str,
    command: list[str],
    alone: float | None,
    environment: dict[str, str] | None = None,
    killer: Killer | None = None,
) -> float:
    """The seconds of the command, and a line of the table."""
    started = time.perf_counter()
    with memory() as peak:
        done = subprocess.run(command, env={**os.environ, **(environment or {})}, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{name} failed with {done.returncode}: {done.stderr}")
    ratio = "" if alone is None else f"{alone / seconds:.2f}"
    killed = "" if killer is None else killer.said()
    print(f"{name:16s} {seconds:8.1f} s {ratio:>7} {peak[0] / 2**20:18,.0f} MiB       {killed}", flush=True)
    return seconds


class Killer:
    """Kills a node when a third of the parts is written, in a thread."""

    def __init__(self, folder: Path, output: str, parts: int, kill: Callable[[], int]) -> None:
        self.pattern, self.folder, self.parts, self.kill = f".{output}.*/part-*.parquet", folder, parts, kill
        self.done = threading.Event()
        self.written = self.processes = 0
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()

    def watch(self) -> None:
        while not self.done.wait(0.05):
            self.written = len(list(self.folder.glob(self.pattern)))
            if 3 * self.written >= self.parts:
                self.processes = self.kill()
                return

    def said(self) -> str:
        if not self.processes:
            sys.exit("the job was over before a node could be killed: use more rows")
        return f"{self.written} of {self.parts} parts: {self.processes} processes"


def kill_tree(processes: list[psutil.Process]) -> int:
    """Kill these processes and all that they started; how many these were."""
    found = [each for process in processes for each in (process, *process.children(recursive=True))]
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return len(found)


def busiest(nodes: list[subprocess.Popen[str]]) -> psutil.Process:
    """The node that has started most processes: one that has work."""
    return max((psutil.Process(node.pid) for node in nodes), key=lambda node: len(node.children(recursive=True)))


@contextlib.contextmanager
def ray_cluster() -> Iterator[tuple[dict[str, str], Callable[[], int]]]:
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 256 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=256 << 20) for _ in range(NODES)]
        cluster.wait_for_nodes()

        def kill() -> int:
            found = [psutil.Process(each.process.pid) for each in processes_of(nodes[0])]
            return kill_tree(found)

        yield {"RAY_ADDRESS": cluster.address}, kill
    finally:
        cluster.shutdown()


def processes_of(node: Any) -> list[Any]:
    return [process for kind in node.all_processes.values() for process in kind]


@contextlib.contextmanager
def spark_cluster() -> Iterator[tuple[dict[str, str], Callable[[], int]]]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)}
    started: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory() as work:

        def launch(*words: str) -> tuple[subprocess.Popen[str], str]:
            command = [str(home / "bin" / "spark-class"), *words]
            process = subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True)
            started.append(process)
            assert process.stderr is not None
            log = ""
            for line in process.stderr:
                log += line
                if "with master" in line or "Starting Spark master at" in line:
                    break
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, log

        try:
            _, log = launch("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
            found = re.search(r"spark://[\d.]+:\d+", log)
            if found is None:
                sys.exit(f"the master of Spark did not start: {log}")
            worker = ("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", work)
            nodes = [launch(*worker, "--host", "127.0.0.1", found[0])[0] for _ in range(NODES)]
            environment["PYSPARK_SUBMIT_ARGS"] = f"--master {found[0]} --executor-memory 512m pyspark-shell"
            yield environment, lambda: kill_tree([busiest(nodes)])
        finally:
            kill_tree([psutil.Process(process.pid) for process in started if process.poll() is None])
            for process in started:
                process.wait()


CLUSTERS = {"ray": ray_cluster, "spark": spark_cluster}


def compare(alone: Path, other: Path, rows: int) -> None:
    """Stop if a part or a row is missing, doubled or different."""
    names = sorted(path.name for path in alone.glob("part-*"))
    if names != sorted(path.name for path in other.glob("part-*")):
        sys.exit(f"{other.name} wrote other parts than one process")
    count = 0
    for name in names:
        expected, found = pq.read_table(alone / name), pq.read_table(other / name)
        if not found.equals(expected):
            sys.exit(f"{other.name}: {name} differs from the part of one process")
        count += found.num_rows
    if count != rows:
        sys.exit(f"{other.name}: {count:,} of {rows:,} rows")


if __name__ == "__main__":
    main()
