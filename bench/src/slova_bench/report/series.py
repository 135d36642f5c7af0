"""Methods as the page draws them: a name, a colour for light and one for dark paper, a dash, and whether the page opens
with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slova_bench import labels

__all__ = ["Series", "listed"]

FIRST = (
    *("softmax", "temperature", "ensemble", "ceda", "acet_short", "react", "ova", "slova"),
    *("slova_mirror", "slova_distance_ensemble", "slova_none"),
)
FEW = 6
DARK = "#16181d"  # the page's dark paper, as in its style sheet
CONTRAST = 4.0


@dataclass(frozen=True)
class Series:
    """A method, and what varies within it."""

    method: str
    variant: str = ""

    @property
    def key(self) -> str:
        """As `slova_bench.compare` calls it."""
        return f"{self.method} {self.variant}".strip()

    def shown(self, *, chosen: bool) -> dict[str, Any]:
        look = labels.look(self.method, self.variant)
        return {
            "key": self.key,
            "name": look.name,
            "light": look.colour,
            "dark": on_dark(look.colour),
            "dash": list(look.dash) or [1, 0],
            "chosen": chosen,
        }


def listed(found: Iterable[Series]) -> tuple[list[Series], list[dict[str, Any]]]:
    """All of them in the order of every legend, and as the page wants them."""
    series = list(dict.fromkeys(found))
    order = labels.ordered(one.method for one in series)
    series.sort(key=lambda one: (order.index(one.method), one.variant))
    first = set(_first(series))
    return series, [one.shown(chosen=one in first) for one in series]


def _first(series: Sequence[Series]) -> Sequence[Series]:
    plain = [one for one in series if one.method in FIRST and not one.variant]
    return plain if len(plain) > 1 or len(series) <= 1 else series[:FEW]


def on_dark(colour: str) -> str:
    """The same colour for dark paper: greys are turned round, others mixed with white until they stand out."""
    parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    if max(parts) == min(parts):
        parts = [min(235, 255 - part) for part in parts]
    while _contrast(parts) < CONTRAST:
        parts = [part + max(1, (255 - part) // 10) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _contrast(parts: Sequence[int]) -> float:
    paper = [int(DARK[place : place + 2], 16) for place in (1, 3, 5)]
    return (_luminance(parts) + 0.05) / (_luminance(paper) + 0.05)


def _luminance(parts: Sequence[int]) -> float:
    """Relative, as in WCAG 2."""
    shares = [part / 255 for part in parts]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
