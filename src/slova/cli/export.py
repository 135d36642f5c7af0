"""`slova export`: a scorer file as an ONNX graph or a torch program. The command stands here whole; what it needs is
imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from slova.cli.options import FILE, SHARE, as_json

__all__ = ["export"]


@click.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The file to write: .onnx, or .pt2 for torch.export.")
@click.option("--reject", type=SHARE, help="Answer -1 where the confidence is below this.")
@click.option(
    "--risk", type=SHARE, help="Reject so that at most this share of the answers is wrong, with a certainty of 95 %."
)
@click.option("--coverage", type=SHARE, help="Reject so that at least this share of the validation rows is answered.")
@click.option("--names", help="Of the classes, separated by commas.")
@as_json
def export(map_file: Path, output: Path, names: str | None, as_json: bool, **thresholds: float | None) -> None:
    """Write MAP, a scorer file, as a graph from logits to label, confidence, P(none), P(several) and log_probs.

    Of a saved classifier its head and map are taken; its network is code, so export it in Python: Classifier.export.

    Example: slova export map.slova -o map.onnx --risk 0.05
    """
    from slova.cli.files import check_output, load_scorer
    from slova.cli.terminal import print_json

    check_output(output, map_file)
    scorer = load_scorer(map_file)
    reject = _threshold(scorer, thresholds)
    called = None if names is None else names.split(",")
    try:
        parity = scorer.export(output, names=called, reject=reject)
    except ImportError as error:
        raise click.ClickException(
            'an export needs PyTorch: pip install "slova[torch,onnx]"' if error.name == "torch" else str(error)
        ) from None
    if as_json:
        print_json({"output": str(output), "reject": reject, **parity._asdict()})
    else:
        click.echo(f"{output}: confidence within {parity.confidence:.1g} on {parity.rows} rows, reject {reject:.6g}")


def _threshold(scorer: Any, thresholds: dict[str, float | None]) -> float:
    given = {name: value for name, value in thresholds.items() if value is not None}
    if len(given) > 1:
        raise click.UsageError(f"wanted one of --reject, --risk and --coverage, got --{' and --'.join(given)}")
    if "risk" in given or "coverage" in given:
        return float(scorer.threshold(**given))
    return given.get("reject", 0.0)
