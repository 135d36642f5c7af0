"""The claim about cost: the ensemble requires several networks where SLOVA requires one (Sec. 4.1)."""

from __future__ import annotations

from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import present
from slova_bench.frame import Frame
from slova_bench.labels import look
from slova_bench.tables.cost import ON, costs

__all__ = ["CLAIMS"]


def cheap(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Three parts: SLOVA has one network and as many multiply-adds as softmax, to a hundredth; the ensemble has more
    of both."""
    if on != ON:
        return None
    names = ("softmax", "ensemble", "slova")
    present(rows["method"].unique(), names, "shift", on)
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


CLAIMS = (claim("SLOVA costs as much as softmax, and less than the ensemble", "Sec. 4.1", "shift", cheap),)
