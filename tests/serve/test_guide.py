"""docs/serving.md: its commands run, its client is answered, and the metrics and options that it names exist."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.serve.load import scorer_model

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def port(tmp_path):
    """The server of the page, on a free port."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 2000)
    logits = generator.normal(-3, 1, (2000, 3)) + 6 * (np.arange(3) == labels[:, None])
    np.savez(tmp_path / "val.npz", logits=logits, labels=labels)
    fit, serve = (line.split()[1:] for line in COMMANDS if line.startswith("slova "))
    subprocess.run([sys.executable, "-m", "slova", *fit], cwd=tmp_path, check=True, capture_output=True)
    words = [sys.executable, "-m", "slova", *(word.replace("8000", "0") for word in serve)]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r":(\d+),", process.stderr.readline())[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_commands_and_the_client_of_the_page_are_answered(port, capsys):
    if shutil.which("curl") is not None:
        asked = [line.replace("localhost:8000", f"127.0.0.1:{port}") for line in COMMANDS if line.startswith("curl")]
        found = [
            subprocess.run(["bash", "-c", line], check=True, capture_output=True, text=True).stdout for line in asked
        ]
        assert [re.findall(r'"label":(\w+)', text) for text in found] == [["0", "null"], ["null"]]
    pytest.importorskip("tritonclient.http", reason="tritonclient is not installed")
    client = re.search(r"```py\n(.*?)```", PAGE, re.DOTALL)[1].replace("localhost:8000", f"127.0.0.1:{port}")
    names: dict = {}
    exec(compile(client, "serving.md", "exec"), names)
    names["client"].close()
    assert re.match(r"\[ 0 -1\] \[(1\.|0\.9)", capsys.readouterr().out)


def test_every_metric_and_option_of_the_page_is_there(serving, scorer, logits):
    with serving(scorer_model(scorer)) as client:
        client.predict({"inputs": logits[:20].tolist()})
        found = " ".join(client.metrics())
    named = set(re.findall(r"\bslova_[a-z_]+", PAGE))
    assert len(named) > 12
    assert [name for name in named if name not in found] == []
    content = CliRunner().invoke(main, ["serve", "--help"]).output
    assert [option for option in re.findall(r"--[a-z][a-z-]+", PAGE) if option not in content] == []
