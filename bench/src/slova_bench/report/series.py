"""Methods as series of the page: name, colours for the light and the dark theme, dash, and initial selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from slova.report.colours import light_and_dark
from slova_bench import labels

__all__ = ["Series", "listed"]

FIRST = (  # at most eight in an experiment
    *("softmax", "temperature", "ensemble", "ceda", "acet_short", "slova"),
    *("slova_mirror", "slova_distance_ensemble", "slova_none"),
)
FEW = 6


@dataclass(frozen=True)
class Series:
    """A method and its variant."""

    method: str
    variant: str = ""

    @property
    def key(self) -> str:
        """The name in `slova_bench.compare`."""
        return f"{self.method} {self.variant}".strip()

    def shown(self, *, chosen: bool) -> dict[str, Any]:
        look = labels.look(self.method, self.variant)
        return {
            "key": self.key,
            "name": look.name,
            **light_and_dark(look.colour),
            "dash": list(look.dash) or [1, 0],
            "chosen": chosen,
        }


def listed(found: Iterable[Series]) -> tuple[list[Series], list[dict[str, Any]]]:
    """All series in the order of every legend, and as data of the page."""
    series = list(dict.fromkeys(found))
    order = labels.ordered(one.method for one in series)
    series.sort(key=lambda one: (order.index(one.method), one.variant))
    first = set(_first(series))
    return series, [one.shown(chosen=one in first) for one in series]


def _first(series: Sequence[Series]) -> Sequence[Series]:
    plain = [one for one in series if one.method in FIRST and not one.variant]
    return plain if len(plain) > 1 or len(series) <= 1 else series[:FEW]
