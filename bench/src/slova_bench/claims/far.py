"""Claims about inputs far from the data (Theorem 3.1, Fig. 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence

from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import present, seeds_of
from slova_bench.frame import Frame, grouped, per_seed, where
from slova_bench.tables.assembly import label
from slova_bench.tables.seeds import at_common_seeds

__all__ = ["CLAIMS"]

PAIR = ("ova", "slova_raw")
NOTHING, UNSURE, SURE = 0.05, 0.5, 0.9  # thresholds of confidence for "0", "low" and "close to 1"
DROP = 0.9  # a drop is by a tenth or more


def directions(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts per seed: the confidence of SLOVA is almost zero, and that of OVA almost one. That of SLOVA is never
    the larger one, by its definition."""
    ova, slova, words = _farthest(rows, "directions", on)
    holds = (*(value < NOTHING for value in slova), *(value > SURE for value in ova))
    required = f"required: SLOVA below {NOTHING:g}, OVA above {SURE:g}"
    return Check("SLOVA to 0, OVA to 1", f"{words}; {required}", holds)


def shape(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Four parts per seed: close to the image both confidences drop, then that of SLOVA rises again and falls in the
    end. "Close" is before its first minimum."""
    ova, slova = (_curves(rows, method, on) for method in PAIR)
    parts = [_shape(ova[seed], slova[seed]) for seed in sorted(ova.keys() & slova.keys())]
    present(PAIR if parts else (), PAIR, "directions", on)
    counts = [sum(own) for own in zip(*parts, strict=True)]
    words = ("OVA drops on {}", "SLOVA drops on {}", "rises again on {}", "falls in the end on {}")
    here = ", ".join(words).format(*counts) + f" of {seeds_of(parts)}; a drop is by a tenth or more"
    return Check("both drop; slight increase and decrease of SLOVA", here, tuple(part for own in parts for part in own))


def _shape(ova: Sequence[float], slova: Sequence[float]) -> tuple[bool, bool, bool, bool]:
    (ova_low, _), (low, again) = _first_minimum(ova), _first_minimum(slova)
    top = max(slova[again:], default=0.0)
    return ova_low < DROP * ova[0], low < DROP * slova[0], top > low, slova[-1] < low


def _curves(rows: Frame, method: str, on: str) -> dict[int, list[float]]:
    """The confidence by distance at each seed, nearest first."""
    own = where(rows, metric="mmc", method=method)
    present(own["method"].unique(), [method], "directions", on)
    means = grouped(own, "seed", "level", value="mean")
    return {int(seed): part["value"].tolist() for seed, part in means.groupby("seed")}


def _first_minimum(curve: Sequence[float]) -> tuple[float, int]:
    """The first local minimum, and the number of values up to it."""
    end = next((place for place in range(1, len(curve)) if curve[place] > curve[place - 1]), len(curve))
    return curve[end - 1], end


def plane(rows: Frame, paper: Frame, on: str) -> Check | None:
    """A part per seed: far away OVA is confident, and SLOVA is not. Where neither is, there is no contrast."""
    ova, slova, words = _farthest(rows, "plane", on)
    holds = tuple(one > SURE and other < UNSURE for one, other in zip(ova, slova, strict=True))
    required = f"required: OVA above {SURE:g} and SLOVA below {UNSURE:g} on the same network"
    return Check("OVA close to 1, SLOVA low", f"{words}; {required}", holds)


def _farthest(rows: Frame, experiment: str, on: str) -> tuple[list[float], list[float], str]:
    """The confidence of OVA and that of SLOVA at the largest distance, at the seeds that both have; and as text."""
    level = float(rows["level"].max())
    found = at_common_seeds(per_seed(where(rows, metric="mmc", level=level)), PAIR)
    present(found, PAIR, experiment, on)
    ova, slova = ([*found[method, ""].values()] for method in PAIR)
    lists = (f"{label(name)} {', '.join(f'{value:.3f}' for value in own.values())}" for name, own in found.items())
    return ova, slova, f"{'; '.join(lists)} at distance {level:g}, one number per seed"


CLAIMS = (
    claim(
        "Along random directions SLOVA's confidence goes to 0, OVA's to 1",
        "Fig. 4, Theorem 3.1",
        "directions",
        directions,
    ),
    claim("The confidence along random directions has the shape of Fig. 4", "Fig. 4, Sec. 3.5", "directions", shape),
    claim("Far out on planes through images OVA is confident and SLOVA is not", "Fig. 2, Sec. 1", "plane", plane),
)
