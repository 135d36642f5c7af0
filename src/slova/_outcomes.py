"""The arithmetic of a scorer: from logits that were checked to the probabilities of the classes and of NONE."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from slova._backend import Array, Backend, in_chunks
from slova._validation import NONE_INDEX
from slova.calibration import Calibrator, complete
from slova.heads import SLOVA, Readout, Top
from slova.prediction import Prediction

if TYPE_CHECKING:
    from slova.scorer import Scorer

TIE = 1e-6  # between the top class and those that an elementwise calibrator ties with it
LOWEST = -1e4  # of a log-probability when the other classes share what is left: those at 0 then share equally


def answer(
    scorer: Scorer, logits: Array, ops: Backend, reject: float, distances: Array | None = None
) -> tuple[Array, Array, Array, Array, Array]:
    """The fields of a `Prediction`, in their order. On a GPU, without gradients, one kernel gives them where it can."""
    if getattr(logits, "is_cuda", False):
        from slova.extreme.scoring import answer_on_gpu

        if (found := answer_on_gpu(scorer, logits, reject, distances)) is not None:
            return found
    if distances is None:
        top, *shares = in_chunks(partial(_outcome, scorer), logits, ops)
    else:
        top, *shares = _outcome(scorer, logits, ops, distances)
    label = ops.where(shares[0] >= reject, top, ops.full(top, NONE_INDEX))
    return label, *shares, top


def answer_and_readout(
    scorer: Scorer, logits: Array, ops: Backend, distances: Array | None, read: Array | None
) -> tuple[Prediction, Readout]:
    """`answer`, with nothing rejected, and `readout`, which share their steps unless the calibrator is elementwise.
    `read` is what the calibrator takes of these logits, where that is known."""
    if _is_elementwise(scorer):
        return Prediction(*answer(scorer, logits, ops, 0.0, distances)), readout(scorer, logits, ops, distances)
    logits = logits if scorer.before is None else scorer.before(logits)
    index, log_probs, log_none = _joint(scorer, logits, ops, distances, read)
    shares = _shares(scorer, logits, ops, ops.take(log_probs, index)[..., 0], log_none)
    top = index[..., 0]
    label = ops.where(shares[0] >= 0, top, ops.full(top, NONE_INDEX))  # where it is NaN, NONE
    if log_none is not None:  # the calibrator gives all K + 1
        return Prediction(label, *shares, top), Readout(log_probs, log_none)
    return Prediction(label, *shares, top), _readout_of(index, log_probs, shares, ops)


def none_source(scorer: Scorer) -> Literal["calibrated", "evidence", "absent"]:
    """See `Scorer.none`."""
    if scorer.none_calibrator is not None or getattr(scorer.calibrator, "none", None) is not None:
        return "calibrated"
    return "absent" if scorer.head.log_none is None else "evidence"


def _outcome(
    scorer: Scorer, logits: Array, ops: Backend, distances: Array | None = None
) -> tuple[Array, Array, Array, Array]:
    """Top class, confidence, none and ambiguous per row."""
    logits = logits if scorer.before is None else scorer.before(logits)
    if _is_elementwise(scorer):
        return outcome_of_top(scorer, logits, ops, scorer.head.read_top(logits, ops))
    index, log_probs, log_none = _joint(scorer, logits, ops, distances)
    return index[..., 0], *_shares(scorer, logits, ops, ops.take(log_probs, index)[..., 0], log_none)


def outcome_of_top(scorer: Scorer, logits: Array, ops: Backend, top: Top) -> tuple[Array, Array, Array, Array]:
    """The same from what the head reads of the top class alone, for an elementwise calibrator; `logits` are looked at
    only if the head is not SLOVA."""
    raw = top if scorer.head.top_formula is SLOVA.top_formula else None
    return top.label, *_shares(scorer, logits, ops, _calibrated(scorer.calibrator, top.log_confidence), None, raw)


def readout(scorer: Scorer, logits: Array, ops: Backend, distances: Array | None) -> Readout:
    """log-probabilities of the classes and of NONE; each row sums to one, and its top class is that of `outcome`."""
    logits = logits if scorer.before is None else scorer.before(logits)
    if _is_elementwise(scorer):
        log_probs = scorer.head.log_probs(logits, ops)
        index = scorer.head.top_index(logits, log_probs, ops)
        log_top = _calibrated(scorer.calibrator, scorer.head.read_top(logits, ops).log_confidence)
        if scorer.calibrator is not None:
            log_probs, below = scorer.calibrator(log_probs), log_top[..., None] - TIE
            log_probs = ops.where(log_probs > below, below, log_probs)
            log_probs = complete(ops.put(log_probs, index, log_top[..., None])).log_probs
    else:
        index, log_probs, log_none = _joint(scorer, logits, ops, distances)
        if log_none is not None:  # the calibrator gives all K + 1
            return Readout(log_probs, log_none)
        log_top = ops.take(log_probs, index)[..., 0]
    return _readout_of(index, log_probs, _shares(scorer, logits, ops, log_top, None), ops)


def _readout_of(index: Array, log_probs: Array, shares: tuple[Array, Array, Array], ops: Backend) -> Readout:
    """The classes beside the top one share what is ambiguous like these log-probabilities."""
    confidence, none, ambiguous = shares
    others = ops.put(ops.clip(log_probs, LOWEST, None), index, ops.full(ops.take(log_probs, index), -float("inf")))
    others = ops.minus(others, ops.logsumexp(others)[..., None]) + ops.log(ambiguous)[..., None]
    return Readout(ops.put(others, index, ops.log(confidence)[..., None]), ops.log(none))


def raw_log_none(scorer: Scorer, logits: Array, ops: Backend) -> Array:
    """log P(none) before calibration; of a head without it, that of the log-odds of its classes."""
    if scorer.head.log_none is not None:
        return scorer.head.log_none(logits, ops)
    assert SLOVA.log_none is not None
    return SLOVA.log_none(scorer.head.log_odds(logits, ops), ops)


def _is_elementwise(scorer: Scorer) -> bool:
    return scorer.calibrator is None or scorer.calibrator.elementwise


def _joint(
    scorer: Scorer, logits: Array, ops: Backend, distances: Array | None, read: Array | None = None
) -> tuple[Array, Array, Array | None]:
    """Top class, log-probabilities of the classes (..., K), and log P(none). Without a model of NONE in the calibrator
    log P(none) is None, and the classes sum to one. `read` is what the calibrator takes, where that is known."""
    calibrator: Any = scorer.calibrator
    log_none = None
    if getattr(calibrator, "takes", "log_probs") == "log_odds":
        read = scorer.head.log_odds(logits, ops) if read is None else read
        log_probs = calibrator(read) if distances is None else calibrator(read, distances)
        if hasattr(calibrator, "none"):  # NONE is its last outcome
            log_probs, log_none = log_probs[..., :-1], log_probs[..., -1]
    else:
        log_probs = calibrator(scorer.head.log_probs(logits, ops) if read is None else read)
    keeps_order = scorer.head.order_preserving and calibrator.order_preserving
    index = ops.top(logits if keeps_order else log_probs)[1]
    return index, log_probs, log_none if getattr(calibrator, "none", None) is not None else None


def _shares(
    scorer: Scorer, logits: Array, ops: Backend, log_confidence: Array, log_none: Array | None, raw: Top | None = None
) -> tuple[Array, Array, Array]:
    """Confidence, none and ambiguous from the calibrated log-probability of the top class, and the calibrator's own
    log P(none). `raw` is what SLOVA reads of the logits, where that is known."""
    if scorer.none_calibrator is not None:
        log_raw = raw_log_none(scorer, logits, ops) if raw is None else raw.log_none
        log_none = _calibrated(scorer.none_calibrator, log_raw)
        if not _is_elementwise(scorer):  # given one of the classes, so far
            log_confidence = log_confidence + ops.log1mexp(log_none)
    elementwise = scorer.calibrator is not None and scorer.calibrator.elementwise
    if elementwise and none_source(scorer) == "absent":  # no class may be above the top one
        least = ops.log(ops.full(log_confidence, 1 / scorer.classes))
        log_confidence = ops.where(log_confidence < least, least, log_confidence)
    confidence = ops.exp(log_confidence)
    left = ops.exp(ops.log1mexp(ops.clip(log_confidence, None, 0.0)))
    if none_source(scorer) == "absent":
        return confidence, ops.full(left, 0.0), left
    if none_source(scorer) == "evidence":
        assert SLOVA.top_formula is not None
        _, log_top, log_raw = SLOVA.top_formula(logits, ops) if raw is None else raw
        none = left * ops.exp(ops.clip(ops.minus(log_raw, ops.log1mexp(log_top)), None, 0.0))
    else:
        none = ops.exp(log_none)
    if elementwise:  # all classes at most like the top one
        none = ops.where(none < 1 - scorer.classes * confidence, 1 - scorer.classes * confidence, none)
    none = ops.where(none > left, left, none)
    return confidence, none, left - none


def _calibrated(calibrator: Calibrator | None, log_probs: Array) -> Array:
    """One log-probability per row (...), calibrated by itself."""
    return log_probs if calibrator is None else calibrator(log_probs[..., None])[..., 0]
