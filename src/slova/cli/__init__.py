"""The command line: `slova fit | score | metrics | report | export | serve`, for logits and labels that lie in files,
and `slova demo`.

Each command is one file with its options. Installed distributions add commands by the entry point group
`slova.commands`, as slova-bench adds `slova bench`. Data go to stdout and everything else to stderr. An error is one
sentence and exit code 2, an interrupt exit code 130; either way an output file keeps its former content.
"""

from __future__ import annotations

import click

from slova import __version__
from slova.cli.groups import PluginGroup
from slova.cli.terminal import Program

__all__ = ["main"]


class _Slova(Program, PluginGroup):
    """The program `slova`: built-in commands, then those of plug-ins."""


@click.group(
    cls=_Slova,
    places={
        name: f"slova.cli.{name}:{name}" for name in ("demo", "fit", "score", "metrics", "report", "export", "serve")
    },
    entry_points="slova.commands",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="slova")
def main() -> None:
    """Calibrate the logits of a classifier, score them and measure them; answers may be NONE.

    Files are npz (arrays logits, labels), npy, csv (columns logit_0, ..., label) or parquet; the label -1 means none
    of the classes. Probabilities are accepted in place of logits: array probs, or columns prob_0, ...
    """
