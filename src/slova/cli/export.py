"""`slova export`: a scorer file as an ONNX graph or a torch program. The command stands here whole; what it needs is
imported when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from slova.cli.options import FILE, SHARE, as_json

__all__ = ["export"]


@click.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The file to write: .onnx, or .pt2 for torch.export.")
@click.option(
    "--reject", type=SHARE, help="Answer -1 where the confidence is below this.  [a saved classifier's; else 0]"
)
@click.option(
    "--risk", type=SHARE, help="Reject so that at most this share of the answers is wrong, with a certainty of 95 %."
)
@click.option("--coverage", type=SHARE, help="Reject so that at least this share of the validation rows is answered.")
@click.option("--names", help="Of the classes, separated by commas.  [a saved classifier's]")
@as_json
def export(map_file: Path, output: Path, names: str | None, as_json: bool, **thresholds: float | None) -> None:
    """Write MAP, a scorer file, as a graph from logits to label, confidence, P(none), P(several) and log_probs.

    Of a saved classifier its head, map, threshold and names are taken; its network is code, so export it in Python:
    Classifier.export.

    Example: slova export map.slova -o map.onnx --risk 0.05
    """
    from slova.cli.files import check_output, load, threshold
    from slova.cli.terminal import print_json

    check_output(output, map_file)
    saved = load(map_file)
    reject = threshold(saved, thresholds)
    called = saved.names if names is None else names.split(",")
    try:
        parity = saved.scorer.export(output, names=called, reject=reject)
    except ImportError as error:
        raise click.ClickException(
            'an export needs PyTorch: pip install "slova[torch,onnx]"' if error.name == "torch" else str(error)
        ) from None
    if as_json:
        print_json({"output": str(output), "reject": reject, **parity._asdict()})
    else:
        click.echo(f"{output}: {parity}, reject {reject:.6g}")
