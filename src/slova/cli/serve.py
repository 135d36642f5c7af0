"""`slova serve`: serve an exported model or a scorer over HTTP."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click

from slova.cli.options import FILE, SHARE

__all__ = ["serve"]

SECRET = "SLOVA_TOKEN"
LOCAL = ("127.0.0.1", "::1", "localhost")
COUNT = click.IntRange(1)


@click.command()
@click.argument("model", type=FILE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0 is any free one."
)
@click.option("--name", help="The name of the model.  [the file without its suffix]")
@click.option("--reject", type=SHARE, help="Predict NONE if the confidence is below this.  [as exported; else 0]")
@click.option("--token-file", type=FILE, help=f"A file with the bearer token of requests.  [{SECRET}, if set]")
@click.option("--examples", type=FILE, help="A JSON file of at most 16 rows that the page offers.")
@click.option("--batch-rows", type=COUNT, default=256, show_default=True, help="Maximum rows per batch.")
@click.option(
    "--batch-wait", type=click.FloatRange(0, 1000), default=0, show_default=True, metavar="MS",
    help="Time that a request waits for others.",
)  # fmt: skip
@click.option("--max-rows", type=COUNT, default=4096, show_default=True, help="Maximum rows per request.")
@click.option(
    "--max-body", type=click.FloatRange(0, 2048, min_open=True), default=16, show_default=True, metavar="MIB",
    help="Maximum body of a request; 16 times as much for all together.",
)  # fmt: skip
@click.option(
    "--max-requests", type=COUNT, default=256, show_default=True, help="Maximum concurrent requests; others get 503."
)
@click.option(
    "--body-timeout", type=click.FloatRange(0, min_open=True), default=30, show_default=True, metavar="SECONDS",
    help="Time limit for receiving a body.",
)  # fmt: skip
@click.option("--window", type=COUNT, default=10_000, show_default=True, help="Recent rows on which drift is measured.")
@click.option("--threads", type=click.IntRange(0), default=0, help="Threads of ONNX Runtime.  [one per core]")
def serve(
    model: Path,
    host: str,
    port: int,
    name: str | None,
    reject: float | None,
    token_file: Path | None,
    examples: Path | None,
    batch_rows: int,
    batch_wait: float,
    max_rows: int,
    max_body: float,
    max_requests: int,
    body_timeout: float,
    window: int,
    threads: int,
) -> None:
    """Serve MODEL over HTTP: an exported .onnx file, or a .slova file, which takes logits.

    Example: slova serve model.onnx --port 8000
    """
    token = _token(token_file)
    from slova.serve import Batching, Limits, application, listen, load_model
    from slova.serve import serve as run_server
    from slova.serve.limits import MIB
    from slova.serve.load import with_examples

    loaded = with_examples(load_model(model, name=name, reject=reject, threads=threads), examples)
    body = round(max_body * MIB)
    limits = Limits(body=body, held=16 * body, rows=max_rows, requests=max_requests, body_seconds=body_timeout)
    batching = Batching(rows=batch_rows, seconds=batch_wait / 1000)
    app = application(loaded, limits=limits, batching=batching, token=token, window=window)
    listener = listen(host, port)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    _announce(loaded.name, host, listener.getsockname()[1], token)
    run_server(app, listener, limits=limits)
    click.echo("stopped", err=True)


def _token(path: Path | None) -> str | None:
    """The token, from a file or the environment; command lines are visible to all users of a machine."""
    try:
        token = os.environ.get(SECRET) if path is None else path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise click.ClickException(f"the token file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the token file {path} is not UTF-8") from error
    if path is not None and not token:
        raise click.ClickException(f"the token file {path} is empty")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise click.ClickException("the token must be printable ASCII without spaces")
    return token or None


def _announce(name: str, host: str, port: int, token: str | None) -> None:
    if token is None and host not in LOCAL:
        click.echo(
            f"slova: warning: everybody who can reach {host} can use the model; --token-file requires a token", err=True
        )
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"serving {name} on http://{shown}:{port}, press Ctrl+C to stop", err=True)
