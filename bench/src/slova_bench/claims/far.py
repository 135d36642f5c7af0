"""Claims about inputs far from the data (Theorem 3.1, Fig. 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence

from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import listed, means, present
from slova_bench.results import Row
from slova_bench.tables.assembly import by_method

__all__ = ["CLAIMS"]

PAIR = ("ova", "slova_raw")
NOTHING, SURE = 0.05, 0.9  # thresholds of confidence for "0" and "close to 1"


def directions(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Two parts: the mean confidence of SLOVA is almost zero, and that of OVA is larger."""
    level, found = _farthest(rows, "directions", on)
    ours = f"{listed(found, 'mmc')} at distance {level:g}"
    return Check(
        "SLOVA to 0, OVA not", ours, (found["slova_raw", ""] < NOTHING, found["slova_raw", ""] < found["ova", ""])
    )


def plane(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Two parts: far away OVA is confident, and SLOVA is not."""
    level, found = _farthest(rows, "plane", on)
    ours = f"{listed(found, 'mmc')} at distance {level:g}"
    return Check("OVA close to 1, SLOVA low", ours, (found["ova", ""] > SURE, found["slova_raw", ""] < 0.5))


def _farthest(rows: Sequence[Row], experiment: str, on: str) -> tuple[float, dict[tuple[str, str], float]]:
    level = max(row.level for row in rows)
    found = means(by_method(row for row in rows if row.metric == "mmc" and row.level == level))
    present(found, PAIR, experiment, on)
    return level, {(name, ""): found[name, ""] for name in PAIR}


CLAIMS = (
    Claim("Along random directions SLOVA's confidence goes to 0", "Fig. 4, Theorem 3.1", "directions", directions),
    Claim("Far out on planes through images OVA is confident and SLOVA is not", "Fig. 2, Sec. 1", "plane", plane),
)
