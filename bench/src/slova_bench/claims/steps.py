"""Claims about the steps of the method: the effect of readout and calibration (Sec. 4.3), and the stability of the fit
(Appendix B)."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, listed, means, present
from slova_bench.frame import SET, Column, Frame, per_seed, quartiles, shift_groups, where
from slova_bench.results_folder import MissingRowsError
from slova_bench.tables.seeds import at_common_seeds, better
from slova_bench.tables.stability import METRICS

__all__ = ["CLAIMS"]

NORMALISED = ("slova_raw", "slova_normalised", "slova")
STEPS = ("ova", "slova_raw", "slova")
LOSSES = ("softmax", "ova")
STABLE = {"M": 10, "n_b": 400}  # beyond these, according to the paper, nothing changes appreciably
APPRECIABLE = 0.1  # of the metric


def successive(rows: Frame, paper: Frame, on: str, metric: str, said: str) -> Check | None:
    """Each step has a lower median than the previous one, and the seeds distinguish them."""
    found = _medians(rows, metric, on)
    return Check(said, listed(means(found), metric), tuple(better(found, b, a, metric) for a, b in pairwise(found)))


def one_vs_all(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts: with the one-vs-all loss the median ECE is lower, and the confidence exceeds the accuracy by less."""
    shifts = shift_groups(rows)[0]
    median = at_common_seeds(quartiles(rows, "ece", shifts)[50], LOSSES)
    both = (per_seed(where(rows, metric=metric, shift=["", *shifts]), whole=True) for metric in ("mmc", "accuracy"))
    mmc, accuracy = (at_common_seeds(column, LOSSES) for column in both)
    for column in (median, mmc, accuracy):
        present(column, LOSSES, "ablation", on)
    excess = {name: {seed: value - accuracy[name][seed] for seed, value in own.items()} for name, own in mmc.items()}
    softmax, ova = ((method, "") for method in LOSSES)
    words = f"median ECE: {listed(means(median), 'ece')}; confidence minus accuracy: {listed(means(excess), 'mmc')}"
    holds = tuple(better(column, ova, softmax, "ece") for column in (median, excess))
    return Check("reduces model overconfidence", words, holds)


def partial_solution(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Normalising helps on clean data, and calibrating is better over the shifts, by the ECE."""
    places = {
        "clean": per_seed(where(rows, shift="", metric="ece")),
        "median": quartiles(rows, "ece", shift_groups(rows)[0])[50],
    }
    found = {place: at_common_seeds(column, NORMALISED) for place, column in places.items()}
    for column in found.values():
        present(column, NORMALISED, "shift", on)
    raw, normalised, calibrated = ((method, "") for method in NORMALISED)
    holds = better(found["clean"], normalised, raw, "ece"), better(found["median"], calibrated, normalised, "ece")
    return Check(
        "a partial solution", "; ".join(f"{place}: {listed(means(c), 'ece')}" for place, c in found.items()), holds
    )


def best_nll(rows: Frame, paper: Frame, on: str) -> Check | None:
    found = _medians(rows, "nll", on)
    return Check("complete SLOVA is best", listed(means(found), "nll"), (_best(found),))


def steady_nll(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The standard deviation over the test sets, per seed and then averaged."""
    shifts = shift_groups(rows)[0]
    own = where(rows, metric="nll", shift=["", *shifts])
    found, sets = per_seed(own, lambda values: values.std(ddof=0), whole=True), len(own[SET].drop_duplicates())
    spread = at_common_seeds(found, STEPS)
    present(spread, STEPS, "ablation", on)
    words = f"standard deviations over {sets} test sets: {listed(means(spread), 'nll')}"
    return Check("complete SLOVA has the lowest", words, (_best(spread),))


def same_accuracy(rows: Frame, paper: Frame, on: str) -> Check | None:
    found = means(_medians(rows, "accuracy", on))
    same = tuple(bool(np.isclose(a, b)) for a, b in pairwise(found.values()))
    return Check("the same", listed(found, "accuracy"), same)


def stable(rows: Frame, paper: Frame, on: str) -> Check | None:
    """The largest deviation of a fit from the median beyond the sizes of the paper; in brackets, up to them. Rows
    with the noise of the paper are judged, where there are any; those without noise are then beside."""
    noisy = rows["method"] == OURS[0]
    holds, words = _deviations(rows[noisy] if noisy.any() else rows)
    beside = f"; without noise: {_deviations(rows[~noisy])[1]}" if noisy.any() and not noisy.all() else ""
    return Check("stable", f"largest differences for {words}{beside}", holds)


def _deviations(rows: Frame) -> tuple[tuple[bool, ...], str]:
    """Whether each metric is stable by each parameter, and the deviations in words."""
    holds, words = list[bool](), list[str]()
    for kind, least in STABLE.items():
        spreads = {metric: _spread(rows, metric, kind, least) for metric in METRICS}
        holds += [after <= APPRECIABLE for _, after in spreads.values()]
        parts = [
            f"{labels.metric(m).name} {100 * after:.0f} % ({100 * before:.0f} %)"
            for m, (before, after) in spreads.items()
        ]
        words.append(f"{kind} > {least} (up to there): {', '.join(parts)}")
    return tuple(holds), "; ".join(words)


def _medians(rows: Frame, metric: str, on: str) -> Column:
    """Those of the steps, in their order, at common seeds."""
    found = at_common_seeds(quartiles(rows, metric, shift_groups(rows)[0])[50], STEPS)
    present(found, STEPS, "ablation", on)
    return found


def _best(nll: Column) -> bool:
    """Whether the complete method is better than each of the others."""
    return all(better(nll, OURS, other, "nll") for other in nll if other != OURS)


def _spread(rows: Frame, metric: str, kind: str, least: float) -> tuple[float, float]:
    """The largest relative deviation from the median of the fits beyond that size: of fits up to it, and beyond it."""
    fits = where(rows, metric=metric, parameter=kind, preset="").groupby("parameter_value")["value"].mean()
    past = fits.index > least
    if not past.any():
        raise MissingRowsError(f"there are no rows of {kind} > {least:g}: run slova bench run stability")
    gaps = (fits / fits[past].median() - 1).abs()
    return float(gaps[~past].max()) if not past.all() else 0.0, float(gaps[past].max())


CLAIMS = (
    claim("The one-vs-all loss reduces overconfidence", "Abstract, Fig. 8", "ablation", one_vs_all),
    claim(
        "Readout and then calibration lower the median ECE of OVA",
        "Fig. 8, Sec. 4.3",
        "ablation",
        partial(successive, metric="ece", said="each step improves the ECE"),
    ),
    claim(
        "Readout and then calibration lower the median Brier score of OVA",
        "Fig. 8, Sec. 4.3",
        "ablation",
        partial(successive, metric="brier", said="a slight positive trend"),
    ),
    claim(
        "Normalising lowers the ECE of SLOVA on clean data, and calibrating lowers the median one more",
        "Sec. 3.6",
        "shift",
        partial_solution,
    ),
    claim("The complete method has the lowest median NLL of its steps", "Fig. 8, Sec. 4.3", "ablation", best_nll),
    claim("The NLL of the complete method varies least", "Fig. 8, Sec. 4.3", "ablation", steady_nll),
    claim("No step changes the accuracy", "Fig. 8, Sec. 4.3", "ablation", same_accuracy),
    claim("The fit is stable beyond M = 10 terms and n_b = 400 points, to a tenth", "App. B", "stability", stable),
)
