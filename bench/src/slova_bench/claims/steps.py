"""Claims about the steps of the method: the effect of readout and calibration (Sec. 4.3), and the stability of the fit
(Appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from slova_bench import labels
from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import OURS, best, listed, means, present
from slova_bench.frame import deviations, quartiles, shift_groups, sizes
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError
from slova_bench.tables.seeds import Name
from slova_bench.tables.stability import METRICS

__all__ = ["CLAIMS"]

STEPS = ("ova", "slova_raw", "slova")
STABLE = {"M": 10, "n_b": 400}  # beyond these, according to the paper, nothing changes appreciably
APPRECIABLE = 0.1  # of the metric


def successive(rows: Sequence[Row], paper: Sequence[Row], on: str, metric: str, said: str) -> Check | None:
    """Each step has a lower median than the previous one."""
    found = _medians(rows, metric, on)
    values = [found[name, ""] for name in STEPS]
    return Check(said, listed(found, metric), tuple(b < a for a, b in pairwise(values)))


def best_nll(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    found = _medians(rows, "nll", on)
    return Check("complete SLOVA is best", listed(found, "nll"), (best(found, "nll") == OURS,))


def steady_nll(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The standard deviation over the test sets, per seed and then averaged."""
    shifts = shift_groups(rows)[0]
    found = means(deviations(rows, "nll", shifts))
    present(found, STEPS, "ablation", on)
    spread = {(name, ""): found[name, ""] for name in STEPS}
    words = f"standard deviations over {sizes(rows, 'nll', shifts)[0]} test sets: {listed(spread, 'nll')}"
    return Check("complete SLOVA has the lowest", words, (best(spread, "nll") == OURS,))


def same_accuracy(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    found = _medians(rows, "accuracy", on)
    values = [found[name, ""] for name in STEPS]
    return Check("the same", listed(found, "accuracy"), tuple(bool(np.isclose(a, b)) for a, b in pairwise(values)))


def stable(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """The largest deviation of a fit from the median beyond the sizes of the paper; in brackets, up to them."""
    holds, words = list[bool](), list[str]()
    for kind, least in STABLE.items():
        spreads = {metric: _spread(rows, metric, kind, least) for metric in METRICS}
        holds += [after <= APPRECIABLE for _, after in spreads.values()]
        parts = [
            f"{labels.metric(m).name} {100 * after:.0f} % ({100 * before:.0f} %)"
            for m, (before, after) in spreads.items()
        ]
        words.append(f"{kind} > {least} (up to there): {', '.join(parts)}")
    return Check("stable", f"largest differences for {'; '.join(words)}", tuple(holds))


def _medians(rows: Sequence[Row], metric: str, on: str) -> dict[Name, float]:
    found = means(quartiles(rows, metric, shift_groups(rows)[0])[50])
    present(found, STEPS, "ablation", on)
    return {(name, ""): found[name, ""] for name in STEPS}


def _spread(rows: Sequence[Row], metric: str, kind: str, least: float) -> tuple[float, float]:
    """The largest relative deviation from the median of the fits beyond that size: of fits up to it, and beyond it."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if (row.metric, row.parameter, row.preset) == (metric, kind, ""):
            found.setdefault(row.parameter_value, []).append(row.value)
    values = {number: float(np.mean(those)) for number, those in found.items()}
    past = [value for number, value in values.items() if number > least]
    if not past:
        raise MissingRowsError(f"there are no rows of {kind} > {least:g}: run slova bench run stability")
    gaps = {number: abs(value / float(np.median(past)) - 1) for number, value in values.items()}
    before, after = ([gap for number, gap in gaps.items() if (number > least) is large] for large in (False, True))
    return max(before, default=0.0), max(after)


CLAIMS = (
    Claim(
        "Readout and then calibration lower the median ECE of OVA",
        "Fig. 8, Sec. 4.3",
        "ablation",
        partial(successive, metric="ece", said="each step improves the ECE"),
    ),
    Claim(
        "Readout and then calibration lower the median Brier score of OVA",
        "Fig. 8, Sec. 4.3",
        "ablation",
        partial(successive, metric="brier", said="a slight positive trend"),
    ),
    Claim("The complete method has the lowest median NLL of its steps", "Fig. 8, Sec. 4.3", "ablation", best_nll),
    Claim("The NLL of the complete method varies least", "Fig. 8, Sec. 4.3", "ablation", steady_nll),
    Claim("No step changes the accuracy", "Fig. 8, Sec. 4.3", "ablation", same_accuracy),
    Claim("The fit is stable beyond M = 10 terms and n_b = 400 points, to a tenth", "App. B", "stability", stable),
)
