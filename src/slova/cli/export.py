"""`slova export`: write a scorer as an ONNX graph or a torch program."""

from __future__ import annotations

from pathlib import Path

import click

from slova.cli.files import check_output, load, threshold
from slova.cli.options import FILE, as_json, thresholds
from slova.cli.terminal import print_json

__all__ = ["export"]


@click.command()
@click.argument("model", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The file to write: .onnx, or .pt2 for torch.export.")
@thresholds
@click.option("--names", help="Names of the classes, separated by commas.  [those of a saved classifier]")
@as_json
def export(model: Path, output: Path, names: str | None, as_json: bool, **thresholds: float | None) -> None:
    """Write MODEL, a scorer file, as a graph from logits to label, confidence, none, ambiguous and log_probs.

    For a saved classifier, its head, calibrator, threshold and names are exported. Export its network in Python, with
    Classifier.export.

    Example: slova export model.slova -o model.onnx --risk 0.05
    """
    check_output(output, model)
    saved = load(model)
    reject = threshold(saved, thresholds)
    class_names = saved.names if names is None else names.split(",")
    parity = saved.scorer.export(output, names=class_names, reject=reject)
    if as_json:
        print_json({"output": str(output), "reject": reject, **parity._asdict()})
    else:
        click.echo(f"{output}: {parity}, reject {reject:.6g}")
