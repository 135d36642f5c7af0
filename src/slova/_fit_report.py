"""What a fit found, as a value that is printed and stored with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FitReport"]


@dataclass(frozen=True)
class FitReport:
    """What a fit found: `found` says which kind of logits, `ece` and `nll` are cross-fitted, before and after
    calibration, NONE rows counted as `none_share` says; `error` is the standard error of the ECE after it, and
    `perfect_ece` what a calibrated model would have; `accuracy` is that of the top class before it, and `largest_class`
    the share of the most frequent label. Of a distance-aware fit `layers` are those whose distances it uses,
    `degraded_rows` and `synthetic_rows` the degraded images and the synthetic NONE images that helped the fit and are
    in no other number here; `off` says why a fit on images is not distance-aware. With `given_class` ECE and NLL after
    it are those given that a row has a class, as all rows of the fit have one. `plain_ece` and `plain_nll` are those of
    a fit without distances, degraded and synthetic rows; None where there is none to compare with."""

    rows: int
    none_rows: int
    found: str
    ece_before: float
    ece_after: float
    error: float
    nll_before: float
    nll_after: float
    perfect_ece: float
    accuracy: float
    largest_class: float
    degraded_rows: int = 0
    synthetic_rows: int = 0
    layers: tuple[str, ...] = ()
    off: str = ""
    given_class: bool = False
    plain_ece: float | None = None
    plain_nll: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))

    @property
    def shift(self) -> str:
        """Whether distances are used, in a few words; empty for fits that do not ask."""
        return "distance-aware" if self.layers else f"not distance-aware ({self.off})" if self.off else ""

    def __str__(self) -> str:
        ece = f"ECE {self.ece_before:.3f} -> {self.ece_after:.3f} ± {self.error:.3f}"
        fit = f"{self.rows:,} rows, {self.accuracy:.1%} right, {self.found}: {ece}, NLL {self.nll_before:.3f} -> "
        fit += f"{self.nll_after:.3f}{' given a class' if self.given_class else ''}"
        if not self.layers:
            return f"{fit}; {self.shift}" if self.off else fit
        more = f"{self.degraded_rows:,} degraded and {self.synthetic_rows:,} synthetic NONE rows"
        plain = (
            f" (without these: ECE {self.plain_ece:.3f}, NLL {self.plain_nll:.3f})"
            if self.plain_ece is not None
            else ""
        )
        return f"{fit}; distances in {', '.join(self.layers)}, with {more}{plain}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
