"""The commands of the comparison: `slova bench run | images | list | report | paper | demo`, one file each.

`slova` finds the group by the entry point `slova.commands`. The modules of the comparison are imported when a command
runs.
"""

from __future__ import annotations

import click

from slova.cli.groups import LazyGroup

__all__ = ["bench"]


@click.group(
    cls=LazyGroup,
    places={
        "run": "slova_bench.cli.run:run",
        "images": "slova_bench.cli.images:images",
        "list": "slova_bench.cli.listing:listing",
        "report": "slova_bench.cli.report:report",
        "paper": "slova_bench.cli.paper:paper",
        "demo": "slova_bench.cli.demo:demo",
    },
)
def bench() -> None:
    """The comparison: every method of the paper, trained, shifted and measured."""
