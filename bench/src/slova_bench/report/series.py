"""Methods as series of the page: name, colours for the light and the dark theme, dash, and initial selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from slova.report.colours import light_and_dark
from slova_bench import labels
from slova_bench.frame import Name

__all__ = ["key", "listed", "shown"]

FIRST = (  # at most eight in an experiment
    *("softmax", "temperature", "ensemble", "ceda", "acet_short", "slova"),
    *("slova_mirror", "slova_distance_ensemble", "slova_none"),
)
FEW = 6


def key(name: Name) -> str:
    """The name in `slova_bench.compare`."""
    return " ".join(name).strip()


def shown(name: Name, *, chosen: bool) -> dict[str, Any]:
    """A series as data of the page."""
    look = labels.look(*name)
    dash = list(look.dash) or [1, 0]
    return {"key": key(name), "name": look.name, **light_and_dark(look.colour), "dash": dash, "chosen": chosen}


def listed(found: Iterable[Name]) -> tuple[list[Name], list[dict[str, Any]]]:
    """All series in the order of every legend, and as data of the page."""
    series = labels.in_order(set(found))
    first = set(_first(series))
    return series, [shown(one, chosen=one in first) for one in series]


def _first(series: Sequence[Name]) -> Sequence[Name]:
    plain = [one for one in series if one[0] in FIRST and not one[1]]
    return plain if len(plain) > 1 or len(series) <= 1 else series[:FEW]
