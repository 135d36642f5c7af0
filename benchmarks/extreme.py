"""Very many classes, as ratios measured side by side: the loss without logits against the dense one, time and memory,
and the scoring of logits against copying them.

    python benchmarks/extreme.py            # on two CPU cores: minutes; on a GPU: about a minute
    python benchmarks/extreme.py --tune     # on a GPU: every tile for every K, about a minute

A copy reads and writes every byte once; scoring reads the logits and writes 28 bytes per row. Its share of the copy
bandwidth is (bytes it must move / its time) / (2 x bytes of the logits / time of the copy), in the same run.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from timing import seconds_on_gpu, side_by_side
from torch import Tensor

import slova
from slova import ExponentialCalibration, Scorer, extreme
from slova.extreme.kernels import Tile, score_rows, tile_for
from slova.extreme.scoring import numbers_of

CLASSES = (10, 16, 32, 64, 100, 101, 128, 256, 512, 1000, 1024, 2048, 4096, 8192)
NUMBERS = 1 << 28  # a gigabyte of logits, far more than a GPU's cache
CALLS = 10  # of a scoring kernel, one after the other
CALIBRATOR = ExponentialCalibration([0.05, 0.7, 40.0], [0.3, 0.5, 0.1])
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
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
        scoring_on_gpu()
        loss_on_gpu()
    else:
        scoring_on_cpu()
        loss_on_cpu()


def scoring_on_gpu() -> None:
    """The answer from a gigabyte of logits."""
    print(f"\n{'K':>6s} {'rows':>10s}   share of the copy bandwidth: one kernel   scorer.predict   softmax and max")
    for classes in CLASSES:
        logits, copy = filled(classes)
        scorer = Scorer(classes=classes, calibrator=CALIBRATOR)
        kernel = share(logits, lambda f, s=scorer: extreme.score(s, f), copy)
        predict, softmax = (share(logits, function, copy, calls=1) for function in (scorer.predict, softmax_top))
        print(f"{classes:6d} {len(logits):10,d} {kernel:44.2f} {predict:16.2f} {softmax:17.2f}", flush=True)


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


def loss_on_gpu() -> None:
    """Forward and backward at K = 1,000,000, N = 4096, D = 512."""
    print("\nloss and gradients, K = 1,000,000, N = 4096, D = 512")
    for dtype in (torch.float32, torch.bfloat16):
        parts = layer_of(4096, 1_000_000, 512, "cuda", dtype)
        held = 2 * sum(part.numel() * part.element_size() for part in parts[:3])
        print(f"  {dtype}: matrix, features, bias and their gradients {held / 1e9:.2f} GB")
        for name, step in (("without logits", ours), ("dense", dense)):
            try:
                peak, duration = (
                    peak_on_gpu(lambda s=step, p=parts: s(*p), parts),
                    seconds_on_gpu(lambda s=step, p=parts: s(*p), 3),
                )
                print(f"    {name:15s} peak {peak / 1e9:7.2f} GB = {peak / held:5.2f} x, {duration * 1e3:8.1f} ms")
            except torch.cuda.OutOfMemoryError:
                print(f"    {name:15s} out of memory")
                torch.cuda.empty_cache()
        reading(parts)
        del parts
        torch.cuda.empty_cache()


def reading(parts: tuple[Tensor, ...]) -> None:
    """The answers without logits, against the products alone."""
    features, matrix, bias, _ = (part.detach() for part in parts)
    chunks = matrix.split(16384)
    products = seconds_on_gpu(lambda: [torch.mm(features, chunk.T) for chunk in chunks], 3)
    for name, function in (
        ("top", lambda: extreme.top(features, matrix, bias=bias)),
        (
            "predict",
            lambda: extreme.predict(Scorer(classes=len(matrix), calibrator=CALIBRATOR), features, matrix, bias=bias),
        ),
    ):
        print(f"    {name:15s} {seconds_on_gpu(function, 3) / products:.2f} x the time of the matrix products alone")


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


def scoring_on_cpu() -> None:
    print("label, confidence and none of 10,000,000 logits    score   softmax + max   ratio (above 1: ours is faster)")
    for classes in (10, 100, 1000, 8192):
        logits = torch.randn(10_000_000 // classes, classes) * 3
        scorer = Scorer(classes=classes, calibrator=CALIBRATOR)
        mine, theirs = side_by_side(lambda s=scorer, f=logits: extreme.score(s, f), lambda f=logits: softmax_top(f))
        print(f"  K = {classes:<6d} {mine * 1e3:41.1f} ms {theirs * 1e3:12.1f} ms {theirs / mine:7.2f}")


def loss_on_cpu() -> None:
    print("\nloss and gradients         without logits        dense   ratio (above 1: ours is faster)")
    for rows, classes, width in ((1024, 1_000, 128), (1024, 10_000, 128), (512, 100_000, 128)):
        parts = layer_of(rows, classes, width, "cpu", torch.float32)
        mine, theirs = side_by_side(lambda p=parts: ours(*p), lambda p=parts: dense(*p), rounds=3)
        name = f"N = {rows}, K = {classes:,d}"
        print(f"  {name:24s} {mine * 1e3:12.0f} ms {theirs * 1e3:9.0f} ms {theirs / mine:7.2f}")
    for name in ("ours", "dense"):
        subprocess.run([sys.executable, __file__, "--memory", name], check=True)


def memory_of_a_step(name: str) -> None:
    """N = 1024, K = 200,000, D = 128: logits would take 0.82 GB. What the process grows by, and the layer itself."""
    parts = layer_of(1024, 200_000, 128, "cpu", torch.float32)
    step = ours if name == "ours" else dense
    step(*layer_of(8, 100, 128, "cpu", torch.float32))
    held = sum(part.numel() * 4 for part in parts[:3])
    before = peak_of_process()
    step(*parts)
    peak = peak_of_process() - before + held
    print(f"  memory of {name:5s} at N = 1024, K = 200,000: {peak / (2 * held):.2f} x matrix, features and gradients")


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
