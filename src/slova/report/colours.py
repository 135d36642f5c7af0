"""Colours for light and for dark paper."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["DARK", "contrast", "light_and_dark", "on_dark"]

DARK = "#16181d"  # the page's dark paper, as in its style sheet
CONTRAST = 4.0


def light_and_dark(colour: str) -> dict[str, str]:
    return {"light": colour, "dark": on_dark(colour)}


def on_dark(colour: str) -> str:
    """The same colour for dark paper: greys are inverted, others mixed with white until the contrast is enough."""
    parts = _parts(colour)
    if max(parts) == min(parts):
        parts = [min(235, 255 - part) for part in parts]
    while _contrast(parts) < CONTRAST:
        parts = [part + max(1, (255 - part) // 10) for part in parts]
    return "#" + "".join(f"{part:02x}" for part in parts)


def contrast(colour: str) -> float:
    """The contrast of a colour with the dark paper, as in WCAG 2."""
    return _contrast(_parts(colour))


def _parts(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _contrast(parts: Sequence[int]) -> float:
    return (_luminance(parts) + 0.05) / (_luminance(_parts(DARK)) + 0.05)


def _luminance(parts: Sequence[int]) -> float:
    shares = [part / 255 for part in parts]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
