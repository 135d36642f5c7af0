"""Posterior and temperature calibration of logits (N, K) on a GPU: the numbers of a scorer as its kernel takes them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from slova._backend import TORCH, Array
from slova.calibration import PosteriorCalibration, TemperatureScaling
from slova.calibration.posterior import BY_DISTANCE, steepness
from slova.extreme.posterior_kernel import ABSENT, EVIDENCE, MODEL, Numbers, posterior_rows
from slova.heads import SLOVA, SOFTMAX
from slova.scorer import Scorer

__all__ = ["Fields", "affine_of", "posterior_answer", "softmax_top"]

Fields = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]  # of a `Prediction`, in their order
MOST_PAIRS = 64  # classes up to which a program multiplies by the matrix of pairs
Sent = tuple[Numbers, list[Tensor], Tensor]  # for the kernel, for `steepness`, and the weights of distances for NONE
_ON_DEVICE: WeakKeyDictionary[PosteriorCalibration, dict[torch.device, Sent]] = WeakKeyDictionary()


def posterior_answer(scorer: Scorer, rows: Tensor, reject: float, distances: Array | None) -> Fields | None:
    """The fields of a `Prediction`, or None for other calibrators."""
    softmax, calibrator = scorer.head.log_odds is SOFTMAX.log_odds, scorer.calibrator
    source = ABSENT if scorer.head.log_none is None else EVIDENCE
    if isinstance(calibrator, TemperatureScaling) and distances is None:
        if scorer.head.log_probs not in (SLOVA.log_probs, SOFTMAX.log_probs):
            return None
        numbers, softmax = Numbers(1 / calibrator.temperature), False  # a shift of the scores changes nothing
    elif isinstance(calibrator, PosteriorCalibration) and (calibrator.pairs is None or scorer.classes <= MOST_PAIRS):
        numbers = _numbers(calibrator, rows, distances)
        source = source if calibrator.none is None else MODEL
    else:
        return None
    return posterior_rows(rows, numbers, affine_of(scorer), reject, softmax=softmax, source=source)


def softmax_top(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The top class of softmax and the log of its probability."""
    _, log_top, _, _, top = posterior_rows(rows, Numbers(1.0), (1.0, 0.0), 0.0, softmax=False, source=ABSENT, logs=True)
    return top, log_top


def affine_of(scorer: Scorer) -> tuple[float, float]:
    return (1.0, 0.0) if scorer.before is None else (scorer.before.scale, scorer.before.offset)


def _numbers(calibrator: PosteriorCalibration, rows: Tensor, distances: Array | None) -> Numbers:
    found = _ON_DEVICE.setdefault(calibrator, {})
    if rows.device not in found:  # sending them for every batch would cost more than the kernel
        found[rows.device] = _sent(calibrator, rows.device)
    numbers, by_distance, for_none = found[rows.device]
    if (distances := calibrator.checked_distances(rows, distances, TORCH)) is None:
        return numbers
    distances = distances.float()
    a, b = steepness(distances, *by_distance, ops=TORCH)
    more = torch.zeros_like(a) if calibrator.none is None else distances @ for_none
    return numbers._replace(per_row=torch.stack([a, b, more]))


def _sent(calibrator: PosteriorCalibration, device: torch.device) -> Sent:
    def send(values: Array) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32).contiguous().to(device)

    none = np.zeros(3) if calibrator.none is None else calibrator.none
    classes = (calibrator.class_positive, calibrator.class_negative, calibrator.bias / calibrator.reference)
    numbers = Numbers(
        float(calibrator.positive_weights[0]),
        float(calibrator.negative_weights[0]),
        float(calibrator.scale),
        float(calibrator.smoothing),
        (float(none[0]), float(none[1]), float(calibrator.none_negative), float(none[2])),
        send(np.stack(classes)),
        None if calibrator.pairs is None else send(calibrator.pairs),
    )
    fields = [getattr(calibrator, name) for name in BY_DISTANCE]
    return numbers, [send(field) for field in fields if field is not None], send(none[3:])
