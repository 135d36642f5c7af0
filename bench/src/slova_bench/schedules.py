"""Learning-rate schedules: from the share of training done, in [0, 1), to a factor of the rate."""

from __future__ import annotations

import math

from slova_bench.stable import stable

__all__ = ["constant", "cosine", "steps_paper"]

WARMUP = 0.05


@stable("cosine")
def cosine(done: float) -> float:
    """Linear warm-up over the first 5 %, then half a cosine down to almost zero."""
    if done < WARMUP:
        return (done + 1e-3) / (WARMUP + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (done - WARMUP) / (1 - WARMUP)))


@stable("steps_paper")
def steps_paper(done: float) -> float:
    """A tenth from one half on (epoch 125 of 250), a hundredth from 185 of 250 on."""
    return 1.0 if done < 0.5 else 0.1 if done < 0.74 else 0.01


@stable("constant")
def constant(done: float) -> float:
    return 1.0
