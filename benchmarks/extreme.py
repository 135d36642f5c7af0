"""Very many classes, as ratios measured side by side: the loss without logits against the dense one, time and memory,
and the scoring of logits against copying them.

    python benchmarks/extreme.py            # on a GPU if there is one, otherwise on one thread of a CPU; minutes
    python benchmarks/extreme.py --tune     # on a GPU: every tile for every K, about a minute

A copy reads and writes every byte once; scoring reads the logits and writes 28 bytes per row. Its share of the copy
bandwidth is (bytes it must move / its time) / (2 x bytes of the logits / time of the copy), in the same run. Rows:
`extreme-cpu.csv`, or `extreme-gpu-score.csv` and `extreme-gpu-loss.csv`, of the tables of docs/measurements/extreme.md.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from timing import seconds_on_gpu, side_by_side, write
from torch import Tensor

import slova
from slova import ExponentialCalibration, Scorer, extreme
from slova.extreme.kernels import Tile, score_rows, tile_for
from slova.extreme.scoring import numbers_of

CLASSES = (10, 16, 32, 64, 100, 101, 128, 256, 512, 1000, 1024, 2048, 4096, 8192)
NUMBERS = 1 << 28  # a gigabyte of logits, far more than a GPU's cache
CALLS = 10  # of a scoring kernel, one after the other
CALIBRATOR = ExponentialCalibration([0.05, 0.7, 40.0], [0.3, 0.5, 0.1])
LARGE = (1024, 200_000, 128)  # N, K, D
TILES = {  # up to so many classes, what may be worth a try
    12: [(128, 1, 4), (64, 1, 2), (128, 2, 4), (64, 2, 2), (256, 2, 8), (32, 2, 1), (256, 1, 4)],
    32: [(128, 4, 4), (64, 4, 2), (32, 4, 1), (64, 8, 4), (32, 8, 2), (16, 8, 1), (32, 16, 4), (128, 2, 4)],
    128: [(128, 4, 4), (32, 4, 1), (64, 8, 4), (16, 8, 1), (32, 16, 4), (16, 16, 2), (8, 16, 1), (8, 32, 2)],
    512: [(16, 16, 2), (8, 16, 1), (16, 32, 4), (8, 32, 2), (4, 32, 1), (4, 64, 2), (2, 64, 1), (4, 128, 4)],
    2048: [(4, 64, 2), (2, 64, 1), (4, 128, 4), (2, 128, 2), (1, 128, 1), (2, 256, 4), (1, 256, 2), (1, 512, 4)],
    8192: [(4, 128, 4), (2, 128, 2), (1, 256, 2), (1, 512, 4), (1, 512, 2), (1, 1024, 4), (1, 1024, 8), (1, 2048, 8)],
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--memory", choices=("ours", "dense"), help="one step on the CPU, and its peak of memory")
    options = parser.parse_args()
    if options.memory:
        memory_of_a_step(options.memory)
    elif options.tune:
        tune()
    elif torch.cuda.is_available():
        write("extreme-gpu-score", [scoring_on_gpu(classes) for classes in CLASSES])
        write("extreme-gpu-loss", [loss_on_gpu(dtype) for dtype in (torch.float32, torch.bfloat16)])
    else:
        torch.set_num_threads(1)
        memory = [memory_on_cpu()]
        write("extreme-cpu", memory + [row for _ in range(3) for row in (*scoring_on_cpu(), *loss_on_cpu())])


def scoring_on_gpu(classes: int) -> dict[str, object]:
    """The answer from a gigabyte of logits, as a share of the copy bandwidth."""
    logits, copy = filled(classes)
    scorer = Scorer(classes=classes, calibrator=CALIBRATOR)
    kernel = share(logits, lambda f: extreme.score(scorer, f), copy)
    return {"K": classes, "score": kernel, "softmax and max": share(logits, softmax_top, copy, calls=1)}


def tune() -> None:
    """Every tile for every K, the best one last."""
    numbers = tuple(numbers_of(one, torch.device("cuda")) for one in (CALIBRATOR, None))
    for classes in CLASSES:
        logits, copy = filled(classes)
        tried = next(tiles for limit, tiles in TILES.items() if classes <= limit)
        found = {}
        for tile in dict.fromkeys([*map(Tile._make, tried), tile_for(classes)]):
            found[tile] = share(logits, lambda f, t=tile: score_rows(f, numbers, (1.0, 0.0), 0.0, t), copy)
        best = max(found, key=lambda tile: found[tile])
        line = "  ".join(f"{tuple(tile)} {value:.2f}" for tile, value in found.items())
        print(f"K = {classes:5d}: {line}  best {tuple(best)} {found[best]:.3f}", flush=True)


def filled(classes: int) -> tuple[Tensor, float]:
    """Logits on the GPU, and the seconds a copy of them takes."""
    logits = torch.empty(NUMBERS // classes, classes, device="cuda").normal_(-3, 3)
    target = torch.empty_like(logits)
    return logits, seconds_on_gpu(lambda: target.copy_(logits), calls=CALLS)


def share(logits: Tensor, function: Callable[[Tensor], object], copy: float, calls: int = CALLS) -> float:
    size = logits.numel() * 4
    return (size + 28 * len(logits)) / seconds_on_gpu(lambda: function(logits), calls=calls) / (2 * size / copy)


def softmax_top(logits: Tensor) -> object:
    return torch.softmax(logits, -1).max(-1)


def loss_on_gpu(dtype: torch.dtype) -> dict[str, object]:
    """Forward and backward at K = 1,000,000, N = 4096, D = 512: the peak of memory, also as a multiple of matrix,
    features, bias and their gradients, and the time; and `top` over the matrix products alone."""
    parts = layer_of(4096, 1_000_000, 512, "cuda", dtype)
    held = 2 * sum(part.numel() * part.element_size() for part in parts[:3])
    row: dict[str, object] = {"precision": str(dtype).removeprefix("torch.")}
    for name, step in (("chunked", ours), ("dense", dense)):
        peak = peak_on_gpu(lambda s=step: s(*parts), parts)
        row |= {f"{name}, GB": peak / 1e9, f"{name}, memory": peak / held}
        row[f"{name}, ms"] = 1e3 * seconds_on_gpu(lambda s=step: s(*parts), 3)
    features, matrix, bias, _ = (part.detach() for part in parts)
    products = seconds_on_gpu(lambda: [torch.mm(features, chunk.T) for chunk in matrix.split(16384)], 3)
    row["`top` / its matrix products"] = seconds_on_gpu(lambda: extreme.top(features, matrix, bias=bias), 3) / products
    return row


def peak_on_gpu(step: Callable[[], object], parts: tuple[Tensor, ...]) -> float:
    """Of one step, with the matrix, the features and the bias themselves counted in."""
    for part in parts:
        part.grad = None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    own = sum(part.numel() * part.element_size() for part in parts[:3])
    return torch.cuda.max_memory_allocated() - before + own


def scoring_on_cpu() -> Iterator[dict[str, object]]:
    """Label, confidence and none of ten million logits, beside softmax and max."""
    for classes in (10, 100, 1000, 8192):
        logits = torch.randn(10_000_000 // classes, classes) * 3
        scorer = Scorer(classes=classes, calibrator=CALIBRATOR)
        times = side_by_side(lambda s=scorer, f=logits: extreme.score(s, f), lambda f=logits: softmax_top(f))
        yield row_of("score", len(logits), classes, *times)


def loss_on_cpu() -> Iterator[dict[str, object]]:
    for rows, classes, width in ((1024, 1_000, 128), (1024, 10_000, 128), (512, 100_000, 128)):
        parts = layer_of(rows, classes, width, "cpu", torch.float32)
        times = side_by_side(lambda p=parts: ours(*p), lambda p=parts: dense(*p), rounds=3)
        yield row_of("loss", rows, classes, *times)


def memory_on_cpu() -> dict[str, object]:
    """Of one step, each in a process of its own: multiples of matrix, features, bias and their gradients."""
    commands = ([sys.executable, __file__, "--memory", name] for name in ("ours", "dense"))
    found = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for command in commands)
    return row_of("memory of the loss", *LARGE[:2], *map(float, found))


def row_of(what: str, rows: int, classes: int, mine: float, theirs: float) -> dict[str, object]:
    return {"what": what, "rows": rows, "classes": classes, "ours": mine, "dense": theirs, "ratio": theirs / mine}


def memory_of_a_step(name: str) -> None:
    """The logits would take 0.82 GB. What the process grows by, and the layer itself."""
    parts = layer_of(*LARGE, "cpu", torch.float32)
    step = ours if name == "ours" else dense
    step(*layer_of(8, 100, 128, "cpu", torch.float32))
    held = sum(part.numel() * 4 for part in parts[:3])
    before = peak_of_process()
    step(*parts)
    print((peak_of_process() - before + held) / (2 * held))


def peak_of_process() -> int:
    """The most bytes this process has held; the usual ru_maxrss remembers the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def ours(features: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor) -> None:
    forget(features, matrix, bias)
    extreme.ova_loss(features, matrix, labels, bias=bias).backward()


def dense(features: Tensor, matrix: Tensor, bias: Tensor, labels: Tensor) -> None:
    forget(features, matrix, bias)
    slova.ova_loss(torch.addmm(bias, features, matrix.T), labels).backward()


def forget(*parts: Tensor) -> None:
    for part in parts:
        part.grad = None


def layer_of(rows: int, classes: int, width: int, device: str, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Features, matrix and bias that require gradients, and labels; made in place, so that the peak is not here."""
    features, matrix, bias = (
        torch.empty(*shape, device=device) for shape in ((rows, width), (classes, width), (classes,))
    )
    generator = torch.Generator(device).manual_seed(0)
    features.normal_(generator=generator)
    matrix.normal_(0, width**-0.5, generator=generator)
    bias.fill_(-math.log(classes))
    labels = torch.randint(0, classes, (rows,), generator=generator, device=device)
    return *(part.to(dtype).requires_grad_() for part in (features, matrix, bias)), labels


if __name__ == "__main__":
    main()
