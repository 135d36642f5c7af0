"""The experiments of the paper, one file each. Every module of this package defines an EXPERIMENT."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from slova_bench.experiment import Runnable

__all__ = ["experiments"]


@cache
def experiments() -> dict[str, Runnable]:
    """Every experiment by name."""
    modules = [importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)]
    return {module.EXPERIMENT.name: module.EXPERIMENT for module in modules}
