"""Claims about inputs far from the data (Theorem 3.1, Fig. 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence

from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import listed, means, present
from slova_bench.frame import Frame, Name, grouped, per_seed, where

__all__ = ["CLAIMS"]

PAIR = ("ova", "slova_raw")
NOTHING, SURE = 0.05, 0.9  # thresholds of confidence for "0" and "close to 1"
DROP = 0.9  # a drop is by a tenth or more


def directions(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts: the mean confidence of SLOVA is almost zero, and that of OVA almost one. That of SLOVA is never the
    larger one, by its definition."""
    level, found = _farthest(rows, "directions", on)
    ours = f"{listed(found, 'mmc')} at distance {level:g}"
    return Check("SLOVA to 0, OVA to 1", ours, (found["slova_raw", ""] < NOTHING, found["ova", ""] > SURE))


def shape(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Five parts: close to the image both confidences drop, then that of SLOVA rises again and falls in the end, and
    that of OVA approaches 1. "Close" is before its first minimum."""
    ova, slova = (_curve(rows, name, on) for name in PAIR)
    (ova_low, _), (low, again) = (_first_minimum(curve) for curve in (ova, slova))
    top = max(slova[again:], default=0.0)
    words = [
        f"OVA {ova[0]:.3f}, falls to {ova_low:.3f}, {ova[-1]:.3f} in the end",
        f"SLOVA {slova[0]:.3f}, falls to {low:.3f}, rises to {top:.3f}, {slova[-1]:.3f} in the end",
    ]
    holds = (ova_low < DROP * ova[0], low < DROP * slova[0], top > low, slova[-1] < low, ova[-1] > SURE)
    return Check("drop, slight increase and decrease of SLOVA; OVA to 1", "; ".join(words), holds)


def _curve(rows: Frame, method: str, on: str) -> list[float]:
    """The mean confidence by distance, nearest first."""
    own = where(rows, metric="mmc", method=method)
    present(own["method"].unique(), [method], "directions", on)
    return [float(value) for value in grouped(own, "level", value="mean")["value"]]


def _first_minimum(curve: Sequence[float]) -> tuple[float, int]:
    """The first local minimum, and the number of values up to it."""
    end = next((place for place in range(1, len(curve)) if curve[place] > curve[place - 1]), len(curve))
    return curve[end - 1], end


def plane(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Two parts: far away OVA is confident, and SLOVA is not."""
    level, found = _farthest(rows, "plane", on)
    ours = f"{listed(found, 'mmc')} at distance {level:g}"
    return Check("OVA close to 1, SLOVA low", ours, (found["ova", ""] > SURE, found["slova_raw", ""] < 0.5))


def _farthest(rows: Frame, experiment: str, on: str) -> tuple[float, dict[Name, float]]:
    level = float(rows["level"].max())
    found = means(per_seed(where(rows, metric="mmc", level=level)))
    present(found, PAIR, experiment, on)
    return level, {(name, ""): found[name, ""] for name in PAIR}


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
