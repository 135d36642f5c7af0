"""From a method to its logits on a test set: train, adapt, run, read out, calibrate.

Each stage is cached under the arguments that determine it. Softmax, temperature scaling, ReAct and the first member of
the ensemble share their weights because `Bench.weights` is the same for them, as it is for OVA, uncalibrated SLOVA and
SLOVA.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import NUMPY, Array
from slova.heads import NONE, Readout
from slova_bench import data
from slova_bench.dataset_recipes import DatasetRecipe
from slova_bench.method import Method, Outputs
from slova_bench.store import VERSIONS, Store, describe
from slova_bench.train import Execution, seeded, train

if TYPE_CHECKING:
    from slova_bench.test_sets import TestSet

__all__ = ["Bench", "Trained", "mean_readout", "member_seeds"]

BATCH, CPU_BATCH = 1000, 100  # activations of 100 images fit into a processor's caches: three times as fast
MEMORY = {"cpu": torch.channels_last}  # which makes convolutions of a processor faster


@dataclass(frozen=True)
class Bench:
    """The environment of a comparison: the data set and its recipes, the cache, the device, the data folder, and the
    maximum number of images per test set."""

    dataset: DatasetRecipe
    store: Store = field(default_factory=lambda: Store(None))
    execution: Execution = field(default_factory=Execution)
    folder: str | Path | None = None
    limit: int | None = None

    def load(self, name: str) -> data.Split:
        return data.load(name, folder=self.folder, limit=None if name == self.dataset.train else self.limit)

    @cached_property
    def training(self) -> data.Split:
        return self.load(self.dataset.train)

    @cached_property
    def validation(self) -> data.Split:
        return self.load(self.dataset.val)

    @cached_property
    def ood(self) -> tuple[str, ...]:
        """The OOD data sets that can be loaded. A warning names those that the user has to provide."""
        return tuple(name for name in data.ood_for(self.dataset.name) if self._is_available(name))

    def _is_available(self, name: str) -> bool:
        try:
            self.load(name)
        except FileNotFoundError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
            return False
        return True

    def trained(self, method: Method, seed: int) -> Trained:
        """The networks of a method, from the store or trained now."""
        seeds = member_seeds(method.members, seed)
        make = [cache(partial(self._adapted, method, member)) for member in seeds]
        keys = [{**self.weights(method, member), "adapt": describe(method.adapt)} for member in seeds]
        return Trained(make, method.samples, seed, self.execution.device, keys)

    def _adapted(self, method: Method, seed: int) -> nn.Sequential:
        network = self._network(method, seed)
        return network if method.adapt is None else method.adapt(network, self).eval()

    def weights(self, method: Method, seed: int) -> dict[str, Any]:
        """Everything that determines the weights of one network. Equal descriptions are the same network."""
        return {
            "network": describe(method.network),
            "backbone": describe(self.dataset.backbone),
            "loss": describe(method.loss),
            "recipe": describe(self.dataset.recipe(method)),
            "data": self.dataset.train,
            "seed": seed,
        }

    def logits(self, trained: Trained, test: TestSet, *, features: bool = True) -> tuple[Outputs, Array]:
        """Outputs of networks on a test set, and its labels. Logits are cached, features are not."""
        if features:
            images, labels = test.load(self)
            return trained.outputs(images), labels.numpy()
        what = {"set": describe(test), "limit": self.limit}
        logits, labels = self.cached_logits(trained, what, lambda: test.load(self))
        return Outputs(logits, np.empty((logits.shape[1], 0))), labels

    def validation_logits(self, trained: Trained, noise: float) -> tuple[Array, Array]:
        """Logits (S, N, K) and labels (N,) of the validation set, then of a share of uniform noise labelled NONE."""
        what = {"set": self.dataset.val, "limit": self.limit}
        logits, labels = self.cached_logits(trained, what, lambda: (self.validation.images, self.validation.labels))
        count = int(noise * len(labels))
        if not count:
            return logits, labels
        more, none = self.cached_logits(
            trained, {**what, "noise": count, "drawn": trained.seed}, lambda: self._noise(trained, count)
        )
        return np.concatenate([logits, more], axis=1), np.concatenate([labels, none])

    def _noise(self, trained: Trained, count: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(trained.seed)
        shape = self.validation.images.shape[1:]
        return torch.rand((count, *shape), generator=generator), torch.full((count,), NONE)

    def cached_logits(
        self, trained: Trained, what: dict[str, Any], load: Callable[[], tuple[Tensor, Tensor]]
    ) -> tuple[Array, Array]:
        """Logits (S, N, K) and labels (N,), per network from the store or computed now."""

        def compute(one: Trained) -> dict[str, Tensor]:
            _ = one.networks  # trained first, so that bad training data are found first
            images, labels = load()
            return {"logits": torch.from_numpy(one.outputs(images).logits), "labels": labels}

        whole = {"versions": VERSIONS, "samples": trained.samples, **what}
        if trained.samples > 1:
            whole["drawn"] = trained.seed
        parts = [
            self.store.get("logits", {**whole, "weights": key}, lambda one=one: compute(one))  # type: ignore[misc]
            for one, key in trained.each()
        ]
        return np.concatenate([part["logits"].numpy() for part in parts]), parts[0]["labels"].numpy()

    def descriptions(self, chosen: Iterable[Method]) -> dict[str, Any]:
        """The description of each method, by its name and preset."""
        return {f"{method.name} {method.preset}".strip(): self.description(method) for method in chosen}

    def description(self, method: Method) -> dict[str, Any]:
        """Everything that determines the rows of a method, apart from seeds and test sets, as JSON values."""
        weights = {name: value for name, value in self.weights(method, 0).items() if name != "seed"}
        later = ["members", "samples", "adapt", "head", "calibrate", "noise", "detect"]
        usual = Method(name="")  # what is as usual is left out, so that older descriptions stay valid
        newer = ("calibrate_on", "fit", "score", "rank")
        later += [name for name in newer if getattr(method, name) != getattr(usual, name)]
        return {"versions": VERSIONS, **weights, **{name: describe(getattr(method, name)) for name in later}}

    def _network(self, method: Method, seed: int) -> nn.Sequential:
        with seeded(torch.device("cpu"), seed, epoch=-1):
            network = method.network(self.dataset.backbone, data.classes(self.dataset.train))
        what = self.weights(method, seed)
        execution = replace(self.execution, checkpoint=self.store.path("weights", what, "checkpoint"))

        def compute() -> dict[str, Tensor]:
            pair = (self.training.images, self.training.labels)
            try:
                train(network, method.loss, self.dataset.recipe(method), pair, seed, execution)
            except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
                raise ValueError(f"{method.name} cannot be trained: {type(error).__name__}: {error}") from error
            return {name: _compact(value) for name, value in network.state_dict().items()}

        found = self.store.get("weights", what, compute)
        network.load_state_dict({name: value.to(network.state_dict()[name].dtype) for name, value in found.items()})
        device = self.execution.device
        layout = MEMORY.get(device.type, torch.preserve_format)
        return network.to(device, memory_format=layout).eval()  # type: ignore[call-overload, no-any-return]


def member_seeds(members: int, seed: int) -> list[int]:
    """The seeds of the networks of an ensemble. Ensembles of M members overlap: M ensembles are drawn from 2 M
    networks, and consecutive ones share at most M - 2.

    >>> member_seeds(5, 0), member_seeds(5, 4), member_seeds(1, 4)
    ([0, 1, 2, 3, 4], [8, 9, 0, 1, 2], [4])
    """
    if members == 1:
        return [seed]
    return [(2 * seed + member) % (2 * members) for member in range(members)]


def _compact(value: Tensor) -> Tensor:
    """Half precision, as on disk, so that a loaded network equals the one just trained. Values that overflow half
    precision keep theirs."""
    half = value.detach().half() if value.is_floating_point() else value.detach()
    return half if torch.equal(half.isfinite(), value.isfinite()) else value.detach()


@dataclass(frozen=True)
class Trained:
    """The trained networks of a method: the members of an ensemble, each with `samples` stochastic passes. Each is made
    on first use, as stored logits need none."""

    make: Sequence[Callable[[], nn.Sequential]]
    samples: int
    seed: int
    device: torch.device
    keys: list[dict[str, Any]] = field(default_factory=list)  # the description of each network

    @property
    def networks(self) -> list[nn.Sequential]:
        return [one() for one in self.make]

    def each(self) -> list[tuple[Trained, dict[str, Any]]]:
        """Each network on its own, with its description."""
        return [(replace(self, make=[one], keys=[key]), key) for one, key in zip(self.make, self.keys, strict=True)]

    def outputs(self, images: Tensor) -> Outputs:
        """Logits (S, N, K) and features (N, D) of images, uint8 or floats of one for white; float32 without TF32."""
        networks = self.networks  # some may have to be trained first
        logits, features = [], []
        exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)  # TF32 is on by default
        with torch.no_grad(), seeded(self.device, self.seed, epoch=-2), exact:
            for part in torch.split(images, CPU_BATCH if self.device.type == "cpu" else BATCH):
                batch = part.to(self.device)
                batch = batch.float() / 255 if batch.dtype == torch.uint8 else batch
                passes = [one for network in networks for one in _passes(network, batch, self.samples)]
                logits.append(torch.stack([output for output, _ in passes]).cpu())
                features.append(passes[0][1].cpu())
        return Outputs(torch.cat(logits, dim=1).numpy(), torch.cat(features).numpy())


def _passes(network: nn.Sequential, images: Tensor, passes: int) -> list[tuple[Tensor, Tensor]]:
    """Logits and features of each pass. The layers before the first random one are computed once."""
    layers = list(network)
    fixed = _fixed(layers, images[:8]) if passes > 1 else 0
    images, rest = nn.Sequential(*layers[:fixed])(images), nn.Sequential(*layers[fixed:])
    return [_forward(rest, images) for _ in range(passes)]


def _fixed(layers: list[nn.Module], images: Tensor) -> int:
    """The number of layers before the first whose output is random. The last layer counts as random."""
    for number, layer in enumerate(layers[:-1]):
        output = layer(images)
        if not torch.equal(output, layer(images)):
            return number
        images = output
    return len(layers) - 1


def _forward(network: nn.Sequential, images: Tensor) -> tuple[Tensor, Tensor]:
    features = network[:-1](images)
    return network[-1](features).float(), features.float()


def mean_readout(head: Callable[[Array], Readout], logits: Array) -> Readout:
    """The readout of logits (S, N, K), with probabilities averaged over the S networks and passes."""
    log_probs, log_none = head(logits)
    count = np.log(len(logits))
    return Readout(_mean(log_probs, count), _mean(log_none, count))


def _mean(logs: Array, count: float) -> Array:
    return NUMPY.logsumexp(np.moveaxis(logs, 0, -1)) - count
