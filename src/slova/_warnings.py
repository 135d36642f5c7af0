"""Warnings that point at the line of the caller, outside this package, each given once."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator


class CalibrationWarning(UserWarning):
    """The result of a fit is not good, or inputs are not as those of the fit; the message names a remedy."""


@contextlib.contextmanager
def warnings_at_caller() -> Iterator[None]:
    """Collects the warnings of a block, and gives each of them once, at the line that called this package."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    level = _level()
    for category, text in dict.fromkeys((warning.category, str(warning.message)) for warning in caught):
        warnings.warn(text, category, stacklevel=level)


def _level() -> int:
    """The stack level of the first frame that is neither of this package nor of `contextlib`, seen from the caller."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("slova", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
