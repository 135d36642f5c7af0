"""From a method to what it says of a set: train, adapt, run, read out, calibrate. Each stage takes what decides it and
no more.

Softmax, temperature scaling, ReAct and the first member of the ensemble share their weights because the arguments of
`weights` are the same for them, as are those of OVA, uncalibrated SLOVA and SLOVA.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from slova._backend import NUMPY, Array
from slova.calibration import Calibrator
from slova.heads import NONE, Readout
from slova_bench import data
from slova_bench.dataset_recipes import Setting
from slova_bench.method import Method, Outputs
from slova_bench.store import VERSIONS, Store, describe
from slova_bench.train import Place, seeded, train

if TYPE_CHECKING:
    from slova_bench.test_sets import TestSet

__all__ = ["Bench", "Trained", "calibration", "member_seeds", "pooled"]

BATCH = 1000


@dataclass(frozen=True)
class Bench:
    """Where a comparison runs: the training set's setting, the store, the device, the data folder, and how many images
    a test set may have."""

    setting: Setting
    store: Store = field(default_factory=lambda: Store(None))
    place: Place = field(default_factory=Place)
    folder: str | Path | None = None
    limit: int | None = None

    def load(self, name: str) -> data.Split:
        return data.load(name, folder=self.folder, limit=None if name == self.setting.train else self.limit)

    @cached_property
    def training(self) -> data.Split:
        return self.load(self.setting.train)

    @cached_property
    def validation(self) -> data.Split:
        return self.load(self.setting.val)

    @cached_property
    def foreign(self) -> tuple[str, ...]:
        """The other data sets that can be loaded; it says which are for a user to put there."""
        return tuple(name for name in data.ood_for(self.setting.name) if self._is_there(name))

    def _is_there(self, name: str) -> bool:
        try:
            self.load(name)
        except FileNotFoundError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
            return False
        return True

    def trained(self, method: Method, seed: int) -> Trained:
        """The networks of a method, from the store or trained now."""
        seeds = member_seeds(method.members, seed)
        networks = [self._network(method, member) for member in seeds]
        if method.adapt is not None:
            networks = [method.adapt(network, self).eval() for network in networks]
        keys = [{**self.weights(method, member), "adapt": describe(method.adapt)} for member in seeds]
        return Trained(networks, method.samples, seed, self.place.device, keys)

    def weights(self, method: Method, seed: int) -> dict[str, Any]:
        """All that decides the weights of one network; equal descriptions are the same network."""
        return {
            "network": describe(method.network),
            "backbone": describe(self.setting.backbone),
            "loss": describe(method.loss),
            "recipe": describe(self.setting.recipe(method)),
            "data": self.setting.train,
            "seed": seed,
        }

    def ask(self, trained: Trained, test: TestSet, *, features: bool = True) -> tuple[Outputs, Array]:
        """What networks say of a set, and its labels. Without features, what they said before is looked up."""
        if features:
            images, labels = test.load(self)
            return trained.outputs(images), labels.numpy()
        logits, truth = self._said(trained, {"set": describe(test), "limit": self.limit}, lambda: test.load(self))
        return Outputs(logits, np.empty((logits.shape[1], 0))), truth

    def ask_validation(self, trained: Trained, noise: float) -> tuple[Array, Array]:
        """Logits (S, N, K) and labels (N,) of the validation set, and of this share of uniform noise, labelled NONE."""
        what = {"set": self.setting.val, "limit": self.limit}
        logits, labels = self._said(trained, what, lambda: (self.validation.images, self.validation.labels))
        count = int(noise * len(labels))
        if not count:
            return logits, labels
        more, none = self._said(
            trained, {**what, "noise": count, "drawn": trained.seed}, lambda: self._noise(trained, count)
        )
        return np.concatenate([logits, more], axis=1), np.concatenate([labels, none])

    def _noise(self, trained: Trained, count: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(trained.seed)
        shape = self.validation.images.shape[1:]
        return torch.rand((count, *shape), generator=generator), torch.full((count,), NONE)

    def _said(
        self, trained: Trained, what: dict[str, Any], load: Callable[[], tuple[Tensor, Tensor]]
    ) -> tuple[Array, Array]:
        """Logits (S, N, K) and labels (N,), of each network from the store or asked for now."""

        def ask(one: Trained) -> dict[str, Tensor]:
            images, labels = load()
            return {"logits": torch.from_numpy(one.outputs(images).logits), "labels": labels}

        whole = {"versions": VERSIONS, "samples": trained.samples, **what}
        if trained.samples > 1:
            whole["drawn"] = trained.seed
        parts = [
            self.store.get("logits", {**whole, "weights": key}, lambda one=one: ask(one))  # type: ignore[misc]
            for one, key in trained.each()
        ]
        return np.concatenate([part["logits"].numpy() for part in parts]), parts[0]["labels"].numpy()

    def description(self, method: Method) -> dict[str, Any]:
        """All that decides a method's rows, apart from seeds and sets; what JSON can hold."""
        weights = {name: value for name, value in self.weights(method, 0).items() if name != "seed"}
        later = ("members", "samples", "adapt", "head", "calibrate", "noise", "detect")
        return {"versions": VERSIONS, **weights, **{name: describe(getattr(method, name)) for name in later}}

    def _network(self, method: Method, seed: int) -> nn.Sequential:
        with seeded(torch.device("cpu"), seed, epoch=-1):
            network = method.network(self.setting.backbone, data.classes(self.setting.train))
        what = self.weights(method, seed)
        place = replace(self.place, checkpoint=self.store.path("weights", what, "checkpoint"))

        def compute() -> dict[str, Tensor]:
            pair = (self.training.images, self.training.labels)
            try:
                train(network, method.loss, self.setting.recipe(method), pair, seed, place)
            except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
                raise ValueError(f"{method.name} cannot be trained: {type(error).__name__}: {error}") from error
            return {name: _compact(value) for name, value in network.state_dict().items()}

        found = self.store.get("weights", what, compute)
        network.load_state_dict({name: value.to(network.state_dict()[name].dtype) for name, value in found.items()})
        return network.to(self.place.device).eval()


