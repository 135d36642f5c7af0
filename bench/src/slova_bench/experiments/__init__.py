"""The experiments of the paper, one file each. Every module of this package defines an EXPERIMENT."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from slova_bench.method import Method
    from slova_bench.pipeline import Bench
    from slova_bench.results import Results, Row

__all__ = ["Runnable", "experiments"]


class Runnable(Protocol):
    """An experiment: its name, its default methods, a stream of rows, and the work that is left: the number of
    steps of the stream per network."""

    @property
    def name(self) -> str: ...
    @property
    def methods(self) -> tuple[str, ...]: ...
    def run(
        self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]
    ) -> Iterator[list[Row]]: ...
    def work(self, bench: Bench, results: Results, methods: Sequence[Method], seeds: Iterable[int]) -> list[int]: ...


@cache
def experiments() -> dict[str, Runnable]:
    """Every experiment by name."""
    modules = [importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)]
    return {module.EXPERIMENT.name: module.EXPERIMENT for module in modules}
