"""The answer from logits (..., K), each of which is read once; on a GPU by one kernel, as in `Scorer.predict`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from slova._backend import TORCH, Array
from slova._outcomes import outcome_of_top
from slova._validation import NONE_INDEX, check_logits, check_share
from slova.calibration import Calibrator, ExponentialCalibration
from slova.extreme.chunks import TRITON
from slova.extreme.posterior import Fields, affine_of, posterior_answer, softmax_top
from slova.extreme.readout import check
from slova.heads import SLOVA, SOFTMAX, Top, top_and_none
from slova.prediction import Prediction
from slova.scorer import Scorer

__all__ = ["answer_on_gpu", "numbers_of", "score"]

HALF_AND_SINGLE = (torch.float16, torch.bfloat16, torch.float32)


def score(scorer: Scorer, logits: Array, *, reject: float = 0.0) -> Prediction:
    """`scorer.predict(logits, reject=reject)`, without gradients.

    float32 and half precision on a GPU go through one kernel, which is limited by memory bandwidth if the calibrators
    are exponential; anything else, numpy included, takes the vectorised path.
    """
    check_share(reject, "reject")
    rows = logits.detach() if isinstance(logits, Tensor) else logits
    rows, ops = (rows, TORCH) if isinstance(rows, Tensor) and _runs_on(rows) else check_logits(rows)
    check(scorer, rows.shape[-1])
    return scorer.answer(rows, ops, reject)


def _runs_on(logits: Tensor) -> bool:
    """Whether a kernel can read these logits, half precision as it is."""
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return TRITON and not traced and logits.is_cuda and logits.dtype in HALF_AND_SINGLE and logits.numel() > 0


def _is_exponential(scorer: Scorer) -> bool:
    calibrators = (scorer.calibrator, scorer.none_calibrator)
    return all(one is None or isinstance(one, ExponentialCalibration) for one in calibrators)


def answer_on_gpu(scorer: Scorer, logits: Tensor, reject: float | Tensor, distances: Array | None) -> Fields | None:
    """The fields of a `Prediction` of logits that were checked, or None where no kernel gives them: in double
    precision, with gradients, while a program is traced, without Triton, and for heads and calibrators of one's own.
    Nothing here waits for the GPU."""
    if not _runs_on(logits) or (torch.is_grad_enabled() and logits.requires_grad):
        return None
    rows = logits.detach().reshape(-1, logits.shape[-1]).contiguous()
    least = float(reject) if isinstance(reject, int | float) else 0.0
    found = _answers(scorer, rows, least, distances)
    if found is None:
        return None
    label, confidence, none, ambiguous, top = (part.reshape(logits.shape[:-1]) for part in found)
    if not isinstance(reject, int | float):  # one per row
        label = torch.where(confidence >= torch.as_tensor(reject, device=logits.device), top, NONE_INDEX)
    return label, confidence, none, ambiguous, top


def _answers(scorer: Scorer, rows: Tensor, reject: float, distances: Array | None) -> Fields | None:
    head, calibrator = scorer.head, scorer.calibrator
    known = head.log_odds in (SLOVA.log_odds, SOFTMAX.log_odds) and head.log_none in (None, SLOVA.log_none)
    if not known or (scorer.none_calibrator is not None and head.top_formula is not SLOVA.top_formula):
        return None
    if calibrator is None or calibrator.elementwise:
        if distances is not None:
            return None
        if head.top_formula is SLOVA.top_formula and _is_exponential(scorer):
            return _exponential(scorer, rows, reject)
        return _from_top(scorer, rows, reject)
    if scorer.none_calibrator is None:
        return posterior_answer(scorer, rows, reject, distances)
    return None


def _exponential(scorer: Scorer, rows: Tensor, reject: float) -> Fields:
    from slova.extreme.kernels import score_rows, tile_for

    maps = (numbers_of(scorer.calibrator, rows.device), numbers_of(scorer.none_calibrator, rows.device))
    return score_rows(rows, maps, affine_of(scorer), float(reject), tile_for(scorer.classes))


def _from_top(scorer: Scorer, rows: Tensor, reject: float) -> Fields | None:
    """A kernel reads the top class, and the calibrator, whatever it is, gets that alone."""
    from slova.extreme.kernels import top_and_rest

    logits = rows if scorer.before is None else scorer.before(rows)
    if scorer.head.log_probs is SOFTMAX.log_probs:
        label, log_top = softmax_top(logits)
        top = Top(label, log_top, log_top)
    elif scorer.head.top_formula is SLOVA.top_formula:
        highest, label, rest = top_and_rest(logits)
        top = Top(label, *top_and_none(highest, rest, TORCH))
    else:
        return None
    label, confidence, none, ambiguous = outcome_of_top(scorer, logits, TORCH, top)
    return torch.where(confidence >= reject, label, NONE_INDEX), confidence, none, ambiguous, label


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
