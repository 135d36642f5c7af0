"""The answer from logits (..., K), each of which is read once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from slova._backend import Array
from slova._validation import check_logits, check_share
from slova.calibration import Calibrator, ExponentialCalibration
from slova.extreme.chunks import TRITON
from slova.extreme.readout import check, finish
from slova.heads import SLOVA
from slova.prediction import Prediction
from slova.scorer import Scorer

__all__ = ["numbers_of", "score"]

HALF_AND_SINGLE = (torch.float16, torch.bfloat16, torch.float32)


def score(scorer: Scorer, logits: Array, *, reject: float = 0.0) -> Prediction:
    """`scorer.predict(logits, reject=reject)`, without gradients.

    float32 and half precision on a GPU go through one kernel, which is limited by memory bandwidth, if the calibrators
    are exponential; anything else, numpy included, takes the vectorised path.
    """
    if _fits(scorer, logits):
        return _fused(scorer, logits.detach(), reject)
    logits, _ = check_logits(logits)
    check(scorer, logits.shape[-1])
    logits = logits if isinstance(logits, np.ndarray) else logits.detach()
    return finish(scorer, SLOVA.top(logits if scorer.before is None else scorer.before(logits)), reject)


def _fits(scorer: Scorer, logits: Array) -> bool:
    """Whether the kernel supports these logits and calibrators."""
    if not (TRITON and isinstance(logits, Tensor) and logits.is_cuda and logits.dtype in HALF_AND_SINGLE):
        return False
    calibrators = (scorer.calibrator, scorer.none_calibrator)
    return all(one is None or isinstance(one, ExponentialCalibration) for one in calibrators)


def _fused(scorer: Scorer, logits: Tensor, reject: float) -> Prediction:
    from slova.extreme.kernels import score_rows, tile_for

    check(scorer, logits.shape[-1])
    check_share(reject, "reject")
    rows = logits.reshape(-1, logits.shape[-1]).contiguous()
    maps = (numbers_of(scorer.calibrator, rows.device), numbers_of(scorer.none_calibrator, rows.device))
    affine = (1.0, 0.0) if scorer.before is None else (float(scorer.before.scale), float(scorer.before.offset))
    answers = score_rows(rows, maps, affine, float(reject), tile_for(scorer.classes))
    return Prediction(*(numbers.reshape(logits.shape[:-1]) for numbers in answers))


def numbers_of(map: Calibrator | None, device: torch.device) -> Tensor:
    """An exponential calibrator as `slova.extreme.kernels.score_rows` takes it (2, terms): its exponents, those after
    the first less the first, above its weights; None has no terms."""
    if map is None:
        return torch.empty(2, 0, device=device)
    assert isinstance(map, ExponentialCalibration)
    excess = map.exponents - np.append(0.0, np.repeat(map.exponents[0], len(map.exponents) - 1))
    return _on_device(np.stack([excess, map.weights]).tobytes(), device)


@lru_cache(64)
def _on_device(numbers: bytes, device: torch.device) -> Tensor:
    """A cached copy on the device: sending it for every batch would cost more than the kernel."""
    return torch.tensor(np.frombuffer(numbers).reshape(2, -1), dtype=torch.float32, device=device)
