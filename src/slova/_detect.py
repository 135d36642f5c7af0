"""Which kind of values these are, found out on labelled rows: what `head="auto"` does. Functions never guess; only a
fit does, it says what it found, and `head=` overrides it.

- values in [0, 1] whose rows sum to one are probabilities, other values in [0, 1] one-vs-all probabilities;
- values <= 0 whose exponentials sum to one per row are log-probabilities;
- of other values, with three classes or more, those of a one-vs-all model are positive for about one class per row,
  because it is trained so that a class fits where its logit is positive; softmax ignores a shift, and leaves several
  positive. With two classes the reading of the smaller log-loss is taken, softmax where they tie.

It is a guess where a second look does not confirm it. The sigmoids of a one-vs-all model sum to 1 on average, because
the gradient of its biases is 0; with three classes those of softmax logits may sum to little more. A network that is
hardly better than chance can be of either kind, and so can two columns of about the same log-loss.

Checked on ResNet-20 of CIFAR-10 (softmax, one-vs-all, trained with outliers), and on logistic regressions, linear SVMs
and small networks of 5 to 1,500 steps on digits, iris, wine and 100 clusters, with 20 rows and with all: right for all
logits of K = 10 and 100 but those of networks of less than 20 steps, and for five in six of K = 3, where what is wrong
is said to be a guess. The calibrator makes little of the difference, apart from P(none), which only a one-vs-all
reading has.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from slova._backend import NUMPY, Array, to_numpy
from slova._validation import NONE, Floats, Ints
from slova.heads import BINARY, BINARY_PROBABILITIES, OVA_PROBABILITIES, PROBABILITIES, SLOVA, SOFTMAX, Head

SHARES = ("probabilities", "ova_probabilities", "binary_probabilities")  # heads that read probabilities
LOOK = 256  # rows that are looked at before a prediction
ROUNDING = 2e-3  # by which the sum of a row of probabilities may differ from one: half precision, or a few digits
POSITIVE = 1.15  # logits per row that may be positive on average in a one-vs-all model
FEW = 3  # classes with which softmax logits can have so few positive ones as well
CONFIRMED = 1.1  # the sum of the sigmoids of a row, on average: at most this confirms one-vs-all logits
REFUTED = 1.3  # at least this confirms softmax logits
CHANCE = 0.85  # of log K: a network whose log-loss is larger is hardly better than chance
MOST = 500_000  # numbers that the second look takes
CLOSE = 0.1  # the relative difference of two log-losses that decides nothing


class Detected(NamedTuple):
    """A head, a sentence about why it is this one, and the other head that it may be as well, if this is a guess."""

    head: Head
    why: str
    other: Head | None = None


def detect_head(values: Floats, labels: Ints) -> Detected:
    """The head for values (N, K) with labels (N,), NONE allowed."""
    _check_informative(values)
    if values.shape[1] == 1:
        return _binary(values)
    if _are_shares(values):
        if _sum_to_one(values):
            return Detected(PROBABILITIES, "the rows are probabilities that sum to one")
        return Detected(OVA_PROBABILITIES, "the values are probabilities that do not sum to one: one-vs-all")
    if _are_log_probs(values):
        return Detected(SOFTMAX, "the rows are log-probabilities")
    if values.shape[1] == 2:
        return _two_classes(values, labels)
    return _many_classes(values[labels != NONE], labels[labels != NONE])


def _check_informative(values: Floats) -> None:
    if values.shape[1] > 1 and (values == values[:, :1]).all():
        raise ValueError("every row has the same value for all classes: these are no logits of a model")
    if values.min() >= 0 and values.max() > 1 and np.allclose(values.sum(axis=1), 100, atol=1):
        raise ValueError("the rows sum to 100: divide percentages by 100 to give probabilities")


def check_kind(head: Head, values: Array, *, fitted: bool = True, named: str | None = None) -> None:
    """Raises if the values are of another kind than those of the fit: where any row shows that they are no
    probabilities, or the first rows that they are no logits, or the name of their column in a file, `named`. Values on
    an accelerator, or in a program that is being traced, are not looked at."""
    takes_shares = head.name in SHARES
    rows = _first_rows(values, None if takes_shares else LOOK)
    takes = "the model was fitted to" if fitted else f"the head {head.name} takes"
    if named is not None and not takes_shares:
        raise ValueError(f"{takes} logits, got probabilities, by the name {named!r}: give logits")
    if rows is None:
        return
    if takes_shares and rows.size:
        lowest, highest = (find.reduce(rows, axis=None) for find in (np.fmin, np.fmax))  # of all rows, NaN aside
        if lowest < -ROUNDING or highest > 1 + ROUNDING:
            found = f"values from {lowest:.3g} to {highest:.3g}"
            raise ValueError(f"{takes} probabilities, got {found}: give probabilities, not logits")
    takes_logits = not takes_shares and head.to_logits is None
    if takes_logits and len(rows) > 1 and rows.shape[1] > 1 and _are_shares(rows) and _sum_to_one(rows):
        raise ValueError(f"{takes} logits, got rows of probabilities that sum to one: give their logits")


def _first_rows(values: Array, count: int | None) -> Floats | None:
    """So many rows (n, K) on the host, or None where looking would be expensive or impossible."""
    if hasattr(values, "is_floating_point"):
        torch = sys.modules["torch"]
        if type(values) is not torch.Tensor or values.device.type != "cpu" or torch.compiler.is_compiling():
            return None
        values = values.detach()
    elif not isinstance(values, np.ndarray | list | tuple):
        return None
    rows = to_numpy(values[:count]) if getattr(values, "ndim", 2) else np.zeros((0, 1))
    if rows.dtype.kind != "f" or not rows.ndim or not rows.shape[-1]:
        return None
    return rows.reshape(-1, rows.shape[-1] if rows.ndim > 1 else 1)[:count]


def _binary(values: Floats) -> Detected:
    if _are_shares(values):
        return Detected(BINARY_PROBABILITIES, "one column of probabilities: class 1 against class 0")
    return Detected(BINARY, "one column of logits: class 1 against class 0")


def _are_shares(values: Floats) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _are_log_probs(values: Floats) -> bool:
    """Within rounding, also that of a coarse quantisation; and means of log-probabilities, which sum to less than one
    where the members of an ensemble differ."""
    if values.max() > ROUNDING:
        return False
    totals = NUMPY.logsumexp(values)
    return bool(totals.max() <= 0.25 and np.median(np.abs(totals)) <= 0.03)


def _sum_to_one(values: Floats) -> bool:
    """Within rounding, also to two to four decimals."""
    digits = next((digits for digits in (2, 3, 4) if np.allclose(values, values.round(digits), rtol=0, atol=1e-6)), 9)
    atol = max(ROUNDING, 0.6 * values.shape[1] * 10.0**-digits)
    return bool(np.allclose(values.sum(axis=1), 1.0, rtol=0, atol=min(atol, 0.05)))


def _many_classes(values: Floats, labels: Ints) -> Detected:
    """Of rows that have a class."""
    positive = float((values > 0).sum(axis=1).mean()) if len(values) else 0.0
    is_ova, columns = positive <= POSITIVE, values.shape[1]
    why = f"({positive:.2f} of {columns} positive per row"
    if not len(values):
        return _found(is_ova, f"{why})", sure=True)
    step = max(1, values.size // MOST)
    rows, labels = np.clip(values[::step], -1e4, 1e4).astype(np.float64), labels[::step]
    total = float(np.exp(-NUMPY.softplus(-rows)).sum(axis=1).mean())
    loss = float((NUMPY.logsumexp(rows) - rows[np.arange(len(rows)), labels]).mean())
    sure = columns > FEW or total <= CONFIRMED if is_ova else total >= REFUTED and loss <= CHANCE * np.log(columns)
    return _found(is_ova, f"{why}, sigmoids sum to {total:.2f})", sure=sure)


def _found(is_ova: bool, why: str, *, sure: bool) -> Detected:
    kind, other = (SLOVA, SOFTMAX) if is_ova else (SOFTMAX, SLOVA)
    guess = "" if sure else f', a guess: pass head="{SLOVA.name}" or head="{SOFTMAX.name}" to be sure'
    return Detected(kind, f"{kind.kind} logits {why}{guess}", None if sure else other)


def _two_classes(values: Floats, labels: Ints) -> Detected:
    """By the binary log-loss summed over the classes, per row: of the values as one-vs-all logits, and of the log-odds
    that softmax gives."""
    known = labels != NONE
    rows = np.clip(values[known], -1e4, 1e4).astype(np.float64)
    own = np.arange(values.shape[1]) == labels[known][:, None]

    def loss(log_odds: Floats) -> float:
        clipped = np.clip(log_odds, -30, 30)  # one saturated row must not decide
        return float((NUMPY.softplus(clipped) - own * clipped).sum() / max(len(rows), 1))

    ova, softmax = loss(rows), loss(SOFTMAX.log_odds(rows, NUMPY))
    why = f"(log-loss {ova:.3g} per row as one-vs-all, {softmax:.3g} as softmax)"
    return _found(ova < softmax, why, sure=abs(ova - softmax) > CLOSE * max(ova, softmax))
