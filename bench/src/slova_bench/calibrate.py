"""How a method is calibrated: on which validation images, and what comes of it.

Equal terms: a method and its rival name the same images. "clean" are the validation images, "degraded" the same images
by the degradations for calibration, "outliers" images of no class made from them, by the kinds for calibration; no
training sees these kinds. Methods with distances are fitted to the rows of `Classifier.fit` itself, others to images of
the same kinds and counts.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from slova._backend import NUMPY, Array
from slova.calibration import Calibrator, PosteriorCalibration, TemperatureScaling
from slova.heads import HEADS, SOFTMAX, Readout
from slova.vision import CALIBRATION_DEGRADATIONS, CALIBRATION_OUTLIERS, add_outliers, degrade
from slova.vision.shift_aware import DEGRADED_NONE_WEIGHT, DEGRADED_WEIGHT, SYNTHETIC_WEIGHT
from slova_bench import data
from slova_bench.distances import WithDistances, with_distances
from slova_bench.method import CalibrationRows, Fitted, Method
from slova_bench.pipeline import Bench, Trained, mean_readout
from slova_bench.stable import stable
from slova_bench.store import VERSIONS

__all__ = ["calibration", "calibration_rows", "class_temperature", "posterior", "readout_of", "with_temperature"]

WEIGHTS = {
    "clean": (1.0, 1.0),
    "degraded": (DEGRADED_WEIGHT, DEGRADED_NONE_WEIGHT),
    "outliers": (SYNTHETIC_WEIGHT, SYNTHETIC_WEIGHT),
}  # in the class part, and in the model of NONE
NONE_SHARE = 0.05  # the prior of NONE


def readout_of(method: Method, bench: Bench, trained: Trained) -> Fitted:
    """A function from outputs (S, N, C) to the calibrated readout of the method."""
    if method.fit is not None:
        return method.fit(calibration_rows(method, bench, trained))
    return partial(_calibrated, partial(mean_readout, method.head), calibration(method, bench, trained))


def _calibrated(uncalibrated: Fitted, calibrator: Calibrator | None, outputs: Array) -> Readout:
    found = uncalibrated(outputs)
    return found if calibrator is None else found._replace(log_probs=calibrator(found.log_probs))


def calibration(method: Method, bench: Bench, trained: Trained) -> Calibrator | None:
    """The calibrator of a method, fitted on its validation images and its share of noise."""
    if method.calibrate is None:
        return None
    rows = calibration_rows(method, bench, trained)
    weight = {} if len(method.calibrate_on) == 1 else {"weight": rows.weight}
    return method.calibrate(mean_readout(method.head, rows.outputs).log_probs, rows.labels, **weight)


def calibration_rows(method: Method, bench: Bench, trained: Trained) -> CalibrationRows:
    """The outputs of the networks for the validation images that the method is calibrated on."""
    fitted = getattr(method.adapt, "func", method.adapt) is with_distances
    parts = _fit_rows(method, bench, trained) if fitted else _made_rows(method, bench, trained)
    sizes = [len(labels) for _, labels in parts]
    weights = [WEIGHTS[name] for name in method.calibrate_on]
    weight, none_weight = (np.repeat(column, sizes) for column in zip(*weights, strict=True))
    return CalibrationRows(
        outputs=np.concatenate([outputs for outputs, _ in parts], axis=1),
        labels=np.concatenate([labels for _, labels in parts]),
        weight=weight,
        none_weight=none_weight,
        groups=np.concatenate([np.arange(size) for size in sizes]),
        classes=data.classes(bench.dataset.train),
    )


def _made_rows(method: Method, bench: Bench, trained: Trained) -> list[tuple[Array, Array]]:
    """Outputs and labels of the validation images, and of those that are made from them here."""
    parts = [bench.validation_logits(trained, method.noise)]
    for name in method.calibrate_on[1:]:
        what = {"set": bench.dataset.val, "limit": bench.limit, "changed": f"{name}/1"}
        parts.append(bench.cached_logits(trained, what, partial(_changed, bench, name)))
    return parts


def _fit_rows(method: Method, bench: Bench, trained: Trained) -> list[tuple[Array, Array]]:
    """The same of networks with distances, as they were read for these."""

    def compute(one: Trained) -> dict[str, Tensor]:
        network = one.networks[0][0]
        assert isinstance(network, WithDistances)
        rows = network.rows
        assert rows is not None
        outputs = np.hstack([rows.logits, rows.distances]).astype(np.float32)
        return {"outputs": torch.from_numpy(outputs), "labels": torch.from_numpy(rows.labels)}

    what = {"versions": VERSIONS, "set": bench.dataset.val, "limit": bench.limit}
    found = [
        bench.store.get("fit_rows", {**what, "weights": key}, partial(compute, one)) for one, key in trained.each()
    ]
    outputs, labels = np.stack([part["outputs"].numpy() for part in found]), found[0]["labels"].numpy()
    thirds = dict(zip(WEIGHTS, np.split(np.arange(len(labels)), len(WEIGHTS)), strict=True))
    return [(outputs[:, thirds[name]], labels[thirds[name]]) for name in method.calibrate_on]


def _changed(bench: Bench, name: str) -> tuple[Tensor, Tensor]:
    images, labels = bench.validation.images.float() / 255, bench.validation.labels
    if name == "degraded":
        return degrade(images, kinds=CALIBRATION_DEGRADATIONS), labels
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        images, labels = add_outliers(images, labels, share=1.0, kinds=CALIBRATION_OUTLIERS)
    return images[len(bench.validation.images) :], labels[len(bench.validation.labels) :]


def with_temperature(uncalibrated: Fitted, rows: CalibrationRows) -> Fitted:
    """A readout with a temperature that is fitted to these rows."""
    log_probs = uncalibrated(rows.outputs).log_probs
    return partial(_calibrated, uncalibrated, TemperatureScaling.fit(log_probs, rows.labels, weight=rows.weight))


@stable("class_temperature")
def class_temperature(rows: CalibrationRows) -> Fitted:
    """Softmax with a temperature, of the logits alone where a network has further outputs."""
    return with_temperature(lambda outputs: mean_readout(SOFTMAX, outputs[..., : rows.classes]), rows)


@stable("posterior", version=2)  # 2: what may change the order of classes must pay on clean images, as in a scorer
def posterior(
    rows: CalibrationRows, *, head: str, distances: bool = True, order: Literal["auto", "keep"] = "auto"
) -> Fitted:
    """The default calibrator of slova, with the columns after the logits as distances, or without them; networks are
    averaged before it. The readout is that of the classes given "not none", and P(none)."""
    kind = HEADS[head]

    def split(outputs: Array) -> tuple[Array, Array | None]:
        mean = outputs.astype(np.float64).mean(axis=0)
        more = mean[:, rows.classes :]
        return kind.log_odds(mean[:, : rows.classes], NUMPY), more if distances and more.shape[1] else None

    log_odds, found = split(rows.outputs)
    fitted = PosteriorCalibration.fit(
        log_odds,
        rows.labels,
        distances=found,
        weight=rows.weight,
        none_weight=rows.none_weight,
        groups=rows.groups,
        own=(rows.groups == np.arange(len(rows.groups))).astype(int),
        none_share=NONE_SHARE if (rows.labels < 0).any() else None,
        order=order,
    )

    def readout(outputs: Array) -> Readout:
        log_probs = fitted(*split(outputs))
        log_none = log_probs[:, -1]
        with np.errstate(divide="ignore"):
            return Readout(log_probs[:, :-1] - np.log1p(-np.exp(log_none))[:, None], log_none)

    return readout