def member_seeds(members: int, seed: int) -> list[int]:
    """The seeds of an ensemble's networks. Ensembles of M overlap: there are 2 M networks, from which M ensembles are
    drawn that share no more than M - 2 with the next.

    >>> member_seeds(5, 0), member_seeds(5, 4), member_seeds(1, 4)
    ([0, 1, 2, 3, 4], [8, 9, 0, 1, 2], [4])
    """
    if members == 1:
        return [seed]
    return [(2 * seed + member) % (2 * members) for member in range(members)]


def _compact(value: Tensor) -> Tensor:
    """Half precision on disk, and so everywhere after training: a network that was loaded says what the one just
    trained says. What half precision cannot hold stays as it is."""
    half = value.detach().half() if value.is_floating_point() else value.detach()
    return half if torch.equal(half.isfinite(), value.isfinite()) else value.detach()


@dataclass(frozen=True)
class Trained:
    """Networks that can be asked: members of an ensemble, each as often as `samples`."""

    networks: list[nn.Sequential]
    samples: int
    seed: int
    device: torch.device
    keys: list[dict[str, Any]] = field(default_factory=list)  # what each network is

    def each(self) -> list[tuple[Trained, dict[str, Any]]]:
        """Every network by itself."""
        return [(replace(self, networks=[n], keys=[k]), k) for n, k in zip(self.networks, self.keys, strict=True)]

    @torch.no_grad()
    def outputs(self, images: Tensor) -> Outputs:
        """Logits (S, N, K) and features (N, D) of images, uint8 or floats of one for white; float32 without TF32."""
        logits, features = [], []
        exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)  # which is on unless told otherwise
        with seeded(self.device, self.seed, epoch=-2), exact:
            for first in range(0, len(images), BATCH):
                batch = images[first : first + BATCH].to(self.device)
                batch = batch.float() / 255 if batch.dtype == torch.uint8 else batch
                said = [answer for network in self.networks for answer in _answers(network, batch, self.samples)]
                logits.append(torch.stack([answer for answer, _ in said]).cpu())
                features.append(said[0][1].cpu())
        return Outputs(torch.cat(logits, dim=1).numpy(), torch.cat(features).numpy())


def _answers(network: nn.Sequential, images: Tensor, passes: int) -> list[tuple[Tensor, Tensor]]:
    """Logits and features of each pass; the layers in front of the first random one are passed once."""
    layers = list(network)
    fixed = _fixed(layers, images[:8]) if passes > 1 else 0
    images, rest = nn.Sequential(*layers[:fixed])(images), nn.Sequential(*layers[fixed:])
    return [_ask(rest, images) for _ in range(passes)]


def _fixed(layers: list[nn.Module], images: Tensor) -> int:
    """How many layers there are in front of the first that says two things of the same images; the last counts as
    one."""
    for number, layer in enumerate(layers[:-1]):
        said = layer(images)
        if not torch.equal(said, layer(images)):
            return number
        images = said
    return len(layers) - 1


def _ask(network: nn.Sequential, images: Tensor) -> tuple[Tensor, Tensor]:
    features = network[:-1](images)
    return network[-1](features).float(), features.float()


def pooled(head: Callable[[Array], Readout], logits: Array) -> Readout:
    """The read-out of logits (S, N, K), probabilities averaged over the S networks and passes."""
    log_probs, log_none = head(logits)
    count = np.log(len(logits))
    return Readout(_mean(log_probs, count), _mean(log_none, count))


def _mean(logs: Array, count: float) -> Array:
    return NUMPY.logsumexp(np.moveaxis(logs, 0, -1)) - count


def calibration(method: Method, bench: Bench, trained: Trained) -> Calibrator | None:
    """The method's map, fitted on validation data and the noise it asks for."""
    if method.calibrate is None:
        return None
    logits, labels = bench.ask_validation(trained, method.noise)
    return method.calibrate(pooled(method.head, logits).log_probs, labels)
