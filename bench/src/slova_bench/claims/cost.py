"""The claim about cost: the ensemble requires several networks where SLOVA requires one (Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from slova_bench.claims.claim import Check, Claim
from slova_bench.claims.numbers import present
from slova_bench.labels import look
from slova_bench.results import Row
from slova_bench.tables.cost import ON, costs

__all__ = ["CLAIMS"]


def cheap(rows: Sequence[Row], paper: Sequence[Row], on: str) -> Check | None:
    """Three parts: SLOVA has one network and as many multiply-adds as softmax, to a hundredth; the ensemble has more
    of both."""
    if on != ON:
        return None
    names = ("softmax", "ensemble", "slova")
    present({(row.method, ""): 0 for row in rows}, names, "shift", on)
    known = costs()
    found = {name: known[name] for name in names}
    ratio = {name: one.multiply_adds / found["softmax"].multiply_adds for name, one in found.items()}
    words = [
        f"{look(name).name}: networks {one.networks}, parameters {one.parameters / 1e6:.2f} million, "
        f"multiply-adds {ratio[name]:.2f} times those of softmax"
        for name, one in found.items()
    ]
    holds = (found["slova"].networks == 1, abs(ratio["slova"] - 1) < 0.01, ratio["ensemble"] > ratio["slova"])
    return Check("a single model; the ensemble is significantly more demanding", "; ".join(words), holds)


CLAIMS = (Claim("SLOVA costs as much as softmax, and less than the ensemble", "Sec. 4.1", "shift", cheap),)
