"""The command line: `slova fit | score | metrics | report | demo`, for logits and labels that lie in files.

Data go to stdout and everything else to stderr. An error is one sentence and exit code 2, an interrupt exit code 130;
either way what an output file held before is still there. What a command needs is imported when it runs: asking for
help costs nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from slova.cli.export import export
from slova.cli.options import FILE, SHARE, as_json, batch_size, engine, heads, labels_file, plugin, workers
from slova.cli.serve import serve
from slova.cli.terminal import Program, version

__all__ = ["main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version(), prog_name="slova")
def main() -> None:
    """Classifiers that say "I don't know" and mean it: calibrate logits, score them, measure them.

    Files are npz (arrays logits, labels), npy, csv (columns logit_0, ..., label) or parquet; the label -1 means none
    of the classes.
    """


@main.command()
@click.argument("logits", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The scorer file to write, for example map.slova.")
@labels_file
@click.option("--head", type=heads, default="slova", show_default=True, help="How logits become probabilities.")
@click.option(
    "--map",
    "map_name",
    type=click.Choice(["exponential", "temperature", "isotonic", "beta", "histogram", "none"]),
    default="exponential",
    show_default=True,
    help="What calibrates the probabilities.",
)
@click.option(
    "--pairs", type=click.Choice(["all", "top"]), help="Fit to all classes of a row, or to its top class.  [all]"
)
@click.option("--at-most-one", is_flag=True, help="The exponential map may make less than 1 of a probability of 1.")
@click.option("--rescale", is_flag=True, help="Fit a scale and an offset of the logits first.")
@click.option("--stream", is_flag=True, help="Never hold the file in memory (exponential map, or none); two passes.")
@engine
@workers
@batch_size
@as_json
def fit(**options: Any) -> None:
    """Fit a scorer to validation LOGITS and their labels.

    Example: slova fit val.npz -o map.slova
    """
    from slova.cli.fit import FitOptions, run

    run(FitOptions(**options))


@main.command()
@click.argument("logits", type=FILE)
@click.option(
    "--map", "map_file", type=FILE, required=True, help="The scorer file that `slova fit` wrote, or a saved classifier."
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    default="-",
    help="A csv, npz, npy or parquet file, with --engine a folder; - is csv on stdout.  [-]",
)
@click.option(
    "--reject", type=SHARE, help="Answer -1 where the confidence is below this.  [a saved classifier's; else 0]"
)
@click.option(
    "--risk", type=SHARE, help="Reject so that at most this share of the answers is wrong, with a certainty of 95 %."
)
@click.option("--coverage", type=SHARE, help="Reject so that at least this share of the validation rows is answered.")
@engine
@workers
@click.option("--overwrite", is_flag=True, help="With --engine: replace a folder of earlier answers.")
@batch_size
@as_json
def score(**options: Any) -> None:
    """Turn LOGITS into label, confidence, P(none) and P(several). Labels are numbers, or the names that a saved
    classifier has for them; -1 is none of the classes.

    Example: slova score test.npz --map map.slova --risk 0.05 -o out.parquet
    """
    from slova.cli.score import ScoreOptions, run

    run(ScoreOptions(**options))


@main.command()
@click.argument("logits", type=FILE)
@labels_file
@click.option(
    "--map", "map_file", type=FILE, help="The scorer file that `slova fit` wrote; without it nothing is calibrated."
)
@click.option("--head", type=heads, help="How logits become probabilities, if there is no --map.  [slova]")
@click.option("--ood", type=FILE, help="Logits of out-of-distribution inputs, to be told from these.")
@engine
@workers
@batch_size
@as_json
def metrics(**options: Any) -> None:
    """Measure accuracy and calibration on LOGITS with labels.

    Example: slova metrics test.npz --map map.slova --ood ood.npz
    """
    from slova.cli.metrics import MetricsOptions, run

    run(MetricsOptions(**options))


@main.command()
@click.argument("logits", type=FILE, required=False)
@click.option(
    "-o", "--output", type=FILE, default="report.html", show_default=True, help="The page to write; - is stdout."
)
@click.option("--results", type=FILE, default="results", show_default=True, help="The folder of results to show.")
@click.option("--docs", type=FILE, help="Write the same results as markdown to this folder, too.")
@click.option("--figures", type=FILE, help="Write every figure as SVG and PNG to this folder, too.")
@click.option("--cards", type=FILE, help="Write a card for each network worth shipping to this folder, too.")
@labels_file
@click.option("--map", "map_file", type=FILE, help="For LOGITS: the scorer file that `slova fit` wrote.")
@click.option("--head", type=heads, help="For LOGITS without --map: how they become probabilities.  [slova]")
@click.option(
    "--ood", type=FILE, multiple=True, help="Logits of out-of-distribution inputs; may be given more than once."
)
@batch_size
def report(**options: Any) -> None:
    """Show the results of the comparison, or your own model's LOGITS with labels, as one offline HTML page.

    Example: slova report test.npz --map map.slova --ood ood.npz -o report.html
    """
    from slova.cli.report import ReportOptions, run

    run(ReportOptions(**options))


@main.command()
@click.option(
    "--on",
    type=click.Choice(["cifar10", "digits"]),
    default="cifar10",
    show_default=True,
    help="cifar10: stored answers of real networks, in seconds; digits: every method is trained, in minutes.",
)
@click.option(
    "-o", "--output", "folder", type=FILE, default="slova-demo", show_default=True, help="Where rows and page go."
)
def demo(on: str, folder: Path) -> None:
    """Run the comparison on data that come with slova, and show it as a table and an HTML page.

    Example: slova demo --on digits
    """
    from slova_bench.cli.demo import run

    run(on, folder)


main.add_command(export)
main.add_command(serve)


@main.group()
def bench() -> None:
    """The comparison: every method of the paper, trained, shifted and measured."""


@bench.command("run")
@click.argument("experiment")
@click.option("--on", default="digits", show_default=True, help="The data set to train on.")
@click.option("--methods", help="Only these, separated by commas.  [all of the experiment]")
@click.option("--seeds", default="1", show_default=True, help="How many, or which, separated by commas.")
@click.option(
    "--preset", default="fair", show_default=True, help="fair: one recipe for all; paper: each method's as published."
)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Stop after this long; run again to go on.")
@click.option("--embedded", is_flag=True, help="Ask the stored answers that come with slova, in place of networks.")
@click.option("--quick", is_flag=True, help="A tenth of the epochs and 200 test images, to see that it runs.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or what there is.")
@click.option("--data-dir", "data", type=FILE, help="The folder of the data sets.  [SLOVA_DATA, or the user's cache]")
@click.option("--results", type=FILE, default="results", show_default=True, help="The folder for the rows.")
@click.option("--store", type=FILE, default=".slova", show_default=True, help="The folder for weights and images.")
@plugin
def bench_run(**options: Any) -> None:
    """Run EXPERIMENT, or what is left of it, and append its rows to a CSV file.

    Example: slova bench run shift --on digits --methods softmax,slova
    """
    from slova_bench.cli.bench import BenchOptions, run

    run(BenchOptions(**options))


@bench.command("images")
@click.option("--on", default="cifar10", show_default=True, help="The data set whose test images are shifted.")
@click.option("--workers", type=click.IntRange(1), help="Processes.  [one a core]")
@click.option("--data-dir", "data", type=FILE, help="The folder of the data sets.  [SLOVA_DATA, or the user's cache]")
@click.option("--store", type=FILE, default=".slova", show_default=True, help="The folder for weights and images.")
def bench_images(**options: Any) -> None:
    """Make all shifted test images ahead of time, on all cores.

    Example: slova bench images --on cifar10
    """
    from slova_bench.cli.bench import make_images

    make_images(**options)


@bench.command("list")
@plugin
def bench_list(plugins: tuple[Path, ...]) -> None:
    """List experiments, data sets and methods.

    Example: slova bench list
    """
    from slova_bench.cli.bench import listing

    click.echo(listing(plugins))
