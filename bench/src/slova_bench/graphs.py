"""A training step as one CUDA graph, without Python between its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from slova_bench.train import Run

__all__ = ["captured"]

WARMUPS = 3


def captured(run: Run, images: Tensor, labels: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Capture the step of a run for batches of this shape. The weights are unchanged afterwards."""
    before = {name: value.clone() for name, value in run.tensors().items()}
    still_images, still_labels = images.clone(), labels.clone()
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMUPS):
            run.plain_step(still_images, still_labels)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = run.plain_step(still_images, still_labels)
    _reset(run.tensors(), before)

    def step(images: Tensor, labels: Tensor) -> Tensor:
        still_images.copy_(images)
        still_labels.copy_(labels)
        graph.replay()
        return value

    return step


@torch.no_grad()
def _reset(tensors: dict[str, Tensor], before: dict[str, Tensor]) -> None:
    """Restore in place, because the graph refers to tensors by address; optimiser state created by the warm-up is set
    to zero."""
    for name, value in tensors.items():
        value.copy_(before[name]) if name in before else value.zero_()
