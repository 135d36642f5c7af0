"""The terminal for every command: errors and warnings in one line, exit codes, tables, JSON."""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import click

from slova.io.blocks import shortened

__all__ = ["Program", "aligned", "in_options", "print_json"]

WRONG, INTERRUPTED, TERMINATED = 2, 130, 143
ARGUMENT = re.compile(r"""(?<![^\s(])(head|calibration)=(?:["'](\w+)["'])?(?=[\s,;:)]|$)""")  # in remedies


class Program(click.Group):
    """A group of commands that ends with an exit code and one sentence, not a traceback, for errors of the user."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        extra["standalone_mode"] = False
        try:
            with _warnings_on_one_line(), _exit_on_sigterm():
                code = super().main(*args, **extra)
            sys.exit(code if isinstance(code, int) else 0)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # a group alone, from click 8.2 on
                click.echo(error.format_message())
                sys.exit(0)
            _fail(error.format_message())
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError as error:
            _fail(f"out of memory: {shortened(str(error), 200)}; try a smaller --batch-size, or fit --stream")
        except (ImportError, ValueError, TypeError) as error:
            _fail(str(error))


def in_options(message: str) -> str:
    """A message of the library with options of the command line in place of arguments.

    >>> in_options('a guess: pass head="slova" or head="softmax" to be sure')
    'a guess: pass --head slova or --head softmax to be sure'
    """
    return ARGUMENT.sub(lambda found: f"--{found[1]}" + (f" {found[2]}" if found[2] else ""), message)


def _fail(message: str) -> NoReturn:
    click.echo(f"slova: error: {shortened(in_options(' '.join(message.split())))}", err=True)
    sys.exit(WRONG)


@contextlib.contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Each warning of the library on one line; other warnings are left as they are."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UserWarning):
                click.echo(f"slova: warning: {in_options(str(message))}", err=True)
            else:
                usual(message, category, *where, **more)

        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """SIGTERM unwinds the stack, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart: the first to the left, the others, which are numbers, to the right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = (
        [head.ljust(first), *(text.rjust(width) for text, width in zip(numbers, others, strict=True))]
        for head, *numbers in rows
    )
    return "\n".join("  ".join(line).rstrip() for line in lines)


def print_json(content: Any) -> None:
    click.echo(json.dumps(_finite(content), allow_nan=False))


def _finite(content: Any) -> Any:
    """The same with None for numbers that JSON does not know."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
