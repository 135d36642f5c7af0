"""Training: the data set is a tensor on the device, augmentation is batched, and on a GPU a step is one CUDA graph.

`train(network, loss, recipe, data, seed)` takes what determines the weights; `execution` selects device and speed.
Random numbers depend on (seed, epoch), so an interrupted training resumes at an epoch and, on a CPU, ends in the same
weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from slova import artifact
from slova_bench.augment import crop_flip
from slova_bench.layers import with_prior
from slova_bench.schedules import cosine
from slova_bench.store import USUAL_LEFT_OUT

__all__ = ["Checkpoint", "Execution", "Loss", "Recipe", "Run", "seeded", "train"]

Loss = Callable[[nn.Module, Tensor, Tensor, int], Tensor]  # network, images, labels, rows of the training set
CHUNK = 8192  # images augmented at a time
SECONDS = 30.0  # between checkpoints, at least


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The hyper-parameters of a training. Weight decay is coupled L2, on all parameters but biases, norms and weights
    with a prior."""

    epochs: int = 100
    batch: int = 512
    rate: float = 0.4
    weight_decay: float = 5e-4
    momentum: float = 0.9
    adam_eps: float | None = None  # a number: Adam with beta_1 = momentum; None: SGD with momentum
    schedule: Callable[[float], float] = cosine
    augment: Callable[[Tensor, torch.Generator], Tensor] = crop_flip
    ema: float | None = None  # decay per step of an exponential moving average of the weights
    nesterov: bool = field(default=True, metadata=USUAL_LEFT_OUT)  # of SGD with momentum

    def quick(self) -> Recipe:
        """A tenth of the epochs."""
        return replace(self, epochs=max(1, self.epochs // 10))


@dataclass(frozen=True)
class Execution:
    """How training is executed; none of it is part of a recipe."""

    device: torch.device = field(default_factory=lambda: torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    fast: bool = True  # bf16, compilation and CUDA graphs, where there is a GPU
    bf16: bool = False  # bf16 on a processor too, which is faster on one that has it
    checkpoint: Path | None = None  # a file to resume from and to save to, removed at the end
    progress: Callable[[int, float], None] | None = None  # called with the epochs done and the last loss


def train(
    network: nn.Module,
    loss: Loss,
    recipe: Recipe,
    data: tuple[Tensor, Tensor],
    seed: int,
    execution: Execution | None = None,
) -> nn.Module:
    """Train the network in place on images (uint8) and labels; it is returned in evaluation mode."""
    execution = execution or Execution()
    images, labels = (part.to(execution.device) for part in data)
    if len(images) < 1 or len(images) != len(labels):
        raise ValueError(f"labels {tuple(labels.shape)} do not match images {tuple(images.shape)}")
    run = Run(network.to(execution.device).train(), loss, recipe, execution, rows=len(images))
    checkpoint = Checkpoint(execution.checkpoint, run)
    for epoch in range(checkpoint.resume(), recipe.epochs):
        with seeded(execution.device, seed, epoch):
            last = run.epoch(images, labels, seed, epoch)
        checkpoint.save(epoch + 1)
        if execution.progress is not None:
            execution.progress(epoch + 1, float(last))
    checkpoint.remove()
    return run.finished()


class Run:
    """The state of one training: network, optimiser, averaged weights, and the step that advances them."""

    def __init__(self, network: nn.Module, loss: Loss, recipe: Recipe, execution: Execution, *, rows: int) -> None:
        self.recipe, self.loss = recipe, loss
        self.fast = execution.fast and execution.device.type == "cuda"
        self.half = self.fast or execution.bf16
        self.network = _channels_last(network) if self.half else network
        self.rows, self.batch = rows, min(recipe.batch, rows)
        self.steps = rows // self.batch
        self.rate = torch.zeros((), device=execution.device)
        self.optimiser = _optimiser(network, recipe, self.rate)
        self.average = (
            [value.detach().clone() for value in network.state_dict().values()] if recipe.ema is not None else []
        )
        self.callable: nn.Module = torch.compile(self.network) if self.fast else self.network  # type: ignore[assignment]
        # On a GPU it is captured with the first batch, whose shape it needs.
        self.step: Callable[[Tensor, Tensor], Tensor] | None = None if self.fast else self.plain_step

    def epoch(self, images: Tensor, labels: Tensor, seed: int, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed(_mix(seed, epoch))
        order = torch.randperm(len(images), generator=generator).to(images.device)
        total = torch.zeros((), device=images.device)
        for number, (batch, targets) in enumerate(self._batches(images, labels, order, generator)):
            self.rate.fill_(self.recipe.rate * self.recipe.schedule((epoch + number / self.steps) / self.recipe.epochs))
            if self.step is None:
                from slova_bench.graphs import captured

                # The graph keeps the fastest convolutions, so they are benchmarked once.
                with torch.backends.cudnn.flags(enabled=True, benchmark=True):
                    self.step = captured(self, batch, targets)
            total += self.step(batch, targets)
        return total / self.steps

    def tensors(self) -> dict[str, Tensor]:
        """The state to be restored after an interruption."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for number, state in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": value for name, value in state.items()}
        return tensors | {f"average.{number}": value for number, value in enumerate(self.average)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore the state from `tensors`."""
        learned = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            if kind == "optimiser":
                number, _, part = rest.partition(".")
                state.setdefault(int(number), {})[part] = _laid_out(value, learned[int(number)])
            elif kind == "average":
                self.average[int(rest)].copy_(value)
        self.network.load_state_dict(
            {n.removeprefix("network."): v for n, v in tensors.items() if n.startswith("network.")}
        )
        self.optimiser.load_state_dict({"state": state, "param_groups": self.optimiser.state_dict()["param_groups"]})
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate  # loading replaced it by a copy

    @torch.no_grad()
    def finished(self) -> nn.Module:
        """The trained network."""
        if self.average:
            names = self.network.state_dict().keys()
            self.network.load_state_dict(dict(zip(names, self.average, strict=True)))
        return self.network.eval()

    def _batches(
        self, images: Tensor, labels: Tensor, order: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Augmented batches of one epoch, without the last incomplete one."""
        chunk = max(1, CHUNK // self.batch) * self.batch
        for first in range(0, self.steps * self.batch, chunk):
            places = order[first : min(first + chunk, self.steps * self.batch)]
            ready, targets = self.recipe.augment(images[places], generator), labels[places]
            for start in range(0, len(places), self.batch):
                yield ready[start : start + self.batch], targets[start : start + self.batch]

    def plain_step(self, images: Tensor, labels: Tensor) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        layout = torch.channels_last if self.half else torch.contiguous_format
        with torch.autocast(images.device.type, torch.bfloat16, enabled=self.half, cache_enabled=False):
            value = self.loss(self.callable, (images.float() / 255).contiguous(memory_format=layout), labels, self.rows)
        value.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self._follow()
        return value.detach()

    @torch.no_grad()
    def _follow(self) -> None:
        """Update the averaged weights; integers, such as the counter of batch norm, are copied."""
        if self.recipe.ema is None:
            return
        for mean, value in zip(self.average, self.network.state_dict().values(), strict=True):
            if mean.is_floating_point():
                mean.lerp_(value, 1 - self.recipe.ema)
            else:
                mean.copy_(value)


class Checkpoint:
    """A file of tensors, written between epochs at most every 30 seconds; without a path all operations are no-ops. An
    unreadable file is an error."""

    def __init__(self, path: Path | None, run: Run, *, seconds: float = SECONDS) -> None:
        self.path, self.run = path, run
        self.seconds, self.saved = seconds, time.monotonic()

    def resume(self) -> int:
        """Restore the state and return the number of completed epochs."""
        if self.path is None or not self.path.exists():
            return 0
        tensors, meta = artifact.load(self.path, "checkpoint", framework="torch")
        self.run.restore(tensors)
        return int(meta["epoch"])

    def save(self, epoch: int) -> None:
        if self.path is None or time.monotonic() - self.saved < self.seconds:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        artifact.save(self.path, "checkpoint", self.run.tensors(), {"epoch": epoch})
        self.saved = time.monotonic()

    def remove(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _laid_out(value: Tensor, parameter: Tensor) -> Tensor:
    """In the memory layout of its parameter, which a fused optimiser requires."""
    return torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value


def _channels_last(network: nn.Module) -> nn.Module:
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _optimiser(network: nn.Module, recipe: Recipe, rate: Tensor) -> torch.optim.Optimizer:
    prior = with_prior(network)
    decayed = [parameter for parameter in network.parameters() if parameter.ndim > 1 and parameter not in prior]
    plain = [parameter for parameter in network.parameters() if parameter.ndim <= 1 or parameter in prior]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    fused = rate.is_cuda  # one kernel that reads the rate from the device, as a CUDA graph requires
    if recipe.adam_eps is None:
        nesterov = recipe.nesterov and recipe.momentum > 0
        return torch.optim.SGD(groups, lr=rate, momentum=recipe.momentum, nesterov=nesterov, fused=fused)
    betas = (recipe.momentum, 0.999)
    return torch.optim.Adam(groups, lr=rate, betas=betas, eps=recipe.adam_eps, capturable=fused, fused=fused)


def _mix(seed: int, epoch: int) -> int:
    return (seed * 1_000_003 + epoch * 7919 + 17) % 2**63


@contextmanager
def seeded(device: torch.device, seed: int, epoch: int = 0) -> Iterator[None]:
    """Seed random layers by (seed, epoch), and restore the global state afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        start = torch.manual_seed if devices else torch.default_generator.manual_seed  # the first keeps a traceback
        start(_mix(seed, epoch))
        yield
