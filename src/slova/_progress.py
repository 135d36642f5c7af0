"""One progress bar for classifiers, commands and runs, on standard error. By default it is shown on a terminal only."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

Item = TypeVar("Item")


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[..., None]]:
    """A function that takes the share that is done, in [0, 1], and a note. Where no bar is shown, notes are lines, at
    most one per second."""
    shown, last = sys.stderr.isatty(), -math.inf
    with click.progressbar(length=1000, label=label, file=sys.stderr, hidden=not shown, item_show_func=_note) as bar:

        def report(share: float, note: str | None = None) -> None:
            nonlocal last
            bar.update(round(1000 * share) - bar.pos, note)
            if note and not shown and time.monotonic() - last >= 1:
                last = time.monotonic()
                click.echo(note, err=True)

        yield report


def _note(note: Any) -> str | None:
    return None if note is None else str(note)


def tracked(blocks: Iterable[Item], label: str) -> Iterator[Item]:
    """Blocks of a file (`slova.io.Block`), which know the share that is done."""
    with progress(label) as report:
        for block in blocks:
            yield block
            report(block.done)  # type: ignore[attr-defined]
